/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Which addresses packets may have that are routed, and whether an IPv4 header is intact. */
#ifndef ROUTE_ADDRESS_H
#define ROUTE_ADDRESS_H

#include "route.abi.h"

#include <xway/bpf.h>
#include <xway/csum.h>
#include <xway/parse.h>

/* First byte of an IPv4 address in network order. */
xway_inline __u32 route_net(__be32 address)
{
	return address & 0xff;
}

/* Unspecified, loopback, multicast and reserved networks are never routed. */
xway_inline int route_routable4(__be32 address)
{
	__u32 net = route_net(address);

	return net - 1 < 223 && net != 127;
}

/*
 * As above, and link-local. ::/96 holds the unspecified and the loopback address; the stack drops
 * what comes from IPv4 addresses in IPv6 (::ffff:0:0/96).
 */
xway_inline int route_routable6(const struct in6_addr *address)
{
	const __be32 *word = address->in6_u.u6_addr32;

	if ((word[0] & 0xff) == 0xff)
		return 0;
	if ((word[0] & xway_htonl(0xffc00000)) == xway_htonl(0xfe800000))
		return 0;
	if (word[0] | word[1])
		return 1;
	return word[2] && word[2] != xway_htonl(0xffff);
}

/* The checksum of a header without options is right: the stack drops the packet where it is not. */
xway_inline int route_is_sound4(const struct iphdr *ip)
{
	const __u32 *words = (const __u32 *)ip;
	__u64 sum = 0;

	xway_unroll
	for (int i = 0; i < 5; i++)
		sum += words[i];
	return xway_csum_fold(sum) == 0xffff;
}

#endif
