/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Translation of IPv6 packets; the twin of nat4.h. */
#ifndef ROUTE_NAT6_H
#define ROUTE_NAT6_H

#include "nat.h"

xway_inline __be32 *route_address6(struct ipv6hdr *ip, enum route_side side)
{
	return side == ROUTE_SOURCE ? ip->saddr.in6_u.u6_addr32 : ip->daddr.in6_u.u6_addr32;
}

/* The target of one side: first by protocol and port, then by address; `whole` returns which. */
xway_inline struct route_target6 *route_find6(struct ipv6hdr *ip,
						  const struct route_transport *transport,
						  enum route_side side, int *whole)
{
	struct route_key6 key = {
		.port = route_side_port(transport, side),
		.protocol = transport->protocol,
		.side = side,
	};
	struct route_target6 *target = NULL;

	xway_memcpy(key.address, route_address6(ip, side), sizeof(key.address));
	*whole = 0;
	if (key.port)
		target = bpf_map_lookup_elem(&route_nat6, &key);
	if (target)
		return target;
	*whole = 1;
	key.port = 0;
	key.protocol = 0;
	return bpf_map_lookup_elem(&route_nat6, &key);
}

xway_inline void route_rewrite6(struct ipv6hdr *ip, struct route_transport *transport,
				  const struct route_target6 *target, enum route_side side)
{
	__be32 *address = route_address6(ip, side);
	__u32 sum = xway_csum_ipv6(0, address, target->address);

	xway_memcpy(address, target->address, sizeof(target->address));
	route_rewrite_transport(transport, side, target->port, sum);
}

/* Translates one side at most, the destination first. XWAY_FORWARDED: continue. */
xway_inline enum xway_reason route_translate6(struct xway_cursor *cur, struct ipv6hdr *ip,
						int protocol)
{
	struct route_transport transport;
	struct route_target6 *target;
	enum xway_reason reason;
	enum route_side side;
	int whole;

	if (route_read_transport(cur, protocol, &transport) < 0)
		return cur->fault;
	side = ROUTE_DESTINATION;
	target = route_find6(ip, &transport, side, &whole);
	if (!target) {
		side = ROUTE_SOURCE;
		target = route_find6(ip, &transport, side, &whole);
	}
	if (!target)
		return route_untranslated(cur);
	reason = route_may_translate(cur, &transport, whole);
	if (reason == XWAY_FORWARDED)
		route_rewrite6(ip, &transport, target, side);
	return reason;
}

#endif
