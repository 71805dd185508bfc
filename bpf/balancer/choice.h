/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What is decided about a packet. */
#ifndef BALANCER_CHOICE_H
#define BALANCER_CHOICE_H

#include <xway/bpf.h>
#include <xway/frame.h>

/* Where a packet goes. */
struct packet_choice {
	__u64 hash;
	/*
	 * Number of the backend; above 16 bits that of the other one that may have the segment, and
	 * one more, or 0.
	 */
	__u32 number;
	/* The interface that it leaves by. */
	__u32 egress;
	/* The VLAN device whose tags it leaves with, or 0. */
	__u32 vlan;
	/* It was translated, and is as it leaves. */
	__u32 is_sent;
};

/* Bytes of the frame before a position. */
xway_inline __u32 balancer_offset(const struct xdp_md *ctx, const void *at)
{
	__u64 offset = at - xway_data(ctx);

	/* The compiler would subtract halves of addresses. */
	xway_opaque(offset);
	return offset;
}

#endif
