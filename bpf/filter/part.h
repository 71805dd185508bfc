/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The part of a composed program that this program is; see try.h and watch.h. */
#ifndef FILTER_PART_H
#define FILTER_PART_H

#include "filter.abi.h"

#include <xway/bpf.h>

/* The part that this program is. */
const volatile enum filter_part filter_part;

/* True for new rules in a trial, which must not change or send packets. */
xway_inline int filter_is_trial(void)
{
	return filter_part == FILTER_NEW;
}

#endif
