/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Address translation of the route program: which target a packet has, and how it gets it.
 *
 * Rule: every checksum that covers a changed byte is repaired incrementally, so a packet that
 * came with a wrong checksum leaves with a wrong one. Senders must not leave checksums to their
 * hardware (`ethtool -K DEV tx off` on a veth): a partial one cannot be repaired.
 * Not here: ICMP errors, whose payload quotes the translated packet (quote.h).
 */
#ifndef ROUTE_NAT_H
#define ROUTE_NAT_H

#include "route.abi.h"

#include <xway/bpf.h>
#include <xway/csum.h>
#include <xway/parse.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct route_key4);
	__type(value, struct route_target4);
} route_nat4 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct route_key6);
	__type(value, struct route_target6);
} route_nat6 SEC(".maps");

/* Whether there are translations; with none, no packet is looked up in the maps above. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} route_translates SEC(".maps");

#define ROUTE_ICMP_REPLY 0
#define ROUTE_ICMP_REQUEST 8
#define ROUTE_ICMP6_REQUEST 128
#define ROUTE_ICMP6_REPLY 129

xway_inline int route_may_have_translation(void)
{
	__u32 only = 0;
	__u32 *translates;

	if (ROUTE_TRACKS)
		return 0;
	if (route_nat != ROUTE_NAT_OPTIONAL)
		return route_nat == ROUTE_NAT_REQUIRED;
	translates = bpf_map_lookup_elem(&route_translates, &only);
	return translates && *translates;
}

/* What a translation may have to change after the IP header. */
struct route_transport {
	/* NULL without ports. */
	struct xway_ports *ports;
	/* NULL where no checksum covers the addresses. */
	__sum16 *check;
	__u8 protocol;
	__u8 translatable;
};

xway_inline int route_read_tcp(struct xway_cursor *cur, struct route_transport *transport)
{
	struct tcphdr *tcp;

	if (xway_parse_tcp(cur, &tcp) < 0)
		return -1;
	transport->ports = (struct xway_ports *)tcp;
	transport->check = &tcp->check;
	transport->translatable = 1;
	return 0;
}

xway_inline int route_read_udp(struct xway_cursor *cur, struct route_transport *transport)
{
	struct udphdr *udp;

	if (xway_parse_udp(cur, &udp) < 0)
		return -1;
	transport->ports = (struct xway_ports *)udp;
	transport->check = &udp->check;
	transport->translatable = 1;
	return 0;
}

xway_inline int route_read_icmp(struct xway_cursor *cur, struct route_transport *transport)
{
	struct xway_icmp *icmp;
	int type = xway_parse_icmp(cur, &icmp);

	if (type < 0)
		return -1;
	if (transport->protocol == IPPROTO_ICMP) {
		transport->translatable =
			type == ROUTE_ICMP_REQUEST || type == ROUTE_ICMP_REPLY;
	} else {
		transport->translatable =
			type == ROUTE_ICMP6_REQUEST || type == ROUTE_ICMP6_REPLY;
		transport->check = &icmp->check;
	}
	return 0;
}

/* The transport header, as far as a translation needs it; 0 or -1 with the cursor's fault. */
xway_inline int route_read_transport(struct xway_cursor *cur, int protocol,
				       struct route_transport *transport)
{
	*transport = (struct route_transport){ .protocol = protocol };
	if (xway_is_later_fragment(cur)) {
		transport->translatable = 1;
		return 0;
	}
	switch (protocol) {
	case IPPROTO_TCP:
		return route_read_tcp(cur, transport);
	case IPPROTO_UDP:
		return route_read_udp(cur, transport);
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		return route_read_icmp(cur, transport);
	default:
		return 0;
	}
}

/* Puts the port and the transport checksum right; `sum` is what the address changed. */
xway_inline void route_rewrite_transport(struct route_transport *transport,
					   enum route_side side, __be16 to, __u32 sum)
{
	struct xway_ports *ports = transport->ports;

	if (ports && to) {
		__be16 from = side == ROUTE_SOURCE ? ports->source : ports->dest;

		sum = xway_csum_word(sum, from, to);
		if (side == ROUTE_SOURCE)
			ports->source = to;
		else
			ports->dest = to;
	}
	if (!transport->check)
		return;
	if (transport->protocol == IPPROTO_UDP)
		*transport->check = xway_csum_apply_udp(*transport->check, sum);
	else
		*transport->check = xway_csum_apply(*transport->check, sum);
}

/* The port on one side, 0 without ports. */
xway_inline __be16 route_side_port(const struct route_transport *transport, enum route_side side)
{
	if (!transport->ports)
		return 0;
	return side == ROUTE_SOURCE ? transport->ports->source : transport->ports->dest;
}

/* Why a translation that applies cannot be done, or XWAY_FORWARDED if it can. */
xway_inline enum xway_reason route_may_translate(const struct xway_cursor *cur,
						   const struct route_transport *transport,
						   int whole_address)
{
	if (!transport->translatable)
		return XWAY_UNTRANSLATABLE;
	if (xway_is_fragment(cur) && !whole_address)
		return XWAY_FRAGMENT;
	return XWAY_FORWARDED;
}

/* What happens to a packet without translation. */
xway_inline enum xway_reason route_untranslated(const struct xway_cursor *cur)
{
	if (xway_is_fragment(cur))
		return XWAY_FRAGMENT;
	return route_nat == ROUTE_NAT_REQUIRED ? XWAY_NO_TRANSLATION : XWAY_FORWARDED;
}

#endif
