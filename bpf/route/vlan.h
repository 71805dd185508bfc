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
 * Rule: the verifier does not know the length of the tags, so that it checks what follows once for
 * all lengths. The processor does: it predicts the branches, and reads the packet before the tags
 * are compared. Little is kept of tags, for frames without them.
 */
#ifndef ROUTE_VLAN_H
#define ROUTE_VLAN_H

#include "route.abi.h"

#include <xway/bpf.h>
#include <xway/csum.h>
#include <xway/parse.h>
#include <xway/stats.h>
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

/*
 * Numbers of ports that have one 802.1Q tag, which are found faster: the number of the device's
 * port and the VLAN ID select the entry, which is one more than the port's number, or 0 for none.
 * User space sets the size; for other devices there is the map above.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ROUTE_VLANS);
	__type(key, __u32);
	__type(value, __u32);
} route_vlans SEC(".maps");

/* The number of no port, because the frame has tags that no port has. */
#define ROUTE_UNKNOWN_TAGS (ROUTE_UNKNOWN_PORT + 1)

/* How a frame came in. */
struct route_arrival {
	/* Number of the port, or one of the above. */
	__u32 ingress;
	/*
	 * Bytes of the tags that are in the frame, ROUTE_TAG_BYTES, and the priorities of both:
	 * that of the outer one in the place that it has in a tag, the other one lower.
	 */
	__u32 tags;
	/* EtherType after the tags. */
	__be16 type;
};
#define ROUTE_INNER_SHIFT 4

/*
 * Index: the number of a port. Frames that came in with its tags; those without a tag are among
 * what the program counts by reason.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, ROUTE_PORTS);
	__type(key, __u32);
	__type(value, struct xway_count);
} route_received SEC(".maps");

xway_inline int route_is_ip(__be16 type)
{
	return type == xway_htons(ETH_P_IP) || type == xway_htons(ETH_P_IPV6);
}

xway_inline void route_count_received(__u32 ingress, __u64 length)
{
	struct xway_count *count = bpf_map_lookup_elem(&route_received, &ingress);

	if (!count)
		return;
	count->packets++;
	count->bytes += length;
}

/* Number of the port that frames with these tags come in from. */
xway_inline __u32 route_tagged_port(struct xdp_md *ctx, __be32 outer, __be32 inner)
{
	struct route_tagged key = { .device = ctx->ingress_ifindex };
	__u32 *number, vlan;

	inner &= ROUTE_TAG_NAME;
	if (!(inner & ROUTE_TAG_VID))
		inner = 0;
	outer &= ROUTE_TAG_NAME;
	if (!(outer & ROUTE_TAG_VID)) {
		outer = inner;
		inner = 0;
	}
	if (!outer)
		return route_ingress_port(ctx);
	vlan = route_ingress_port(ctx) * ROUTE_VLANS + (xway_ntohl(outer) & 0xfff);
	if (!inner && (__u16)outer == xway_htons(ETH_P_8021Q)) {
		number = bpf_map_lookup_elem(&route_vlans, &vlan);
		if (number)
			return *number ? *number - 1 : ROUTE_UNKNOWN_TAGS;
	}
	key.outer = outer;
	key.inner = inner;
	number = bpf_map_lookup_elem(&route_tagged, &key);
	return number ? *number : ROUTE_UNKNOWN_TAGS;
}

/*
 * Reads the tags of a frame that has one, in the frame or of the device. Returns the bytes of those
 * in the frame, from `zero` on, or -1 if there are more than two.
 */
xway_inline int route_read_tags(struct xdp_md *ctx, const struct ethhdr *eth, __u64 stripped,
				__u32 zero, struct route_arrival *arrival)
{
	const __be32 *words = (const void *)eth + ROUTE_TAGS_AT;
	__be32 outer = 0, inner = 0;
	__u32 bytes = zero;

	if (xway_is_tag(arrival->type)) {
		outer = words[0];
		arrival->type = words[1];
		bytes = zero + 4;
		if (xway_is_tag(arrival->type)) {
			inner = words[1];
			arrival->type = *(const __be16 *)(words + 2);
			bytes = zero + 8;
		}
	}
	if (stripped) {
		if (inner)
			return -1;
		inner = outer;
		outer = stripped >> 32 | (__be32)xway_htons(stripped & 0xffff) << 16;
	}
	if (xway_is_tag(arrival->type))
		return -1;
	bytes &= ROUTE_TAG_BYTES;
	arrival->ingress = route_tagged_port(ctx, outer, inner);
	inner = inner ? inner : outer;
	arrival->tags = bytes | (outer & ROUTE_TAG_PRIORITY) |
			(inner & ROUTE_TAG_PRIORITY) >> ROUTE_INNER_SHIFT;
	return bytes;
}

/*
 * Takes the Ethernet header and up to two tags; XWAY_FORWARDED, or why the frame is not routed. All
 * frames are compared with the length of two tags, which no IP packet is shorter than.
 */
xway_inline enum xway_reason route_arrive(struct xdp_md *ctx, struct xway_cursor *cur,
					  struct ethhdr **eth, struct route_arrival *arrival,
					  struct route_way *way)
{
	__u64 stripped = xway_stripped_tag(ctx);
	struct ethhdr *header = cur->pos;
	int bytes = 0;

	*eth = header;
	if ((void *)(header + 1) + 2 * sizeof(struct xway_vlan) > cur->end) {
		int type = xway_parse_eth(cur, eth);

		if (type < 0)
			return cur->fault;
		if (cur->tags || stripped)
			return XWAY_TAGGED;
		return type == ETH_P_IP || type == ETH_P_IPV6 ? XWAY_TRUNCATED : XWAY_NOT_IP;
	}
	arrival->type = xway_eth_type(header);
	if (xway_likely(route_is_ip(arrival->type) && !stripped)) {
		arrival->ingress = route_ingress_port(ctx);
	} else if (xway_is_tag(arrival->type) || stripped) {
		/* No frame is as long, but the verifier does not know. */
		__u32 zero = (__u64)(cur->end - cur->pos) >> 32;

		bytes = route_read_tags(ctx, header, stripped, zero, arrival);
		if (bytes < 0 || arrival->ingress == ROUTE_UNKNOWN_TAGS)
			return XWAY_TAGGED;
		way->arrival = route_tagged_as(arrival->ingress, bytes & ROUTE_TAG_BYTES);
		route_count_received(arrival->ingress, xway_frame_bytes(ctx, cur->frags));
	}
	xway_opaque(bytes);
	cur->pos = (void *)(header + 1) + (bytes & ROUTE_TAG_BYTES);
	return XWAY_FORWARDED;
}

/* Undoes the change of the packet's TTL or hop limit, for the stack to make it. */
xway_inline void route_restore_ttl(struct xdp_md *ctx, const struct route_arrival *arrival)
{
	__u32 bytes = arrival->tags & ROUTE_TAG_BYTES;
	struct iphdr *ip;

	xway_opaque(bytes);
	ip = xway_data(ctx) + sizeof(struct ethhdr) + (bytes & ROUTE_TAG_BYTES);
	if ((void *)(ip + 1) > xway_data_end(ctx))
		return;
	if (ip->version == 6) {
		((struct ipv6hdr *)ip)->hop_limit++;
		return;
	}
	ip->check = xway_csum_apply(ip->check, xway_csum_ttl(0, ip->ttl, ip->ttl + 1));
	ip->ttl++;
}

/* Writes the addresses and the port's tags; XWAY_FORWARDED, or what prevents it. */
xway_inline enum xway_reason route_retag(struct xdp_md *ctx, const struct route_arrival *arrival,
					 const struct xway_port *port, __u64 mac)
{
	/* Each is read once: user space may change the port. */
	__be32 outer = *(volatile __be32 *)&port->outer;
	__be32 inner = outer ? *(volatile __be32 *)&port->inner : 0;
	int more = (outer ? 4 : 0) + (inner ? 4 : 0) - (arrival->tags & ROUTE_TAG_BYTES);
	__u64 own = port->mac;
	struct ethhdr *eth;
	__be32 *words;
	__u8 *version;

	if (more && bpf_xdp_adjust_head(ctx, -more)) {
		route_restore_ttl(ctx, arrival);
		return XWAY_NO_HEADROOM;
	}
	eth = xway_data(ctx);
	words = (void *)eth + ROUTE_TAGS_AT;
	if ((void *)words + 11 > xway_data_end(ctx))
		return XWAY_TRUNCATED;
	xway_write_macs(eth, mac, own);
	if (outer)
		*words++ = outer | (arrival->tags & ROUTE_TAG_PRIORITY);
	if (inner)
		*words++ = inner | (arrival->tags << ROUTE_INNER_SHIFT & ROUTE_TAG_PRIORITY);
	if (!more)
		return XWAY_FORWARDED;
	version = (__u8 *)words + 2;
	*(__be16 *)words = *version >> 4 == 6 ? xway_htons(ETH_P_IPV6) : xway_htons(ETH_P_IP);
	return XWAY_FORWARDED;
}

/* Gives the frame the addresses and tags that it is sent with; as above. */
xway_inline enum xway_reason route_send(struct xdp_md *ctx, struct ethhdr *eth,
					const struct route_arrival *arrival,
					const struct route_way *way)
{
	struct xway_port *port = route_port(way->egress);

	if (!port)
		return XWAY_NO_EGRESS;
	if (xway_unlikely((arrival->tags & ROUTE_TAG_BYTES) | port->outer))
		return route_retag(ctx, arrival, port, way->mac);
	xway_write_macs(eth, way->mac, port->mac);
	return XWAY_FORWARDED;
}

#endif
