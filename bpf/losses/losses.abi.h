/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Declarations shared by the tracepoints of lost frames and their Rust half.
 */
#ifndef XWAY_LOSSES_ABI_H
#define XWAY_LOSSES_ABI_H

#include <linux/types.h>

/* Tracepoint at which frames were lost. */
enum losses_point {
	/* xdp_exception: the program or the driver gave the frame up. */
	LOSSES_EXCEPTION,
	/* xdp_redirect_err: the kernel refused a redirect. */
	LOSSES_REDIRECT,
	/* xdp_devmap_xmit: a driver did not accept redirected frames. */
	LOSSES_TRANSMIT,
	/* xdp_bulk_tx: a driver did not accept frames with the verdict XDP_TX. */
	LOSSES_TX,
	/* xdp_cpumap_enqueue: the queue of a processor was full. */
	LOSSES_CPU_QUEUE,
	/* xdp_cpumap_kthread: a processor could not pass frames to the stack. */
	LOSSES_CPU_STACK,
};

/* A cause; frames are counted for each processor. Unknown parts are 0. */
struct losses_key {
	enum losses_point point;
	/* Interface that received the frames. */
	__u32 ifindex;
	/* Interface to which they were redirected. */
	__u32 target;
	/* Errno, positive; of an exception, the return value of the program. */
	__u32 code;
	/* Id of the program. */
	__u32 program;
	/* Id and type of the map to which they were redirected. */
	__u32 map;
	__u32 map_type;
	/* Key in that map; a processor of a CPU map. */
	__u32 index;
};
_Static_assert(sizeof(struct losses_key) == 32, "no hidden padding");

/* Causes that are counted separately; frames of further ones are counted together. */
#define LOSSES_CAUSES 4096

#endif
