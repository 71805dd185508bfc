/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* ICMPv6 errors about IPv6 packets (RFC 4443); the twin of icmp4.h. */
#ifndef ROUTE_ICMP6_H
#define ROUTE_ICMP6_H

#include "icmp.h"

/* Types from here on are not errors. */
#define ROUTE_INFORMATION6 128

/* The smallest MTU of IPv6, and the longest error (RFC 4443, section 2.4 c). */
#define ROUTE_MIN_MTU6 1280
#define ROUTE_HEADERS6 (sizeof(struct ipv6hdr) + sizeof(struct xway_icmp))
#define ROUTE_QUOTE6 (ROUTE_MIN_MTU6 - ROUTE_HEADERS6)

/* States the MTU; 0 if the packet fits into the smallest one, or does without its padding. */
xway_inline int route_is_too_big6(struct icmp_error *error, const struct ipv6hdr *ip, __u32 mtu)
{
	const struct route_control *state = route_state();

	mtu = mtu < ROUTE_MIN_MTU6 ? ROUTE_MIN_MTU6 : mtu;
	error->rest = xway_htonl(mtu);
	/* Only the stack knows the MTU that a route has of its own. */
	return xway_length(ip->payload_len) + sizeof(*ip) > mtu && state && !state->route_mtu6;
}

/*
 * No error may be sent about the packet, because it is an ICMPv6 error (RFC 4443, section 2.4 e).
 * As for the stack, later fragments are none: their first header is not in them.
 */
xway_inline int route_is_unanswerable6(const struct ipv6hdr *ip, const void *end)
{
	const struct xway_extension *fragment = (const void *)(ip + 1);
	const __u8 *type = (const void *)fragment;
	__u8 next = ip->nexthdr;

	if (next == IPPROTO_FRAGMENT) {
		if ((const void *)(fragment + 1) > end)
			return 1;
		if (fragment->offset & xway_htons(XWAY_OFFSET6))
			return 0;
		next = fragment->next;
		type = (const void *)(fragment + 1);
	}
	if (next != IPPROTO_ICMPV6)
		return 0;
	if ((const void *)(type + 1) > end || !ip->payload_len)
		return 1;
	return *type < ROUTE_INFORMATION6;
}

/* The IP header of the error about the quoted packet. */
xway_inline void route_write_ip6(struct ipv6hdr *ip, const struct ipv6hdr *quoted, __u32 length,
				 const void *source)
{
	*(__be32 *)ip = xway_htonl(6 << 28);
	ip->payload_len = xway_htons(length - sizeof(*ip));
	ip->nexthdr = IPPROTO_ICMPV6;
	ip->hop_limit = ROUTE_ICMP_TTL;
	xway_memcpy(&ip->saddr, source, sizeof(ip->saddr));
	xway_memcpy(&ip->daddr, &quoted->saddr, sizeof(ip->daddr));
}

/* The sum of the pseudo-header of the error. */
xway_inline __u64 route_sum_pseudo6(const struct ipv6hdr *ip)
{
	const __u32 *words = (const __u32 *)&ip->saddr;
	__u64 sum = (__u64)ip->payload_len + xway_htons(IPPROTO_ICMPV6);

	xway_unroll
	for (int i = 0; i < 8; i++)
		sum += words[i];
	return sum;
}

/* The network whose errors are limited. */
xway_inline __u64 route_network6(const struct ipv6hdr *ip)
{
	__u64 network;

	xway_memcpy(&network, &ip->saddr, sizeof(network));
	/* Apart from networks of IPv4. */
	return (network & 0xffffffffffff) | 1ULL << 63;
}

/* By what the route to the sender is found. */
xway_inline void route_ask_sender6(struct bpf_fib_lookup *back, const struct ipv6hdr *ip)
{
	xway_memcpy(back->ipv6_dst, &ip->saddr, sizeof(back->ipv6_dst));
	back->family = XWAY_AF_INET6;
	back->l4_protocol = IPPROTO_ICMPV6;
}

#endif
