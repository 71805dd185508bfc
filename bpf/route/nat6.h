/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Translation of IPv6 packets; the twin of nat4.h. */
#ifndef ROUTE_NAT6_H
#define ROUTE_NAT6_H

#include "before.h"
#include "nat.h"
#include "quote.h"

xway_inline __be32 *route_address6(struct ipv6hdr *ip, enum route_side side)
{
	return side == ROUTE_SOURCE ? ip->saddr.in6_u.u6_addr32 : ip->daddr.in6_u.u6_addr32;
}

/*
 * The target of one side by the field of a packet that it is for: first by protocol and port, then
 * by address; `whole` returns which. In a quote, the field is on the other side.
 */
xway_inline struct route_target6 *route_find6(struct ipv6hdr *ip,
						  const struct route_transport *transport,
						  enum route_side field, enum route_side side,
						  int *whole)
{
	struct route_key6 key = {
		.port = route_side_port(transport, field),
		.protocol = transport->protocol,
		.side = side,
	};
	struct route_target6 *target = NULL;

	xway_memcpy(key.address, route_address6(ip, field), sizeof(key.address));
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

xway_inline int route_is_same6(const struct in6_addr *one, const struct in6_addr *other)
{
	const __u64 *first = (const void *)one, *second = (const void *)other;

	return !((first[0] ^ second[0]) | (first[1] ^ second[1]));
}

/* Translates an error and the packet that it quotes; 0 if this has no translation. */
xway_inline int route_translate_quote6(struct ipv6hdr *ip, struct xway_icmp *icmp,
					 struct ipv6hdr *quoted, struct route_transport *transport,
					 int is_fragment)
{
	struct route_transport outer = { .protocol = IPPROTO_ICMPV6, .check = &icmp->check };
	enum route_side field = ROUTE_SOURCE, other = ROUTE_DESTINATION;
	struct route_target6 *target;
	__u16 sum;
	int whole;

	target = route_find6(quoted, transport, field, other, &whole);
	if (!target) {
		field = ROUTE_DESTINATION;
		other = ROUTE_SOURCE;
		target = route_find6(quoted, transport, field, other, &whole);
	}
	if (!target || (is_fragment && !whole))
		return 0;
	sum = route_sum_quote(quoted, 10, transport);
	route_rewrite6(quoted, transport, target, field);
	sum = xway_csum_fold(xway_csum_word(0, sum, route_sum_quote(quoted, 10, transport)));
	icmp->check = xway_csum_apply(icmp->check, sum);
	route_rewrite6(ip, &outer, target, other);
	return 1;
}

/* The protocol after an IPv6 header, which has no extension but that of fragments; or -1. */
xway_inline int route_protocol6(struct xway_cursor *cur, const struct ipv6hdr *ip)
{
	if (ip->nexthdr != IPPROTO_FRAGMENT)
		return ip->nexthdr;
	return xway_parse_extension(cur, &xway_protocols[IPPROTO_FRAGMENT]);
}

/*
 * Translates a packet at whose ICMP header the cursor is, if it is an error, by what it quotes; 0 if
 * this has no translation. An error is for the sender of the packet that it quotes: any other is not
 * translated.
 */
xway_inline int route_translate_error6(struct xway_cursor cur, struct ipv6hdr *ip)
{
	struct xway_icmp *icmp = xway_take_inner(&cur, sizeof(*icmp));
	struct route_transport transport;
	struct ipv6hdr *quoted;
	int protocol;

	if (!icmp || !icmp->type || icmp->type > ROUTE_ICMP6_LAST_ERROR)
		return 0;
	quoted = xway_take_inner(&cur, sizeof(*quoted));
	if (!quoted || quoted->version != 6 || !route_is_same6(&ip->daddr, &quoted->saddr))
		return 0;
	protocol = route_protocol6(&cur, quoted);
	if (protocol < 0 || !route_read_quote(&cur, protocol, &transport))
		return 0;
	return route_translate_quote6(ip, icmp, quoted, &transport, xway_is_fragment(&cur));
}

/*
 * Translates one side at most, the destination first; an ICMP error by its quote. Packets have no
 * options. Returns a reason, XWAY_FORWARDED to continue, or ROUTE_TRANSLATED. A function of its
 * own, so that what follows is verified once, not for each protocol.
 */
xway_global int route_translate6(struct xdp_md *ctx, __u32 arrival)
{
	struct xway_cursor cur = {
		.pos = route_after_tags(ctx, arrival),
		.end = xway_data_end(ctx),
	};
	enum route_side side = ROUTE_DESTINATION;
	struct route_transport transport;
	struct route_target6 *target;
	enum xway_reason reason;
	struct ipv6hdr *ip;
	int protocol, whole;

	ip = xway_take(&cur, sizeof(*ip));
	if (!ip)
		return cur.fault;
	cur.left = xway_length(ip->payload_len);
	protocol = route_protocol6(&cur, ip);
	if (protocol < 0)
		return cur.fault;
	if (protocol == IPPROTO_ICMPV6 && !xway_is_fragment(&cur) && route_translate_error6(cur, ip))
		return XWAY_FORWARDED;
	if (route_read_transport(&cur, protocol, &transport) < 0)
		return cur.fault;
	target = route_find6(ip, &transport, side, side, &whole);
	if (!target) {
		side = ROUTE_SOURCE;
		target = route_find6(ip, &transport, side, side, &whole);
	}
	if (!target)
		return route_untranslated(&cur);
	reason = route_may_translate(&cur, &transport, whole);
	if (reason != XWAY_FORWARDED)
		return reason;
	route_keep(ip, &transport, side, route_address6(ip, side), 1);
	route_rewrite6(ip, &transport, target, side);
	return ROUTE_TRANSLATED;
}

#endif
