/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* ICMP errors about IPv4 packets (RFC 792, RFC 1191, RFC 1812); the twin of icmp6.h. */
#ifndef ROUTE_ICMP4_H
#define ROUTE_ICMP4_H

#include "icmp.h"

#define ROUTE_DONT_FRAGMENT4 0x4000
/* Internetwork control (RFC 1812, section 4.3.2.5), and the bits of TOS that are kept. */
#define ROUTE_CONTROL4 0xc0
#define ROUTE_TOS4 0x1e

/* An error has at most 576 bytes (RFC 1812, section 4.3.2.3). */
#define ROUTE_HEADERS4 (sizeof(struct iphdr) + sizeof(struct xway_icmp))
#define ROUTE_QUOTE4 (576 - ROUTE_HEADERS4)

/* States the MTU; 0 if the packet may be fragmented, which the stack does. */
xway_inline int route_is_too_big4(struct icmp_error *error, const struct iphdr *ip, __u32 mtu)
{
	const struct route_control *state = route_state();

	error->rest = xway_htonl(mtu & 0xffff);
	/* Only the stack knows the MTU that a route has of its own. */
	return xway_length(ip->tot_len) > mtu && state && !state->route_mtu4 &&
	       ip->frag_off & xway_htons(ROUTE_DONT_FRAGMENT4);
}

/*
 * No error may be sent about the packet (RFC 1122, section 3.2.2): it is a fragment other than the
 * first, or an ICMP message that is an error or unknown.
 */
xway_inline int route_is_unanswerable4(const struct iphdr *ip, const void *end)
{
	const __u8 *type = (const void *)(ip + 1);
	/*
	 * Destination unreachable, source quench, redirect, time exceeded, parameter problem;
	 * and, as for the stack, types that are not assigned, router advertisement and
	 * solicitation.
	 */
	__u32 errors = 0x1efe;

	if (ip->frag_off & xway_htons(XWAY_OFFSET4))
		return 1;
	if (ip->protocol != IPPROTO_ICMP)
		return 0;
	if ((const void *)(type + 1) > end || xway_length(ip->tot_len) <= sizeof(*ip))
		return 1;
	return *type > 18 || (errors >> (*type & 31) & 1);
}

/* The IP header of the error about the quoted packet. */
xway_inline void route_write_ip4(struct iphdr *ip, const struct iphdr *quoted, __u32 length,
				 __be32 source)
{
	const __u32 *words = (const __u32 *)ip;
	__u64 sum = 0;

	ip->version = 4;
	ip->ihl = 5;
	ip->tos = (quoted->tos & ROUTE_TOS4) | ROUTE_CONTROL4;
	ip->tot_len = xway_htons(length);
	ip->id = bpf_get_prandom_u32();
	ip->frag_off = 0;
	ip->ttl = ROUTE_ICMP_TTL;
	ip->protocol = IPPROTO_ICMP;
	ip->check = 0;
	ip->saddr = source;
	ip->daddr = quoted->saddr;
	xway_unroll
	for (int i = 0; i < 5; i++)
		sum += words[i];
	ip->check = ~xway_csum_fold(sum);
}

/* The network whose errors are limited. */
xway_inline __u64 route_network4(const struct iphdr *ip)
{
	return ip->saddr & xway_htonl(0xffffff00);
}

/* By what the route to the sender is found. */
xway_inline void route_ask_sender4(struct bpf_fib_lookup *back, const struct iphdr *ip)
{
	back->tos = (ip->tos & ROUTE_TOS4) | ROUTE_CONTROL4;
	back->ipv4_dst = ip->saddr;
	back->family = XWAY_AF_INET;
	back->l4_protocol = IPPROTO_ICMP;
}

#endif
