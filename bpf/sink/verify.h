/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Verifies the checksums of a whole frame: those of the IPv4 header, UDP, TCP, ICMP and ICMPv6.
 *
 * Not verified, and regarded as correct: what follows more VLAN tags or IPv6 extension headers than
 * the parser accepts; other protocols, and the contents of tunnels; fragments (except their
 * headers); UDP without a checksum; more than XWAY_SUM_MOST bytes after the IP header. The sums of
 * IPv6 use the destination in its header, even if a routing header names another one.
 * Wrong: a truncated frame, or a header that its protocol forbids.
 * An ICMP error quotes the packet that caused it, including its stamp, and is recognized here.
 */
#ifndef SINK_VERIFY_H
#define SINK_VERIFY_H

#include "sink.abi.h"

#include <xway/bpf.h>
#include <xway/csum.h>
#include <xway/parse.h>
#include <xway/sum.h>

/* The result for a frame. */
enum sink_finding {
	SINK_RIGHT,
	/* A checksum is wrong. */
	SINK_WRONG,
	/* The frame is an error about another frame, which it quotes. */
	SINK_QUOTE,
};

xway_inline enum sink_finding sink_finding(int wrong)
{
	return wrong ? SINK_WRONG : SINK_RIGHT;
}

/* RFC 792: unreachable, quench, redirect, time exceeded, parameter problem. RFC 4443, 2.1. */
xway_inline int sink_is_icmp_error(int protocol, int type)
{
	if (protocol == IPPROTO_ICMPV6)
		return type < 128;
	return (type >= 3 && type <= 5) || type == 11 || type == 12;
}

/*
 * Verifies what follows at the cursor; `addresses` is the sum of both addresses. UDP has its own
 * length field, the others extend to the end of the packet.
 */
xway_inline enum sink_finding sink_transport(struct xdp_md *ctx, struct xway_cursor *cur,
					     int protocol, __u64 addresses)
{
	struct xway_part part = {
		.ctx = ctx,
		.at = cur->pos - xway_data(ctx),
		.left = cur->left,
	};
	struct xway_icmp *icmp;
	struct udphdr *udp;
	int payload, type;

	if (xway_is_fragment(cur))
		return SINK_RIGHT;
	switch (protocol) {
	case IPPROTO_UDP:
		payload = xway_parse_udp(cur, &udp);
		if (payload < 0)
			return SINK_WRONG;
		if (!udp->check)
			return SINK_RIGHT;
		part.left = payload + sizeof(*udp);
		break;
	case IPPROTO_TCP:
		break;
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		type = xway_parse_icmp(cur, &icmp);
		if (type < 0)
			return SINK_WRONG;
		if (sink_is_icmp_error(protocol, type))
			return SINK_QUOTE;
		break;
	default:
		return SINK_RIGHT;
	}
	/* ICMP for IPv4 has no pseudo header. */
	if (protocol != IPPROTO_ICMP)
		part.sum = addresses + xway_sum_pseudo(protocol, part.left);
	return sink_finding(xway_sum_is_wrong(&part, cur->frags));
}

xway_inline enum sink_finding sink_ipv4(struct xdp_md *ctx, struct xway_cursor *cur)
{
	void *start = cur->pos;
	struct iphdr *ip;
	int protocol = xway_parse_ipv4(cur, &ip);
	struct xway_part options = { .ctx = ctx };
	__u32 *words;

	if (protocol < 0 || xway_is_cut(ctx, cur, NULL))
		return SINK_WRONG;
	words = (void *)ip;
	options.at = start - xway_data(ctx) + sizeof(*ip);
	options.left = ip->ihl * 4 - sizeof(*ip);
	options.sum = (__u64)words[0] + words[1] + words[2] + words[3] + words[4];
	if (protocol == IPPROTO_ICMPV6)
		protocol = IPPROTO_RAW;
	xway_sum_add_short(&options);
	if (!xway_sum_is_right(&options))
		return SINK_WRONG;
	return sink_transport(ctx, cur, protocol, (__u64)ip->saddr + ip->daddr);
}

xway_inline enum sink_finding sink_ipv6(struct xdp_md *ctx, struct xway_cursor *cur)
{
	struct ipv6hdr *ip;
	int protocol = xway_parse_ipv6(cur, &ip);
	__u64 sum = 0;

	if (protocol < 0 && cur->fault != XWAY_TOO_MANY_EXTENSIONS)
		return SINK_WRONG;
	if (xway_is_cut(ctx, cur, ip))
		return SINK_WRONG;
	if (protocol < 0)
		return sink_finding(0);
	if (protocol == IPPROTO_ICMP)
		protocol = IPPROTO_RAW;
	for (int i = 0; i < 4; i++)
		sum += (__u64)ip->saddr.s6_addr32[i] + ip->daddr.s6_addr32[i];
	return sink_transport(ctx, cur, protocol, sum);
}

xway_inline enum sink_finding sink_look(struct xdp_md *ctx, int frags)
{
	struct xway_cursor cur;
	struct ethhdr *eth;

	xway_cursor(&cur, ctx, frags);
	switch (xway_parse_eth(&cur, &eth)) {
	case ETH_P_IP:
		return sink_ipv4(ctx, &cur);
	case ETH_P_IPV6:
		return sink_ipv6(ctx, &cur);
	case -1:
		return sink_finding(cur.fault == XWAY_TRUNCATED);
	default:
		return SINK_RIGHT;
	}
}

#endif
