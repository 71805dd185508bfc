/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * An interface that the kernel routes by, the interface that sends and receives its frames, and the
 * VLAN tags of these.
 *
 * User space finds both (`control::route::ports`). Not here: tags that the device removed (tag.h).
 */
#ifndef XWAY_PORT_H
#define XWAY_PORT_H

#include <linux/types.h>

struct xway_port {
	/* Six bytes of the interface's address and two zeros. */
	__u64 mac;
	/* As rules and routes name it. */
	__u32 ifindex;
	/* The interface that sends and receives its frames. */
	__u32 device;
	/* Tags of these frames, as in them: TPID and VLAN ID. 0 for none. */
	__be32 outer;
	__be32 inner;
	/* Which of the interfaces that had its number in a router; below ROUTE_EPOCHS. */
	__u32 epoch;
	__u32 zero;
};
_Static_assert(sizeof(struct xway_port) == 32, "a half cache line, without hidden padding");

#endif
