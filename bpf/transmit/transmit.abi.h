/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Declarations shared by the transmit tracepoints and their Rust half: the threads whose frames are
 * counted, and the outcome of these frames.
 */
#ifndef XWAY_TRANSMIT_ABI_H
#define XWAY_TRANSMIT_ABI_H

#include <linux/types.h>

/* Maximum number of threads that send in one run. */
#define TRANSMIT_THREADS 64
/* Maximum number of reasons for lost frames that are counted separately. */
#define TRANSMIT_REASONS 8

/* The interface that the frames seem to come from. */
struct transmit_source {
	/* Its index in its namespace. */
	__u32 ifindex;
	/* The namespace's inode number. */
	__u32 netns;
};
_Static_assert(sizeof(struct transmit_source) == 8, "no hidden padding");

/* Frames that were not transmitted, by reason. */
struct transmit_loss {
	/* 0: the queue was full, which has no errno. */
	__u64 error;
	/* 0: this entry is free. */
	__u64 frames;
};
_Static_assert(sizeof(struct transmit_loss) == 16, "no hidden padding");

/* One thread that sends; the only value of `transmit_threads` has all of them. */
struct transmit_thread {
	/* Set by the thread itself, after the previous ones; 0 ends the list. */
	__u32 id;
	__u32 zero;
	/* The address of the source, once it was seen. */
	__u64 device;
	/* Frames that the driver accepted. */
	__u64 sent;
	/*
	 * Reasons in the order in which they were first seen; further ones count with the last
	 * entry.
	 */
	struct transmit_loss losses[TRANSMIT_REASONS];
};
_Static_assert(sizeof(struct transmit_thread) == 24 + 16 * TRANSMIT_REASONS, "no hidden padding");

#endif
