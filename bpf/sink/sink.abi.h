/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What the sink program and its Rust half both know: reasons, sources, counters.
 *
 * A *source* is a pair of a stream and a thread that sends it: each numbers its frames of each
 * stream from zero. Sources and streams get a place when they are first seen, and keep it.
 */
#ifndef XWAY_SINK_ABI_H
#define XWAY_SINK_ABI_H

#include <linux/types.h>

#include <xway/reason.h>

enum xway_reason {
	XWAY_COMMON_REASONS,
	/* A number that is new. */
	XWAY_RECEIVED,
	/* A number that came before. */
	XWAY_DUPLICATED,
	/* A number so far behind that nobody knows whether it came before. */
	XWAY_LATE,
	/* The sender's last word: how many there were. */
	XWAY_END,
	/* A checksum is wrong; the stream is known. */
	XWAY_CORRUPTED,
	/* The stamp is damaged, and its stream not known. */
	XWAY_DAMAGED,
	/* No room for another stream or source. */
	XWAY_BEYOND,
	/* No stamp. */
	XWAY_FOREIGN,
};
#define XWAY_REASONS (XWAY_FOREIGN + 1)

/* In the key of a place that is taken; a key of 0 is a free one. */
#define SINK_TAKEN 0x80000000

/* Entry of `sink_sources`: what all processors know of a source. One cache line. */
struct sink_source {
	/* SINK_TAKEN | stream << 8 | thread. Written once, as the rest is by exchange. */
	__u32 key;
	/* Its stream's place in `sink_times`, plus one. */
	__u32 stream;
	/* The highest number received, plus one. */
	__u64 next;
	/* How many there were, plus one; 0 before the end. */
	__u64 end;
	/* enum sink_expect */
	__u32 expect;
	__u32 zero[9];
};
_Static_assert(sizeof(struct sink_source) == 64, "no hidden padding");

/* What a source's stamps say that a device under test should do. */
enum sink_expect {
	/* No data came. */
	SINK_EXPECT_UNKNOWN = 0,
	SINK_EXPECT_PASS = 1,
	SINK_EXPECT_DROP = 2,
};

/* Whose clock wrote the stamps. */
enum sink_clocks {
	/* No times are taken. */
	SINK_CLOCKS_IGNORED = 0,
	/* Another kernel's: only what comes back tells a latency. */
	SINK_CLOCKS_APART = 1,
	/* This kernel's. */
	SINK_CLOCKS_SHARED = 2,
};

/* Entry of `sink_counts`: what one processor counts of the source in the same place. */
struct sink_count {
	__u64 received;
	__u64 bytes;
	__u64 reordered;
	__u64 duplicated;
	__u64 late;
	__u64 corrupted;
	/* Of the frame received last: arrival less stamp, and 1 when there was one. */
	__u32 transit;
	__u32 timed;
	__u64 zero;
};
_Static_assert(sizeof(struct sink_count) == 64, "no hidden padding");

/*
 * Entry of `sink_windows`, of the source in the same place: which of its last SINK_WINDOW numbers
 * came. A word stands for 32 numbers that follow each other: which of them came below, and above
 * how often the window had gone round by then.
 */
#define SINK_WINDOW 0x40000
#define SINK_WORDS (SINK_WINDOW / 32)

#endif
