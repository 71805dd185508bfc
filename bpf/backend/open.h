/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Opens a tunnel: removes the outer headers, and what follows the inner packet.
 *
 * VLAN tags remain, so that the packet arrives at the VLAN's interface.
 */
#ifndef BACKEND_OPEN_H
#define BACKEND_OPEN_H

#include "backend.abi.h"

#include <xway/bpf.h>
#include <xway/csum.h>
#include <xway/parse.h>

#include "tunnel.h"

/* The ECN field: not capable, both kinds of capable, and congestion experienced. */
#define ECN_MASK 3
#define ECN_ECT1 1
#define ECN_ECT0 2
#define ECN_CE 3

/*
 * The ECN field of a packet after its tunnel (RFC 6040, figure 4); -1 for packets to be dropped.
 */
xway_inline int backend_merge_ecn(__u8 outer, __u8 inner)
{
	if (outer == ECN_CE)
		return inner ? ECN_CE : -1;
	if (outer == ECN_ECT1 && inner == ECN_ECT0)
		return ECN_ECT1;
	return inner;
}

/* Writes the ECN field of the inner packet. */
xway_inline enum xway_reason backend_write_ecn(struct xdp_md *ctx, const struct tunnel_facts *facts)
{
	void *at = xway_data(ctx) + (facts->inner & 0x7fff);
	struct iphdr *ip = at;
	__be16 *word = at, old;
	__u32 shift = facts->is_ipv6 ? 4 : 0;
	int inner, merged;

	if ((void *)(ip + 1) > xway_data_end(ctx))
		return XWAY_TRUNCATED;
	old = *word;
	inner = xway_ntohs(old) >> shift & ECN_MASK;
	merged = backend_merge_ecn(facts->traffic_class & ECN_MASK, inner);
	if (merged < 0)
		return XWAY_BAD_ECN;
	if (merged == inner)
		return XWAY_OPENED;
	*word = xway_htons((__u16)((xway_ntohs(old) & ~(ECN_MASK << shift)) | merged << shift));
	if (!facts->is_ipv6)
		ip->check = xway_csum_apply(ip->check, xway_csum_word(0, old, *word));
	return XWAY_OPENED;
}

/* The frame's addresses and tags. */
struct link_header {
	__u64 first;
	__u32 rest;
	__be32 tags[XWAY_MAX_TAGS];
};

/* Opens the tunnel; XWAY_OPENED, or why not. */
xway_inline enum xway_reason backend_open(struct xdp_md *ctx, const struct tunnel_facts *facts,
					  __u32 tags, int frags)
{
	enum xway_reason reason = backend_write_ecn(ctx, facts);
	void *eth = xway_data(ctx);
	struct link_header link;
	__be16 *type;
	__s64 more;

	if (reason != XWAY_OPENED)
		return reason;
	/* An outer IP header is in the frame, too. */
	if (eth + sizeof(link) + sizeof(struct iphdr) > xway_data_end(ctx))
		return XWAY_TRUNCATED;
	link.first = *(__u64 *)eth;
	link.rest = *(__u32 *)(eth + 8);
	xway_unroll
	for (__u32 i = 0; i < XWAY_MAX_TAGS; i++)
		link.tags[i] = *(__be32 *)(eth + 12 + 4 * i);
	if (bpf_xdp_adjust_head(ctx, (int)(facts->inner - facts->link)))
		return XWAY_NO_SPACE;
	eth = xway_data(ctx);
	if (eth + sizeof(struct ethhdr) + sizeof(struct iphdr) > xway_data_end(ctx))
		return XWAY_TRUNCATED;
	*(__u64 *)eth = link.first;
	*(__u32 *)(eth + 8) = link.rest;
	type = eth + 12;
	for (__u32 i = 0; i < XWAY_MAX_TAGS && i < tags; i++) {
		*(volatile __be32 *)(eth + 12 + 4 * i) = link.tags[i];
		type += 2;
	}
	*type = facts->is_ipv6 ? xway_htons(ETH_P_IPV6) : xway_htons(ETH_P_IP);
	more = xway_frame_bytes(ctx, frags) - facts->link - facts->length;
	if (more > 0 && bpf_xdp_adjust_tail(ctx, (int)-more))
		return XWAY_NO_SPACE;
	return XWAY_OPENED;
}

#endif
