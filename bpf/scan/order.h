/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The order of targets: a Feistel network permutes the numbers with the same number of bits, and an
 * output beyond the last number is permuted again. scan/order.rs in crates/traffic is its model.
 */
#ifndef SCAN_ORDER_H
#define SCAN_ORDER_H

#include "scan.abi.h"

#include <xway/bpf.h>

#include "number.h"

const volatile struct scan_order scan_order;

/*
 * Most steps of a walk. More than half of the numbers are in range, so a walk that needs more has a
 * probability of 2^-64.
 */
#define SCAN_WALK 64

#define SCAN_FIRST 0x9e3779b97f4a7c15
#define SCAN_SECOND 0xbb67ae8584caa73b

xway_inline __u64 scan_mix(__u64 half, __u64 key)
{
	__u64 mixed = (half ^ key) * SCAN_FIRST;

	return (mixed ^ mixed >> 32) * SCAN_SECOND;
}

xway_inline struct scan_number scan_permute(struct scan_number number)
{
	__u32 left_bits = scan_order.left_bits, right_bits = scan_order.right_bits;
	__u64 right = number.low & (__u64)-1 >> (64 - right_bits);
	__u64 left = scan_right(number, right_bits).low;
	struct scan_number joined;

	xway_unroll
	for (int round = 0; round < SCAN_ROUNDS; round += 2) {
		left ^= scan_mix(right, scan_order.keys[round]) >> (64 - left_bits);
		right ^= scan_mix(left, scan_order.keys[round + 1]) >> (64 - right_bits);
	}
	joined = scan_left((struct scan_number){ .low = left }, right_bits);
	joined.low |= right;
	return joined;
}

/* The number at an index; returns 0 if the walk is too long. */
xway_inline int scan_number_at(__u64 index, struct scan_number *number)
{
	struct scan_number last = scan_number(scan_order.last);

	*number = (struct scan_number){ .low = index };
	for (int step = 0; step < SCAN_WALK; step++) {
		*number = scan_permute(*number);
		if (!scan_is_above(*number, last))
			return 1;
	}
	return 0;
}

#endif
