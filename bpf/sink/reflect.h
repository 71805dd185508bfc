/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A frame on its way back: source and destination of Ethernet, IP and the transport exchanged,
 * the stamp marked.
 *
 * Rule: words change places and the stamp keeps its sum, so every checksum stays what it was.
 */
#ifndef SINK_REFLECT_H
#define SINK_REFLECT_H

#include "sink.abi.h"

#include <xway/bpf.h>
#include <xway/csum.h>
#include <xway/parse.h>
#include <xway/stamp.h>

#define sink_exchange(a, b)                                                                        \
	do {                                                                                       \
		typeof(a) sink_held = a;                                                           \
		a = b;                                                                             \
		b = sink_held;                                                                     \
	} while (0)

xway_inline void sink_exchange_macs(struct ethhdr *eth)
{
	__u16 *to = (__u16 *)eth->h_dest, *from = (__u16 *)eth->h_source;

	for (int i = 0; i < ETH_ALEN / 2; i++)
		sink_exchange(to[i], from[i]);
}

xway_inline void sink_exchange_ports(struct xway_cursor *cur, int protocol)
{
	struct xway_ports *ports;

	if (protocol < 0 || !xway_has_ports(protocol) || xway_is_later_fragment(cur) ||
	    xway_parse_ports(cur, &ports) < 0)
		return;
	sink_exchange(ports->source, ports->dest);
}

xway_inline void sink_turn_ipv4(struct xway_cursor *cur)
{
	struct iphdr *ip;
	int protocol = xway_parse_ipv4(cur, &ip);

	if (protocol < 0)
		return;
	sink_exchange(ip->saddr, ip->daddr);
	sink_exchange_ports(cur, protocol);
}

xway_inline void sink_turn_ipv6(struct xway_cursor *cur)
{
	struct ipv6hdr *ip;
	int protocol = xway_parse_ipv6(cur, &ip);

	if (protocol < 0)
		return;
	sink_exchange(ip->saddr, ip->daddr);
	sink_exchange_ports(cur, protocol);
}

/* What cannot be parsed goes back with its MAC addresses exchanged alone. */
xway_inline void sink_turn(struct xdp_md *ctx, int frags)
{
	struct xway_cursor cur;
	struct ethhdr *eth;
	int type;

	xway_cursor(&cur, ctx, frags);
	type = xway_parse_eth(&cur, &eth);
	if (eth)
		sink_exchange_macs(eth);
	if (type == ETH_P_IP)
		sink_turn_ipv4(&cur);
	if (type == ETH_P_IPV6)
		sink_turn_ipv6(&cur);
}

xway_inline void sink_mark_reflected(struct xway_stamp *stamp)
{
	__be16 *kind = (__be16 *)&stamp->source;
	__be16 from = *kind;

	stamp->kind |= XWAY_STAMP_REFLECTED;
	stamp->check = xway_csum_apply(stamp->check, xway_csum_word(0, from, *kind));
}

#endif
