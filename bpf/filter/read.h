/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Reads the headers of a packet, from the outermost, into `struct filter_packet`.
 *
 * Any bytes have a defined result, which `filter::model::headers` implements a second time. Fields
 * that were read before a malformed header are kept. A header never extends beyond the packet that
 * it belongs to, which may be shorter than the frame.
 * Rule: only headers that rules need (`filter_needs`) are read; the verifier removes the code of
 * others. Tables and arithmetic replace branches where possible: the verifier follows the code
 * after a branch twice. Not here: encapsulated packets (inner.h), fragments (fragment.h), policies
 * (filter.bpf.c).
 */
#ifndef FILTER_READ_H
#define FILTER_READ_H

#include "filter.abi.h"

#include <xway/bpf.h>
#include <xway/parse.h>

/* Bits of enum filter_need. */
const volatile enum filter_need filter_needs = 0xffffffff;
/* Policies by anomaly; see enum filter_policy. */
const volatile enum filter_policy filter_policies[FILTER_ANOMALIES];

#define FILTER_PPPOE 0x8864
#define FILTER_MPLS 0x8847
#define FILTER_MPLS_MULTICAST 0x8848

/* Protocols that contain a packet and have no name in <linux/in.h>. */
#define FILTER_ETHER_IP 97
#define FILTER_MPLS_IN_IP 137
#define FILTER_ETHERNET_IN_IP 143
#define FILTER_NO_NEXT_HEADER 59
#define FILTER_ICMPV6 58
#define FILTER_VXLAN_PORT 4789
#define FILTER_VXLAN_OLD_PORT 8472
#define FILTER_GENEVE_PORT 6081

/* An invalid offset. */
#define FILTER_NOWHERE 0xffff

#define FILTER_EXTENSION_OPTIONS 1
#define FILTER_EXTENSION_SOURCE_ROUTE 2

/* Bit of an extension header by its protocol number. */
static const __u8 filter_extensions[256] = {
	[IPPROTO_HOPOPTS] = FILTER_HOP_BY_HOP,
	[IPPROTO_ROUTING] = FILTER_ROUTING,
	[IPPROTO_FRAGMENT] = FILTER_FRAGMENT_HEADER,
	[IPPROTO_DSTOPTS] = FILTER_DESTINATION,
	[IPPROTO_AH] = FILTER_AUTHENTICATION,
};

/* Anomalies of routing headers by type; those of mobile IPv6, RPL and SRv6 have none. */
static const __u8 filter_routings[256] = {
	[0] = FILTER_EXTENSION_SOURCE_ROUTE,
	[1] = FILTER_EXTENSION_OPTIONS,
	[5 ... 255] = FILTER_EXTENSION_OPTIONS,
};

xway_inline int filter_needs_some(__u32 needs)
{
	return (filter_needs & needs) != 0;
}

/* Notes an anomaly after which reading could continue; true if its policy ends it. */
xway_inline int filter_refuses(struct xway_cursor *cur, enum xway_reason anomaly)
{
	if (filter_policies[anomaly] == FILTER_JUDGE)
		return 0;
	cur->fault = anomaly;
	return 1;
}

/* Offset of the cursor in the frame. Loaded again, or the compiler copies half of a pointer. */
xway_inline __u32 filter_offset(const struct xway_cursor *cur, const struct xdp_md *ctx)
{
	void *start = (void *)(unsigned long)*(const volatile __u32 *)&ctx->data;
	__u64 offset = cur->pos - start;

	xway_opaque(offset);
	return offset;
}

/* Sets the end of the packet after a number of bytes; with `is_cut` it may have fewer. */
xway_inline int filter_bound(struct xway_cursor *cur, __u32 bytes, int is_cut)
{
	if (bytes <= cur->left)
		cur->left = bytes;
	else if (!is_cut)
		return xway_fault(cur, XWAY_TRUNCATED);
	return 0;
}

xway_inline __u64 filter_mac(const __u8 *mac)
{
	return (__u64)xway_ntohs(*(const __be16 *)mac) << 32 |
	       xway_ntohl(*(const __be32 *)(mac + 2));
}

/* Reads tags; returns the type after the last one. */
xway_inline int filter_read_tags(struct xway_cursor *cur, struct filter_packet *packet, __be16 type)
{
	xway_unroll
	for (int i = 0; i < XWAY_MAX_TAGS && xway_is_tag(type); i++) {
		struct xway_vlan *tag = xway_take_inner(cur, sizeof(*tag));

		if (!tag)
			return -1;
		if (i == 0) {
			packet->vlan = xway_ntohs(tag->control) & 0xfff;
			packet->known |= FILTER_VLAN;
		} else if (i == 1) {
			packet->inner_vlan = xway_ntohs(tag->control) & 0xfff;
			packet->known |= FILTER_INNER_VLAN;
		}
		type = tag->type;
	}
	if (xway_is_tag(type))
		return xway_fault(cur, XWAY_TOO_MANY_TAGS);
	packet->ethertype = xway_ntohs(type);
	return packet->ethertype;
}

/*
 * Adds the outermost tag, which is not in the frame: the first one there becomes the inner one. It
 * does not count for XWAY_TOO_MANY_TAGS. Without branches, so that the verifier has one path.
 */
xway_inline void filter_add_tag(struct filter_packet *packet, __u64 tag)
{
	__u64 has = tag >> 16 & 1;
	__u64 mask = -has;
	__u64 inner = (packet->known & FILTER_VLAN) << 1;

	packet->inner_vlan = (packet->vlan & mask) | (packet->inner_vlan & ~mask);
	packet->vlan = (tag & 0xfff & mask) | (packet->vlan & ~mask);
	packet->known |= (inner & mask) | has;
}

xway_inline void filter_read_macs(const struct ethhdr *eth, struct filter_packet *packet)
{
	packet->dest_mac = filter_mac(eth->h_dest);
	packet->source_mac = filter_mac(eth->h_source);
}

/* Reads the outermost link header; returns the type after it, or 0 if it is not needed. */
xway_inline int filter_read_link(struct xway_cursor *cur, struct filter_packet *packet)
{
	struct ethhdr *eth;

	packet->network = FILTER_NOWHERE;
	if (!filter_needs_some(FILTER_NEED_MACS | FILTER_NEED_LINK))
		return 0;
	eth = xway_take_inner(cur, sizeof(*eth));
	if (!eth)
		return -1;
	if (filter_needs_some(FILTER_NEED_MACS))
		filter_read_macs(eth, packet);
	if (!filter_needs_some(FILTER_NEED_LINK))
		return 0;
	return filter_read_tags(cur, packet, xway_eth_type(eth));
}

xway_inline void filter_read_ports(struct filter_packet *packet, __be16 source, __be16 dest)
{
	packet->source_port = xway_ntohs(source);
	packet->dest_port = xway_ntohs(dest);
	packet->known |= FILTER_PORTS;
}

xway_inline int filter_read_tcp(struct xway_cursor *cur, struct filter_packet *packet)
{
	struct tcphdr *tcp = xway_take_inner(cur, sizeof(*tcp));

	if (!tcp)
		return -1;
	filter_read_ports(packet, tcp->source, tcp->dest);
	packet->tcp_flags = ((__u8 *)tcp)[13];
	packet->known |= FILTER_TCP;
	if (tcp->doff * 4 < sizeof(*tcp))
		return xway_fault(cur, XWAY_BAD_HEADER);
	if (cur->left < tcp->doff * 4 - sizeof(*tcp))
		return xway_fault(cur, XWAY_TRUNCATED);
	return 0;
}

xway_inline int filter_is_tunnel_port(__be16 port)
{
	return port == xway_htons(FILTER_VXLAN_PORT) || port == xway_htons(FILTER_GENEVE_PORT) ||
	       port == xway_htons(FILTER_VXLAN_OLD_PORT);
}

xway_inline void filter_note_inner(struct filter_packet *packet)
{
	if (filter_needs_some(FILTER_NEED_INNER))
		packet->known |= FILTER_INNER;
}

/* Reads the port only: a datagram without a readable port could be a tunnel. */
xway_inline int filter_check_udp_port(struct xway_cursor *cur, struct filter_packet *packet)
{
	struct xway_ports *ports;

	if (xway_parse_ports(cur, &ports) < 0)
		return -1;
	if (filter_is_tunnel_port(ports->dest))
		filter_note_inner(packet);
	return 0;
}

xway_inline int filter_read_udp(struct xway_cursor *cur, struct filter_packet *packet, int is_cut)
{
	__u32 available = cur->left;
	struct udphdr *udp;
	__u32 length;

	if (!filter_needs_some(FILTER_NEED_TRANSPORT))
		return filter_check_udp_port(cur, packet);
	udp = xway_take_inner(cur, sizeof(*udp));
	if (!udp)
		return -1;
	filter_read_ports(packet, udp->source, udp->dest);
	if (filter_is_tunnel_port(udp->dest))
		filter_note_inner(packet);
	length = xway_ntohs(udp->len);
	if (length < sizeof(*udp) || (length > available && !is_cut && !xway_is_fragment(cur)))
		return xway_fault(cur, XWAY_BAD_LENGTH);
	return 0;
}

xway_inline int filter_read_other_ports(struct xway_cursor *cur, struct filter_packet *packet)
{
	struct xway_ports *ports;

	if (xway_parse_ports(cur, &ports) < 0)
		return -1;
	filter_read_ports(packet, ports->source, ports->dest);
	return 0;
}

xway_inline int filter_read_icmp(struct xway_cursor *cur, struct filter_packet *packet)
{
	struct xway_icmp *icmp = xway_take_inner(cur, sizeof(*icmp));

	if (!icmp)
		return -1;
	packet->icmp = (__u16)(icmp->type << 8 | icmp->code);
	packet->known |= FILTER_ICMP;
	return 0;
}

/* Reads the header after all IP headers of a packet that is not a later fragment. */
xway_inline int filter_read_transport(struct xway_cursor *cur, struct filter_packet *packet,
				      int protocol, int icmp, int is_cut)
{
	int wanted = filter_needs_some(FILTER_NEED_TRANSPORT);

	switch (protocol) {
	case IPPROTO_TCP:
		return wanted ? filter_read_tcp(cur, packet) : 0;
	case IPPROTO_UDP:
		return filter_read_udp(cur, packet, is_cut);
	case IPPROTO_DCCP:
	case IPPROTO_SCTP:
	case IPPROTO_UDPLITE:
		return wanted ? filter_read_other_ports(cur, packet) : 0;
	case IPPROTO_ICMP:
	case FILTER_ICMPV6:
		if (protocol == icmp)
			return wanted ? filter_read_icmp(cur, packet) : 0;
		break;
	case FILTER_NO_NEXT_HEADER:
		if (icmp == FILTER_ICMPV6)
			return 0;
		break;
	case IPPROTO_IPIP:
	case IPPROTO_IPV6:
	case IPPROTO_GRE:
	case FILTER_ETHER_IP:
	case FILTER_MPLS_IN_IP:
	case FILTER_ETHERNET_IN_IP:
		filter_note_inner(packet);
		return 0;
	}
	return filter_refuses(cur, XWAY_UNKNOWN_PROTOCOL) ? -1 : 0;
}

/* Later fragments follow their first one if a rule needs fields that only that one has. */
xway_inline int filter_tracks(void)
{
	return filter_policies[XWAY_LATER_FRAGMENT] == FILTER_TRACK &&
	       filter_needs_some(FILTER_NEED_TRANSPORT);
}

xway_inline int filter_read_after_ip(struct xdp_md *ctx, struct xway_cursor *cur,
				      struct filter_packet *packet, int protocol, int icmp,
				      int is_cut)
{
	packet->protocol = protocol;
	packet->known |= FILTER_PROTOCOL;
	if (xway_is_later_fragment(cur)) {
		if (filter_policies[XWAY_LATER_FRAGMENT] == FILTER_TRACK && !filter_tracks())
			return 0;
		return filter_refuses(cur, XWAY_LATER_FRAGMENT) ? -1 : 0;
	}
	if (xway_is_fragment(cur) && filter_refuses(cur, XWAY_FIRST_FRAGMENT))
		return -1;
	packet->transport = filter_offset(cur, ctx);
	packet->known |= FILTER_TRANSPORT;
	return filter_read_transport(cur, packet, protocol, icmp, is_cut);
}

xway_inline void filter_note_fragment(const struct xway_cursor *cur, struct filter_packet *packet)
{
	if (xway_is_later_fragment(cur))
		packet->fragment = FILTER_LATER;
	else if (xway_is_fragment(cur))
		packet->fragment = FILTER_FIRST;
}

/* All ones for a negative number, otherwise 0. The compiler must not make a branch of it. */
xway_inline __u64 filter_if_negative(__u64 number)
{
	xway_opaque(number);
	number = (__u64)((__s64)number >> 63);
	xway_opaque(number);
	return number;
}

/* All ones if a bit is set, otherwise 0. */
xway_inline __u64 filter_if_bit(__u64 bits, int bit)
{
	return filter_if_negative(bits << (63 - bit));
}

#define FILTER_OPTION_ENDS 1
#define FILTER_OPTION_HAS_LENGTH 2

/* IPv4 options by their type; all but the first two have a length. */
static const __u8 filter_option_kinds[256] = {
	[0] = FILTER_OPTION_ENDS,
	[2 ... 130] = FILTER_OPTION_HAS_LENGTH,
	/* Loose and strict source route. */
	[131] = FILTER_OPTION_HAS_LENGTH | FILTER_EXTENSION_SOURCE_ROUTE << 2,
	[132 ... 136] = FILTER_OPTION_HAS_LENGTH,
	[137] = FILTER_OPTION_HAS_LENGTH | FILTER_EXTENSION_SOURCE_ROUTE << 2,
	[138 ... 255] = FILTER_OPTION_HAS_LENGTH,
};

/*
 * The anomalies of IPv4 options: FILTER_EXTENSION_OPTIONS and _SOURCE_ROUTE, or -1 for an invalid
 * length. A global function, because few packets have options. Byte by byte and without branches:
 * otherwise the verifier would follow each order of options.
 */
xway_global int filter_judge_options(struct xdp_md *ctx, __u32 at, __u32 length)
{
	__u8 *pos = xway_data(ctx) + (at & 0x7fff);
	void *end = xway_data_end(ctx);
	/* Remaining bytes of this option, and masks. */
	__u64 rest = 0, is_length = 0, is_over = 0, is_bad = 0;
	__u64 anomalies = FILTER_EXTENSION_OPTIONS;

#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < 40; i++) {
		__u64 is_type, byte, kind;

		if (i >= length || (void *)(pos + 1) > end)
			break;
		byte = *pos++;
		is_type = filter_if_negative(rest - 1) & ~is_length & ~is_over;
		kind = filter_option_kinds[byte] & is_type;
		is_bad |= is_length & filter_if_negative(byte - 2);
		rest = (rest - (filter_if_negative(-rest) & 1)) | ((byte - 2) & 0xff & is_length);
		is_length = filter_if_bit(kind, 1);
		is_over |= filter_if_bit(kind, 0);
		anomalies |= kind >> 2;
	}
	is_bad |= ~is_over & (is_length | filter_if_negative(-rest));
	return is_bad ? -1 : (int)(anomalies & 3);
}

/* Whether the policy of an anomaly that was noted ends the reading. */
xway_inline int filter_refuses_noted(struct xway_cursor *cur, int anomalies)
{
	if (anomalies & FILTER_EXTENSION_SOURCE_ROUTE)
		return filter_refuses(cur, XWAY_SOURCE_ROUTE);
	return anomalies && filter_refuses(cur, XWAY_OPTIONS);
}

xway_inline void filter_set_ipv4(const struct iphdr *ip, struct filter_packet *packet)
{
	packet->source[0] = 0;
	packet->source[1] = xway_ntohl(ip->saddr);
	packet->dest[0] = 0;
	packet->dest[1] = xway_ntohl(ip->daddr);
	packet->ttl = ip->ttl;
	packet->dscp = ip->tos >> 2;
	packet->known |= FILTER_IPV4;
}

xway_inline int filter_read_ipv4(struct xdp_md *ctx, struct xway_cursor *cur,
				 struct filter_packet *packet, int is_cut)
{
	struct iphdr *ip = xway_take_inner(cur, sizeof(*ip));
	__u32 length, total, fragment;
	int protocol, anomalies = 0;

	if (!ip)
		return -1;
	if (ip->version != 4)
		return xway_fault(cur, XWAY_BAD_HEADER);
	filter_set_ipv4(ip, packet);
	length = ip->ihl * 4;
	total = xway_length(ip->tot_len);
	if (length < sizeof(*ip) || total < length)
		return xway_fault(cur, XWAY_BAD_HEADER);
	if (filter_bound(cur, total - sizeof(*ip), is_cut) < 0)
		return -1;
	length -= sizeof(*ip);
	/* The mask does not change the value, but bounds it for the verifier. */
	xway_opaque(length);
	length &= 0x3c;
	if (cur->left < length)
		return xway_fault(cur, XWAY_TRUNCATED);

	fragment = xway_ntohs(ip->frag_off);
	cur->fragment = (fragment & XWAY_OFFSET4) << 3 | (fragment & XWAY_MORE4) >> 13;
	filter_note_fragment(cur, packet);
	protocol = ip->protocol;
	packet->identification = (__u32)protocol << 16 | xway_ntohs(ip->id);
	if (length) {
		anomalies = filter_judge_options(ctx, filter_offset(cur, ctx), length);
		if (anomalies < 0)
			return xway_fault(cur, XWAY_BAD_HEADER);
		cur->left -= length;
		cur->pos += length;
	}
	if (protocol == IPPROTO_AH && !xway_is_later_fragment(cur)) {
		protocol = xway_parse_extension(cur, &xway_protocols[IPPROTO_AH]);
		if (protocol < 0)
			return -1;
	}
	if (filter_refuses_noted(cur, anomalies))
		return -1;
	return filter_read_after_ip(ctx, cur, packet, protocol, IPPROTO_ICMP, is_cut);
}

xway_inline void filter_set_ipv6(const struct ipv6hdr *ip, struct filter_packet *packet)
{
	const __u64 *source = (const void *)&ip->saddr;
	const __u64 *dest = (const void *)&ip->daddr;

	packet->source[0] = __builtin_bswap64(source[0]);
	packet->source[1] = __builtin_bswap64(source[1]);
	packet->dest[0] = __builtin_bswap64(dest[0]);
	packet->dest[1] = __builtin_bswap64(dest[1]);
	packet->ttl = ip->hop_limit;
	packet->dscp = xway_ntohs(*(const __be16 *)ip) >> 6 & 0x3f;
	packet->known |= FILTER_IPV6;
}

/* The result of all extension headers. */
struct filter_chain {
	__u32 seen;
	__u32 anomalies;
	__u32 identification;
};

/* Reads one extension header; returns the protocol that follows. */
xway_inline int filter_read_extension(struct xway_cursor *cur, struct filter_chain *chain,
				      int protocol)
{
	const struct xway_extension *extension = cur->pos;
	__u32 bit = filter_extensions[protocol & 0xff];
	int next = xway_parse_extension(cur, &xway_protocols[protocol & 0xff]);
	__u32 is_fragment = -(bit >> 2 & 1);
	__u32 is_routing = -(bit >> 1 & 1);

	if (next < 0)
		return -1;
	chain->seen |= bit;
	chain->anomalies |= filter_routings[extension->offset & 0xff] & is_routing;
	chain->identification &= ~is_fragment;
	chain->identification |= xway_ntohl(extension->rest) & is_fragment;
	return next;
}

/* Reads all extension headers; returns the protocol after them. */
xway_inline int filter_read_chain(struct xway_cursor *cur, struct filter_chain *chain, int protocol)
{
	for (int i = 0; i <= XWAY_MAX_EXTENSIONS; i++) {
		if (!xway_protocols[protocol & 0xff].length_shift || xway_is_later_fragment(cur))
			return protocol;
		if (i == XWAY_MAX_EXTENSIONS)
			break;
		protocol = filter_read_extension(cur, chain, protocol);
		if (protocol < 0)
			return -1;
	}
	return xway_fault(cur, XWAY_TOO_MANY_EXTENSIONS);
}

xway_inline int filter_read_ipv6(struct xdp_md *ctx, struct xway_cursor *cur,
				 struct filter_packet *packet, int is_cut)
{
	struct ipv6hdr *ip = xway_take_inner(cur, sizeof(*ip));
	struct filter_chain chain = {};
	int protocol;

	if (!ip)
		return -1;
	if (ip->version != 6)
		return xway_fault(cur, XWAY_BAD_HEADER);
	filter_set_ipv6(ip, packet);
	if (filter_bound(cur, xway_payload6(ip, cur->left), is_cut) < 0)
		return -1;
	protocol = filter_read_chain(cur, &chain, ip->nexthdr);
	packet->extensions = chain.seen;
	packet->identification = chain.identification;
	filter_note_fragment(cur, packet);
	if (protocol < 0 || filter_refuses_noted(cur, chain.anomalies))
		return -1;
	return filter_read_after_ip(ctx, cur, packet, protocol, FILTER_ICMPV6, is_cut);
}

/* Reads the headers after a link of this type; 0, or -1 with the anomaly in the cursor. */
xway_inline int filter_read_network(struct xdp_md *ctx, struct xway_cursor *cur,
				    struct filter_packet *packet, int type, int is_cut)
{
	if (!filter_needs_some(FILTER_NEED_LINK))
		return 0;
	packet->network = filter_offset(cur, ctx);
	if (!filter_needs_some(FILTER_NEED_NETWORK))
		return 0;
	switch (type) {
	case ETH_P_IP:
		return filter_read_ipv4(ctx, cur, packet, is_cut);
	case ETH_P_IPV6:
		return filter_read_ipv6(ctx, cur, packet, is_cut);
	case FILTER_PPPOE:
	case FILTER_MPLS:
	case FILTER_MPLS_MULTICAST:
		packet->transport = packet->network;
		filter_note_inner(packet);
		return 0;
	default:
		return 0;
	}
}

/* Flags in `what` of filter_read(), above 16 bits of the type of the previous link. */
#define FILTER_OUTERMOST (1U << 16)
/* The packet is inside a first fragment, so it continues beyond the end. */
#define FILTER_CUT (1U << 17)

/* The result of filter_read(), below 32 bits, without an anomaly. */
#define FILTER_SOUND XWAY_REASONS

/*
 * Reads the packet from offset `at` to `limit`, the end of the packet that contains it: the
 * outermost with its link, others after a link of the type in `what`. Returns the anomaly or
 * FILTER_SOUND and, above 32 bits, the end of the packet by its own headers.
 *
 * The loader inlines it or makes it global. Inline code costs no call, but the verifier follows the
 * code after it once per path through the headers.
 */
static __attribute__((noinline)) __u64 filter_read(struct xdp_md *ctx, struct filter_packet *packet,
						   __u32 at, __u32 limit, __u32 what)
{
	int type = what & 0xffff;
	struct xway_cursor cur;
	int fault;

	if (!packet)
		return FILTER_SOUND;
	xway_cursor(&cur, ctx, 0);
	cur.left = limit - at;
	/* Headers of tunnels are short; the mask bounds the value for the verifier. */
	cur.pos += at & (2 * FILTER_FARTHEST + 1);
	if (what & FILTER_OUTERMOST)
		type = filter_read_link(&cur, packet);
	fault = type;
	if (type >= 0)
		fault = filter_read_network(ctx, &cur, packet, type, (what & FILTER_CUT) != 0);
	return (__u64)(filter_offset(&cur, ctx) + cur.left) << 32 |
	       (fault < 0 ? cur.fault : FILTER_SOUND);
}

#endif
