/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * VLAN tags of frames that leave: those of the VLAN device that the route names. No tag is
 * forwarded as it came.
 */
#ifndef BALANCER_VLAN_H
#define BALANCER_VLAN_H

#include "balancer.abi.h"

#include <xway/bpf.h>
#include <xway/frame.h>

#include "hop.h"

/* 32-bit words of both addresses. */
#define BALANCER_MAC_WORDS 3

/* Moves the addresses of a frame to its new beginning, and writes the tags after them. */
xway_inline void balancer_write_tags(__be32 *words, __u32 count, __be32 outer, __be32 inner)
{
	xway_unroll
	for (__u32 i = 0; i < BALANCER_MAC_WORDS; i++)
		*(volatile __be32 *)(words + i) = *(volatile __be32 *)(words + count + i);
	words[BALANCER_MAC_WORDS] = outer;
	if (count > 1)
		words[BALANCER_MAC_WORDS + 1] = inner;
}

/*
 * Gives a frame without tags those of a VLAN device; -1 if there is no space. Verified once, and
 * only for routes by such a device.
 */
xway_global int balancer_tag(struct xdp_md *ctx, __u32 vlan)
{
	const struct xway_port *port = bpf_map_lookup_elem(&balancer_vlans, &vlan);
	__be32 outer, inner;
	__be32 *words;

	if (!port)
		return -1;
	/* Each is read once: user space may change the port. */
	outer = *(const volatile __be32 *)&port->outer;
	inner = *(const volatile __be32 *)&port->inner;
	if (bpf_xdp_adjust_head(ctx, inner ? -8 : -4))
		return -1;
	words = xway_data(ctx);
	if ((void *)(words + BALANCER_MAC_WORDS + 2) > xway_data_end(ctx))
		return -1;
	if (inner)
		balancer_write_tags(words, 2, outer, inner);
	else
		balancer_write_tags(words, 1, outer, 0);
	return 0;
}

#endif
