/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What the transmit tracepoints and their Rust half both know: whose frames, and what became of
 * them.
 */
#ifndef XWAY_TRANSMIT_ABI_H
#define XWAY_TRANSMIT_ABI_H

#include <linux/types.h>

/* Threads that send in one run. */
#define TRANSMIT_THREADS 64
/* Reasons for not taking a frame that are told apart. */
#define TRANSMIT_REASONS 8

/* Which interface the frames seem to come from. */
struct transmit_source {
	/* In its namespace. */
	__u32 ifindex;
	/* The namespace's inode number. */
	__u32 netns;
};
_Static_assert(sizeof(struct transmit_source) == 8, "no hidden padding");

/* Frames that were not taken, and why. */
struct transmit_loss {
	/* 0: no room in the queue, which has no errno. */
	__u64 error;
	/* 0: this place is free. */
	__u64 frames;
};
_Static_assert(sizeof(struct transmit_loss) == 16, "no hidden padding");

/* One thread that sends; the only value of `transmit_threads` has all of them. */
struct transmit_thread {
	/* Put here by the thread itself, after those in front of it; 0 ends them. */
	__u32 id;
	__u32 zero;
	/* The address of the source, once it was seen. */
	__u64 device;
	/* Frames that the driver took. */
	__u64 sent;
	/* As reasons were first seen; those behind the last place count with it. */
	struct transmit_loss losses[TRANSMIT_REASONS];
};
_Static_assert(sizeof(struct transmit_thread) == 24 + 16 * TRANSMIT_REASONS, "no hidden padding");

#endif
