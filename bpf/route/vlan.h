/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * VLAN tags: which port a tagged frame came in from, and the tags that a frame is sent with.
 *
 * A tag names a port, which is a VLAN device of the kernel or was declared; without such a port the
 * frame goes to the stack. As for the kernel, a tag with VLAN ID 0 has a priority only. No tag is
 * forwarded as it came: a frame has the tags of the port that it is sent from. Priority and drop
 * eligibility (the upper four bits) of the outer tag become those of the outer tag, and likewise of
 * the inner one; a second tag that is added has those of the outer one.
 *
 * Rule: the length of the tags is computed without branches, so that the verifier checks what
 * follows once for all lengths.
 */
#ifndef ROUTE_VLAN_H
#define ROUTE_VLAN_H

#include "route.abi.h"

#include <xway/bpf.h>
#include <xway/csum.h>
#include <xway/parse.h>
#include <xway/tag.h>

#include "lookup.h"
#include "port.h"

/* Parts of a tag as in the frame: TPID, priority and drop eligibility, VLAN ID. */
#define ROUTE_TAG_NAME xway_htonl(0xffff0fff)
#define ROUTE_TAG_PRIORITY xway_htonl(0x0000f000)
#define ROUTE_TAG_VID xway_htonl(0x00000fff)

/* Offset of the EtherType or first tag. */
#define ROUTE_TAGS_AT (2 * ETH_ALEN)

/* Numbers of ports by their tags. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ROUTE_PORTS);
	__type(key, struct route_tagged);
	__type(value, __u32);
} route_tagged SEC(".maps");

/* Tags of a frame that came in. */
struct route_tags {
	/* As in the frame; 0 for none. The outer one may be of the device. */
	__be32 outer;
	__be32 inner;
	/* Bytes of the tags that are in the frame. */
	__u32 bytes;
	/* EtherType after the tags. */
	__be16 type;
};

/* All ones if the EtherType is that of a tag, or else 0; without branches. */
xway_inline __u64 route_is_tag(__be16 type)
{
	__u64 customer = (__u64)(type ^ xway_htons(ETH_P_8021Q)) - 1;
	__u64 service = (__u64)(type ^ xway_htons(ETH_P_8021AD)) - 1;

	return -((customer | service) >> 63);
}

/* Reads the tags of a frame that has one, from its type on. */
xway_inline void route_read_tags(const struct ethhdr *eth, struct route_tags *tags)
{
	const __be32 *words = (const void *)eth + ROUTE_TAGS_AT;
	__be16 next = words[1];
	__u64 has_two = route_is_tag(next);
	__be16 last = *(const __be16 *)(words + 2);

	tags->outer = words[0];
	tags->inner = words[1] & has_two;
	tags->bytes = sizeof(struct xway_vlan) + (has_two & sizeof(struct xway_vlan));
	tags->type = next ^ ((next ^ last) & has_two);
}

/*
 * Takes the Ethernet header and up to two tags; XWAY_FORWARDED, or why the frame is not routed. All
 * frames are compared with the length of two tags, which no IP packet is shorter than.
 */
xway_inline enum xway_reason route_parse_eth(struct xdp_md *ctx, struct xway_cursor *cur,
					     struct ethhdr **eth, struct route_tags *tags)
{
	__u64 stripped = xway_stripped_tag(ctx);
	struct ethhdr *header = cur->pos;
	__u32 bytes;

	*eth = header;
	if ((void *)(header + 1) + 2 * sizeof(struct xway_vlan) > cur->end) {
		int type = xway_parse_eth(cur, eth);

		if (type < 0)
			return cur->fault;
		if (cur->tags | stripped)
			return XWAY_TAGGED;
		return type == ETH_P_IP || type == ETH_P_IPV6 ? XWAY_TRUNCATED : XWAY_NOT_IP;
	}
	tags->type = header->h_proto;
	if (xway_is_tag(tags->type))
		route_read_tags(header, tags);
	if (stripped) {
		if (tags->inner)
			return XWAY_TAGGED;
		tags->inner = tags->outer;
		tags->outer = stripped >> 32 | (__be32)xway_htons(stripped & 0xffff) << 16;
	}
	if (xway_is_tag(tags->type))
		return XWAY_TAGGED;
	bytes = tags->bytes & 0xc;
	xway_opaque(bytes);
	bytes &= 0xc;
	cur->tags = bytes / sizeof(struct xway_vlan);
	cur->pos = (void *)(header + 1) + bytes;
	return XWAY_FORWARDED;
}

/* The number of no port, because the frame has tags that no port has. */
#define ROUTE_UNKNOWN_TAGS (ROUTE_UNKNOWN_PORT + 1)

/* Number of the port that the frame came in from, or one of the above. */
xway_inline __u32 route_tagged_port(struct xdp_md *ctx, const struct route_tags *tags)
{
	struct route_tagged key = {
		.device = ctx->ingress_ifindex,
		.outer = tags->outer & ROUTE_TAG_NAME,
		.inner = tags->inner & ROUTE_TAG_NAME,
	};
	__u32 *number;

	if (!(key.inner & ROUTE_TAG_VID))
		key.inner = 0;
	if (!(key.outer & ROUTE_TAG_VID)) {
		key.outer = key.inner;
		key.inner = 0;
	}
	if (!key.outer)
		return route_ingress_port(ctx);
	number = bpf_map_lookup_elem(&route_tagged, &key);
	return number ? *number : ROUTE_UNKNOWN_TAGS;
}

/* Undoes the change of the packet's TTL or hop limit, for the stack to make it. */
xway_inline void route_restore_ttl(struct xdp_md *ctx, const struct route_tags *tags)
{
	__u32 bytes = tags->bytes & 0xc;
	struct iphdr *ip;

	xway_opaque(bytes);
	bytes &= 0xc;
	ip = xway_data(ctx) + sizeof(struct ethhdr) + bytes;
	if ((void *)(ip + 1) > xway_data_end(ctx))
		return;
	if (tags->type == xway_htons(ETH_P_IPV6)) {
		((struct ipv6hdr *)ip)->hop_limit++;
		return;
	}
	ip->check = xway_csum_apply(ip->check, xway_csum_ttl(0, ip->ttl, ip->ttl + 1));
	ip->ttl++;
}

/* Writes the addresses and the port's tags before the packet. */
xway_inline enum xway_reason route_retag(struct xdp_md *ctx, struct route_tags *tags,
					 const struct route_port *port, __u64 mac)
{
	__be32 second = tags->inner ? tags->inner : tags->outer;
	/* Each is read once: user space may change the port. */
	__be32 outer = *(volatile __be32 *)&port->outer;
	__be32 inner = outer ? *(volatile __be32 *)&port->inner : 0;
	int grown = (outer ? 4 : 0) + (inner ? 4 : 0) - tags->bytes;
	__u64 own = port->mac;
	struct ethhdr *eth;
	__be32 *words;

	if (grown && bpf_xdp_adjust_head(ctx, -grown)) {
		route_restore_ttl(ctx, tags);
		return XWAY_NO_HEADROOM;
	}
	eth = xway_data(ctx);
	words = (void *)eth + ROUTE_TAGS_AT;
	if ((void *)words + 10 > xway_data_end(ctx))
		return XWAY_TRUNCATED;
	*(__u64 *)eth->h_dest = (mac & ROUTE_MAC) | own << ROUTE_MAC_BITS;
	*(__u32 *)(eth->h_source + 2) = own >> 16;
	if (outer)
		*words++ = outer | (tags->outer & ROUTE_TAG_PRIORITY);
	if (inner)
		*words++ = inner | (second & ROUTE_TAG_PRIORITY);
	*(__be16 *)words = tags->type;
	return XWAY_FORWARDED;
}

/* Gives the frame the addresses and tags that it is sent with; XWAY_FORWARDED or what prevents it. */
xway_inline enum xway_reason route_send(struct xdp_md *ctx, struct ethhdr *eth,
					struct route_tags *tags, const struct route_way *way)
{
	struct route_port *port = route_port(way->egress);

	if (!port)
		return XWAY_NO_EGRESS;
	if (tags->bytes || port->outer)
		return route_retag(ctx, tags, port, way->mac);
	*(__u64 *)eth->h_dest = (way->mac & ROUTE_MAC) | port->mac << ROUTE_MAC_BITS;
	*(__u32 *)(eth->h_source + 2) = port->mac >> 16;
	return XWAY_FORWARDED;
}

#endif
