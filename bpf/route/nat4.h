/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Translation of IPv4 packets; the twin of nat6.h. */
#ifndef ROUTE_NAT4_H
#define ROUTE_NAT4_H

#include "nat.h"

/* The target of one side: first by protocol and port, then by address; `whole` returns which. */
xway_inline struct route_target4 *route_find4(const struct iphdr *ip,
						  const struct route_transport *transport,
						  enum route_side side, int *whole)
{
	struct route_key4 key = {
		.address = side == ROUTE_SOURCE ? ip->saddr : ip->daddr,
		.port = route_side_port(transport, side),
		.protocol = transport->protocol,
		.side = side,
	};
	struct route_target4 *target = NULL;

	*whole = 0;
	if (key.port)
		target = bpf_map_lookup_elem(&route_nat4, &key);
	if (target)
		return target;
	*whole = 1;
	key.port = 0;
	key.protocol = 0;
	return bpf_map_lookup_elem(&route_nat4, &key);
}

xway_inline void route_rewrite4(struct iphdr *ip, struct route_transport *transport,
				  const struct route_target4 *target, enum route_side side)
{
	__be32 from = side == ROUTE_SOURCE ? ip->saddr : ip->daddr;
	__u32 sum = xway_csum_long(0, from, target->address);

	ip->check = xway_csum_apply(ip->check, sum);
	if (side == ROUTE_SOURCE)
		ip->saddr = target->address;
	else
		ip->daddr = target->address;
	route_rewrite_transport(transport, side, target->port, sum);
}

/* Translates one side at most, the destination first. XWAY_FORWARDED: continue. */
xway_inline enum xway_reason route_translate4(struct xway_cursor *cur, struct iphdr *ip)
{
	struct route_transport transport;
	struct route_target4 *target;
	enum xway_reason reason;
	enum route_side side;
	int whole;

	if (route_read_transport(cur, ip->protocol, &transport) < 0)
		return cur->fault;
	side = ROUTE_DESTINATION;
	target = route_find4(ip, &transport, side, &whole);
	if (!target) {
		side = ROUTE_SOURCE;
		target = route_find4(ip, &transport, side, &whole);
	}
	if (!target)
		return route_untranslated(cur);
	reason = route_may_translate(cur, &transport, whole);
	if (reason == XWAY_FORWARDED)
		route_rewrite4(ip, &transport, target, side);
	return reason;
}

#endif
