/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Declarations shared by the sink program and its Rust half: reasons, sources, counters.
 *
 * A *source* is a pair of a stream and a thread that sends it: each numbers its frames of each
 * stream from zero. Sources and streams get an index when they are first seen, and keep it.
 */
#ifndef XWAY_SINK_ABI_H
#define XWAY_SINK_ABI_H

#include <linux/types.h>

#include <xway/reason.h>

enum xway_reason {
	XWAY_COMMON_REASONS,
	/* A new number. */
	XWAY_RECEIVED,
	/* A number that was received before. */
	XWAY_DUPLICATED,
	/* A number before the window: whether it was received before is unknown. */
	XWAY_LATE,
	/* The sender's announcement of the end, with the number of frames. */
	XWAY_END,
	/* A checksum is wrong; the stream is known. */
	XWAY_CORRUPTED,
	/* The stamp is damaged, so the stream is unknown. */
	XWAY_DAMAGED,
	/* No free index for another stream or source. */
	XWAY_BEYOND,
	/* No stamp. */
	XWAY_FOREIGN,
};
#define XWAY_REASONS (XWAY_FOREIGN + 1)

/* Set in the key of an occupied entry; the key of a free entry is 0. */
#define SINK_TAKEN 0x80000000

/* Entry of `sink_sources`: the state of a source for all processors. One cache line. */
struct sink_source {
	/*
	 * SINK_TAKEN | stream << 8 | thread. Written once; the rest is written by
	 * compare-and-exchange.
	 */
	__u32 key;
	/* Index of its stream in `sink_times`, plus one. */
	__u32 stream;
	/* The highest number received, plus one. */
	__u64 next;
	/* Number of frames that were sent, plus one; 0 before the end. */
	__u64 end;
	/* enum sink_expect */
	__u32 expect;
	__u32 zero[9];
};
_Static_assert(sizeof(struct sink_source) == 64, "no hidden padding");

/* The behavior that a source's stamps expect of a device under test. */
enum sink_expect {
	/* No data was received. */
	SINK_EXPECT_UNKNOWN = 0,
	SINK_EXPECT_PASS = 1,
	SINK_EXPECT_DROP = 2,
};

/* The clock that wrote the stamps. */
enum sink_clocks {
	/* No times are measured. */
	SINK_CLOCKS_IGNORED = 0,
	/* The clock of another kernel: only frames that are sent back have a latency. */
	SINK_CLOCKS_APART = 1,
	/* The clock of this kernel. */
	SINK_CLOCKS_SHARED = 2,
};

/* Entry of `sink_counts`: the counters of one processor for the source with the same index. */
struct sink_count {
	__u64 received;
	__u64 bytes;
	__u64 reordered;
	__u64 duplicated;
	__u64 late;
	__u64 corrupted;
	/* The last received frame: arrival minus stamp, and 1 if there was one. */
	__u32 transit;
	__u32 timed;
	__u64 zero;
};
_Static_assert(sizeof(struct sink_count) == 64, "no hidden padding");

/*
 * Entry of `sink_windows`, for the source with the same index: which of its last SINK_WINDOW
 * numbers were received. A word stands for 32 consecutive numbers. Its lower half has a bit for
 * each received one, its upper half the number of times that the window had wrapped by then.
 */
#define SINK_WINDOW 0x40000
#define SINK_WORDS (SINK_WINDOW / 32)

#endif
