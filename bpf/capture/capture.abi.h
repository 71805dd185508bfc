/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What the capture probe and its Rust half both know: settings, records, counters.
 */
#ifndef XWAY_CAPTURE_ABI_H
#define XWAY_CAPTURE_ABI_H

#include <linux/types.h>

#include <xway/decision.h>

/* The most bytes of a packet that are captured at one point: a jumbo frame. */
#define CAPTURE_BYTES 9216

/* What is captured. */
struct capture_settings {
	/*
	 * Nothing is captured from this time of the monotonic clock on. The reader extends it; 0 is
	 * also what the probe stores when the time is over, as after a reader that was killed.
	 */
	__u64 until;
	/* A bit for each verdict by its number; bit 5 for invalid return values. */
	__u32 verdicts;
	/* Bytes before the first program, and after the last one; 0 for none. */
	__u32 before;
	__u32 after;
	/* Whether `capture_wanted` selects among the packets with these verdicts. */
	__u32 is_selective;
};
#define CAPTURE_INVALID_VERDICT 5

/* The most members of a chain. */
#define CAPTURE_MEMBERS 64

/* Decisions of a member whose packets are captured; the index in `capture_wanted` is its number. */
struct capture_wanted {
	/* A bit for each reason by its number. */
	__u64 reasons;
	/* Number of the rule, or XWAY_UNNUMBERED for any rule. */
	__u32 rule;
	__u32 unused;
};
_Static_assert(sizeof(struct capture_wanted) == 16, "no hidden padding");

/* A packet in a ring; its bytes before and after the programs follow. */
struct capture_record {
	__u64 time;
	/*
	 * What the last program stored if it stores decisions. The verdict is what the programs
	 * returned, and `member` the number of the one that decided.
	 */
	struct xway_decision decision;
	__u32 member;
	__u32 queue;
	__u32 length_before;
	__u32 length_after;
	__u32 captured_before;
	__u32 captured_after;
	__u32 unused;
};

/* Counters of one processor. */
struct capture_counts {
	/* Packets that match, those that were lost included. */
	__u64 packets;
	/* Packets for which the ring had no room. */
	__u64 lost;
};

#endif
