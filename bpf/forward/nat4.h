/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Translation of IPv4 packets; the twin of nat6.h. */
#ifndef FORWARD_NAT4_H
#define FORWARD_NAT4_H

#include "nat.h"

/* The target of one side: first by protocol and port, then by address; `whole` returns which. */
xway_inline struct forward_target4 *forward_find4(const struct iphdr *ip,
						  const struct forward_transport *transport,
						  enum forward_side side, int *whole)
{
	struct forward_key4 key = {
		.address = side == FORWARD_SOURCE ? ip->saddr : ip->daddr,
		.port = forward_port(transport, side),
		.protocol = transport->protocol,
		.side = side,
	};
	struct forward_target4 *target = NULL;

	*whole = 0;
	if (key.port)
		target = bpf_map_lookup_elem(&forward_nat4, &key);
	if (target)
		return target;
	*whole = 1;
	key.port = 0;
	key.protocol = 0;
	return bpf_map_lookup_elem(&forward_nat4, &key);
}

xway_inline void forward_rewrite4(struct iphdr *ip, struct forward_transport *transport,
				  const struct forward_target4 *target, enum forward_side side)
{
	__be32 from = side == FORWARD_SOURCE ? ip->saddr : ip->daddr;
	__u32 sum = xway_csum_long(0, from, target->address);

	ip->check = xway_csum_apply(ip->check, sum);
	if (side == FORWARD_SOURCE)
		ip->saddr = target->address;
	else
		ip->daddr = target->address;
	forward_rewrite_transport(transport, side, target->port, sum);
}

/* Translates one side at most, the destination first. XWAY_FORWARDED: continue. */
xway_inline enum xway_reason forward_translate4(struct xway_cursor *cur, struct iphdr *ip)
{
	struct forward_transport transport;
	struct forward_target4 *target;
	enum xway_reason reason;
	enum forward_side side;
	int whole;

	if (forward_read_transport(cur, ip->protocol, &transport) < 0)
		return cur->fault;
	side = FORWARD_DESTINATION;
	target = forward_find4(ip, &transport, side, &whole);
	if (!target) {
		side = FORWARD_SOURCE;
		target = forward_find4(ip, &transport, side, &whole);
	}
	if (!target)
		return forward_untranslated(cur);
	reason = forward_may_translate(cur, &transport, whole);
	if (reason == XWAY_FORWARDED)
		forward_rewrite4(ip, &transport, target, side);
	return reason;
}

#endif
