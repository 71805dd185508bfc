/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Whether a program's rules are in force or only tried, see try.h and watch.h. */
#ifndef FILTER_PART_H
#define FILTER_PART_H

#include "filter.abi.h"

#include <xway/bpf.h>

/* Which of the two programs of a trial this is. */
const volatile enum filter_part filter_part;

/* What changes packets, or sends some, asks this first. */
xway_inline int filter_is_trial(void)
{
	return filter_part == FILTER_NEW;
}

#endif
