/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A frame that is sent back: source and destination of Ethernet, IP and the transport are
 * exchanged, and the stamp is marked.
 *
 * Rule: words are exchanged and the stamp keeps its sum, so all checksums remain valid.
 */
#ifndef SINK_REFLECT_H
#define SINK_REFLECT_H

#include "sink.abi.h"

#include <xway/bpf.h>
#include <xway/csum.h>
#include <xway/parse.h>
#include <xway/stamp.h>

/* This interface's MAC address, as the first six bytes; 0 for any. */
const volatile __u64 sink_mac = 0;

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

/* Unspecified, loopback, multicast and reserved addresses do not belong to a host. */
xway_inline int sink_is_host4(__be32 address)
{
	__u32 net = address & xway_htonl(0xff000000);

	return net && net != xway_htonl(0x7f000000) && (address & xway_htonl(0xe0000000)) !=
							       xway_htonl(0xe0000000);
}

/*
 * As above for IPv6; ::/96 has the unspecified and the loopback address, ::ffff:0:0/96 those of
 * IPv4.
 */
xway_inline int sink_is_host6(const struct in6_addr *address)
{
	const __be32 *word = address->in6_u.u6_addr32;

	if ((word[0] & xway_htonl(0xff000000)) == xway_htonl(0xff000000))
		return 0;
	return word[0] || word[1] || (word[2] && word[2] != xway_htonl(0xffff));
}

/* These exchange addresses and ports; they return 0 if the frame must not be sent back. */
xway_inline int sink_turn_ipv4(struct xdp_md *ctx, struct xway_cursor *cur)
{
	struct iphdr *ip;
	int protocol = xway_parse_ipv4(cur, &ip);

	if (protocol < 0 || xway_is_cut(ctx, cur, NULL) || ip->saddr == ip->daddr)
		return 0;
	if (!sink_is_host4(ip->saddr) || !sink_is_host4(ip->daddr))
		return 0;
	sink_exchange(ip->saddr, ip->daddr);
	sink_exchange_ports(cur, protocol);
	return 1;
}

xway_inline int sink_turn_ipv6(struct xdp_md *ctx, struct xway_cursor *cur)
{
	struct ipv6hdr *ip;
	int protocol = xway_parse_ipv6(cur, &ip);
	__u32 differ = 0;

	if (protocol < 0 || xway_is_cut(ctx, cur, ip))
		return 0;
	if (!sink_is_host6(&ip->saddr) || !sink_is_host6(&ip->daddr))
		return 0;
	for (int i = 0; i < 4; i++)
		differ |= ip->saddr.s6_addr32[i] ^ ip->daddr.s6_addr32[i];
	if (!differ)
		return 0;
	sink_exchange(ip->saddr, ip->daddr);
	sink_exchange_ports(cur, protocol);
	return 1;
}

/* Whether the frame was sent by one host to this interface, or to any if its address is unknown. */
xway_inline int sink_is_own_mac(const struct ethhdr *eth)
{
	__u64 to = *(const __u32 *)eth->h_dest | (__u64) * (const __u16 *)(eth->h_dest + 4) << 32;

	if ((eth->h_dest[0] | eth->h_source[0]) & 1)
		return 0;
	return !sink_mac || to == sink_mac;
}

/*
 * Exchanges addresses and ports. Returns 0 if the frame must not be sent back, since a stack would
 * not answer it: it is for another host, a group or no host, or its IP header cannot be read. In
 * frames of other protocols only the MAC addresses are exchanged.
 */
xway_inline int sink_turn(struct xdp_md *ctx, int frags)
{
	struct xway_cursor cur;
	struct ethhdr *eth;
	int type, turned = 1;

	xway_cursor(&cur, ctx, frags);
	type = xway_parse_eth(&cur, &eth);
	if (type < 0 || !sink_is_own_mac(eth))
		return 0;
	if (type == ETH_P_IP)
		turned = sink_turn_ipv4(ctx, &cur);
	if (type == ETH_P_IPV6)
		turned = sink_turn_ipv6(ctx, &cur);
	if (turned)
		sink_exchange_macs(eth);
	return turned;
}

xway_inline void sink_mark_reflected(struct xway_stamp *stamp)
{
	__be16 *kind = (__be16 *)&stamp->source;
	__be16 from = *kind;

	stamp->kind |= XWAY_STAMP_REFLECTED;
	stamp->check = xway_csum_apply(stamp->check, xway_csum_word(0, from, *kind));
}

#endif
