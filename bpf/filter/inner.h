/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Encapsulated packets: PPPoE, MPLS, IP in IP, GRE, Ethernet in IP, VXLAN, Geneve.
 *
 * The outer packet is judged first; then filter_open() reads the header of the tunnel, and the
 * inner packet is read into the same `struct filter_packet`. A global function is verified once:
 * other packets take one branch, and the verifier does not follow it once per path of the parser.
 * Rule: an encapsulated packet that cannot be read is an anomaly (XWAY_TUNNEL).
 */
#ifndef FILTER_INNER_H
#define FILTER_INNER_H

#include "read.h"

/* EtherType of an Ethernet frame in GRE and Geneve. */
#define FILTER_BRIDGED 0x6558
/* PPP, WCCP and ERSPAN in GRE contain packets after headers that are not read. */
#define FILTER_PPP_IN_GRE 0x880b
#define FILTER_WCCP 0x883e
#define FILTER_ERSPAN 0x88be
#define FILTER_ERSPAN3 0x22eb

#define FILTER_MAX_LABELS 8

/* Results of filter_open() other than a type with, above 16 bits, its offset. */
#define FILTER_NOTHING_INSIDE (1ULL << 62)
#define FILTER_UNREACHABLE (1ULL << 63)

/* A tunnel whose header contains no packet. */
#define FILTER_NO_TYPE 0x10000

struct filter_gre {
	__be16 flags;
	__be16 type;
};

/* RFC 2784 and 2890. Routed GRE and version 1 (PPTP) are not read. */
xway_inline int filter_open_gre(struct xway_cursor *cur)
{
	struct filter_gre *gre = xway_take_inner(cur, sizeof(*gre));
	__u32 flags, type, rest;

	if (!gre)
		return -1;
	flags = xway_length(gre->flags);
	type = xway_ntohs(gre->type);
	if (flags & 0x4007 || type == FILTER_PPP_IN_GRE || type == FILTER_WCCP ||
	    type == FILTER_ERSPAN || type == FILTER_ERSPAN3)
		return xway_fault(cur, XWAY_TUNNEL);
	/* Checksum, key, sequence number: four bytes each. */
	rest = ((flags >> 15 & 1) + (flags >> 13 & 1) + (flags >> 12 & 1)) * 4;
	if (cur->left < rest)
		return xway_fault(cur, XWAY_TRUNCATED);
	cur->left -= rest;
	cur->pos += rest;
	return type;
}

/*
 * VXLAN (RFC 7348) or Geneve (RFC 8926). A datagram without a matching header is not a tunnel; one
 * that is too short is not, if the packet is complete.
 */
xway_inline int filter_open_udp(struct xway_cursor *cur, int is_cut)
{
	int is_whole = cur->left < 16 && !is_cut;
	struct xway_ports *ports = cur->pos;
	__u8 *header = xway_take_inner(cur, 16);
	__u32 rest;

	if (!header)
		return is_whole ? FILTER_NO_TYPE : -1;
	if (ports->dest != xway_htons(FILTER_GENEVE_PORT)) {
		/* With a next protocol, VXLAN-GPE: not always an Ethernet frame. */
		if (header[8] & 4)
			return xway_fault(cur, XWAY_TUNNEL);
		return header[8] & 8 ? FILTER_BRIDGED : FILTER_NO_TYPE;
	}
	if (header[8] >> 6)
		return FILTER_NO_TYPE;
	rest = (header[8] & 0x3f) * 4;
	if (cur->left < rest)
		return xway_fault(cur, XWAY_TRUNCATED);
	cur->left -= rest;
	cur->pos += rest;
	return xway_ntohs(*(__be16 *)(header + 10));
}

/* MPLS labels (RFC 3032). The type of the packet after them is its IP version. */
xway_inline int filter_open_labels(struct xway_cursor *cur)
{
	int is_last = 0;
	__u8 *first;

#pragma clang loop unroll(disable)
	for (int i = 0; i < FILTER_MAX_LABELS && !is_last; i++) {
		__u8 *label;

		/* One pointer; otherwise the compiler checks one and reads by another. */
		xway_opaque(cur->pos);
		label = xway_take_inner(cur, 4);
		if (!label)
			return -1;
		is_last = label[2] & 1;
	}
	if (!is_last)
		return xway_fault(cur, XWAY_TUNNEL);
	first = cur->pos;
	if (!cur->left || (void *)(first + 1) > cur->end)
		return xway_fault(cur, XWAY_TRUNCATED);
	if (*first >> 4 == 4)
		return ETH_P_IP;
	if (*first >> 4 == 6)
		return ETH_P_IPV6;
	return xway_fault(cur, XWAY_TUNNEL);
}

/* RFC 2516; a PPP protocol below 256 may be one byte long (RFC 1661, section 6.5). */
xway_inline int filter_open_pppoe(struct xway_cursor *cur)
{
	__u8 *header = xway_take_inner(cur, 6);
	__u8 *byte;
	__u32 protocol;

	if (!header)
		return -1;
	if (header[0] != 0x11 || header[1])
		return xway_fault(cur, XWAY_BAD_HEADER);
	byte = xway_take_inner(cur, 1);
	if (!byte)
		return -1;
	protocol = *byte;
	if (!(protocol & 1)) {
		byte = xway_take_inner(cur, 1);
		if (!byte)
			return -1;
		protocol = protocol << 8 | *byte;
	}
	switch (protocol) {
	case 0x21:
		return ETH_P_IP;
	case 0x57:
		return ETH_P_IPV6;
	case 0x281:
	case 0x283:
		return FILTER_MPLS;
	/* Compressed TCP/IP, frames of bridges, multilink, compressed packets. */
	case 0x2d:
	case 0x2f:
	case 0x31:
	case 0x3d:
	case 0xfd:
		return xway_fault(cur, XWAY_TUNNEL);
	default:
		return FILTER_NO_TYPE;
	}
}

/* Reads the header of the tunnel; returns the type of the packet inside. */
xway_inline int filter_open_header(struct xway_cursor *cur, const struct filter_packet *packet,
				   int is_cut)
{
	if (!(packet->known & FILTER_PROTOCOL))
		return packet->ethertype == FILTER_PPPOE ? filter_open_pppoe(cur) :
							   filter_open_labels(cur);
	switch (packet->protocol) {
	case IPPROTO_IPIP:
		return ETH_P_IP;
	case IPPROTO_IPV6:
		return ETH_P_IPV6;
	case IPPROTO_GRE:
		return filter_open_gre(cur);
	case FILTER_MPLS_IN_IP:
		return filter_open_labels(cur);
	case FILTER_ETHERNET_IN_IP:
		return FILTER_BRIDGED;
	case FILTER_ETHER_IP:
		return xway_take_inner(cur, 2) ? FILTER_BRIDGED : -1;
	default:
		return filter_open_udp(cur, is_cut);
	}
}

/* Clears the fields for the inner packet, except the link until it has its own. */
xway_inline void filter_forget_network(struct filter_packet *packet)
{
	packet->known &= FILTER_VLAN | FILTER_INNER_VLAN;
	packet->known |= FILTER_INSIDE;
	packet->source[0] = packet->source[1] = 0;
	packet->dest[0] = packet->dest[1] = 0;
	packet->fragment = FILTER_WHOLE;
	packet->source_port = packet->dest_port = packet->icmp = 0;
	packet->extensions = 0;
	packet->ttl = packet->protocol = packet->dscp = packet->tcp_flags = 0;
	packet->transport = 0;
	packet->identification = 0;
}

/* The link of an inner packet. */
xway_inline int filter_open_link(struct xway_cursor *cur, struct filter_packet *packet, int type)
{
	if (type == FILTER_BRIDGED) {
		struct ethhdr *eth = xway_take_inner(cur, sizeof(*eth));

		if (!eth)
			return -1;
		packet->known &= ~(FILTER_VLAN | FILTER_INNER_VLAN);
		packet->vlan = packet->inner_vlan = 0;
		if (filter_needs_some(FILTER_NEED_MACS))
			filter_read_macs(eth, packet);
		return filter_read_tags(cur, packet, xway_eth_type(eth));
	}
	return filter_read_tags(cur, packet, xway_htons(type));
}

/*
 * The packet inside one that has FILTER_INNER and ends at `limit`, unless a fragment that `is_cut`
 * continues there: type and offset; or FILTER_NOTHING_INSIDE, or FILTER_UNREACHABLE with the
 * anomaly.
 */
xway_global __u64 filter_open(struct xdp_md *ctx, struct filter_packet *packet, __u32 limit,
			      int is_cut)
{
	struct xway_cursor cur;
	int type;

	if (!packet)
		return FILTER_NOTHING_INSIDE;
	if (packet->transport > FILTER_FARTHEST)
		return FILTER_UNREACHABLE | XWAY_TUNNEL;
	xway_cursor(&cur, ctx, 0);
	cur.pos += packet->transport & FILTER_FARTHEST;
	cur.left = limit - packet->transport;
	type = filter_open_header(&cur, packet, is_cut);
	if (type == FILTER_NO_TYPE)
		return FILTER_NOTHING_INSIDE;
	if (type >= 0) {
		filter_forget_network(packet);
		type = filter_open_link(&cur, packet, type);
	}
	if (type < 0)
		return FILTER_UNREACHABLE | cur.fault;
	return (__u64)filter_offset(&cur, ctx) << 16 | type;
}

#endif
