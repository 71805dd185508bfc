/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Translation of IPv6 packets; the twin of nat4.h. */
#ifndef FORWARD_NAT6_H
#define FORWARD_NAT6_H

#include "nat.h"

xway_inline __be32 *forward_address6(struct ipv6hdr *ip, enum forward_side side)
{
	return side == FORWARD_SOURCE ? ip->saddr.in6_u.u6_addr32 : ip->daddr.in6_u.u6_addr32;
}

/* The target of one side: first by protocol and port, then by address; `whole` returns which. */
xway_inline struct forward_target6 *forward_find6(struct ipv6hdr *ip,
						  const struct forward_transport *transport,
						  enum forward_side side, int *whole)
{
	struct forward_key6 key = {
		.port = forward_port(transport, side),
		.protocol = transport->protocol,
		.side = side,
	};
	struct forward_target6 *target = NULL;

	xway_memcpy(key.address, forward_address6(ip, side), sizeof(key.address));
	*whole = 0;
	if (key.port)
		target = bpf_map_lookup_elem(&forward_nat6, &key);
	if (target)
		return target;
	*whole = 1;
	key.port = 0;
	key.protocol = 0;
	return bpf_map_lookup_elem(&forward_nat6, &key);
}

xway_inline void forward_rewrite6(struct ipv6hdr *ip, struct forward_transport *transport,
				  const struct forward_target6 *target, enum forward_side side)
{
	__be32 *address = forward_address6(ip, side);
	__u32 sum = xway_csum_ipv6(0, address, target->address);

	xway_memcpy(address, target->address, sizeof(target->address));
	forward_rewrite_transport(transport, side, target->port, sum);
}

/* Translates one side at most, the destination first. XWAY_FORWARDED: continue. */
xway_inline enum xway_reason forward_translate6(struct xway_cursor *cur, struct ipv6hdr *ip,
						int protocol)
{
	struct forward_transport transport;
	struct forward_target6 *target;
	enum xway_reason reason;
	enum forward_side side;
	int whole;

	if (forward_read_transport(cur, protocol, &transport) < 0)
		return cur->fault;
	side = FORWARD_DESTINATION;
	target = forward_find6(ip, &transport, side, &whole);
	if (!target) {
		side = FORWARD_SOURCE;
		target = forward_find6(ip, &transport, side, &whole);
	}
	if (!target)
		return forward_untranslated(cur);
	reason = forward_may_translate(cur, &transport, whole);
	if (reason == XWAY_FORWARDED)
		forward_rewrite6(ip, &transport, target, side);
	return reason;
}

#endif
