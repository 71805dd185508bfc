/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Translation of IPv4 packets; the twin of nat6.h. */
#ifndef ROUTE_NAT4_H
#define ROUTE_NAT4_H

#include "before.h"
#include "nat.h"
#include "quote.h"

/*
 * The target of one side by the field of a packet that it is for: first by protocol and port, then
 * by address; `whole` returns which. In a quote, the field is on the other side.
 */
xway_inline struct route_target4 *route_find4(const struct iphdr *ip,
						  const struct route_transport *transport,
						  enum route_side field, enum route_side side,
						  int *whole)
{
	struct route_key4 key = {
		.address = field == ROUTE_SOURCE ? ip->saddr : ip->daddr,
		.port = route_side_port(transport, field),
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

/* Translates an error and the packet that it quotes; 0 if this has no translation. */
xway_inline int route_translate_quote4(struct iphdr *ip, struct xway_icmp *icmp,
					 struct iphdr *quoted, struct route_transport *transport,
					 int is_fragment)
{
	struct route_transport outer = {};
	enum route_side field = ROUTE_SOURCE, other = ROUTE_DESTINATION;
	struct route_target4 *target;
	__u16 sum;
	int whole;

	target = route_find4(quoted, transport, field, other, &whole);
	if (!target) {
		field = ROUTE_DESTINATION;
		other = ROUTE_SOURCE;
		target = route_find4(quoted, transport, field, other, &whole);
	}
	if (!target || (is_fragment && !whole))
		return 0;
	sum = route_sum_quote(quoted, 5, transport);
	route_rewrite4(quoted, transport, target, field);
	sum = xway_csum_fold(xway_csum_word(0, sum, route_sum_quote(quoted, 5, transport)));
	icmp->check = xway_csum_apply(icmp->check, sum);
	route_rewrite4(ip, &outer, target, other);
	return 1;
}

/* As the cursor has it. */
xway_inline __u32 route_fragment4(const struct iphdr *ip)
{
	__u32 fragment = xway_ntohs(ip->frag_off);

	return (fragment & XWAY_OFFSET4) << 3 | (fragment & XWAY_MORE4) >> 13;
}

/*
 * Translates a packet at whose ICMP header the cursor is, if it is an error, by what it quotes; 0 if
 * this has no translation. An error is for the sender of the packet that it quotes: any other is not
 * translated.
 */
xway_inline int route_translate_error4(struct xway_cursor cur, struct iphdr *ip)
{
	struct xway_icmp *icmp = xway_take_inner(&cur, sizeof(*icmp));
	struct route_transport transport;
	struct iphdr *quoted;

	if (!icmp || icmp->type > 15 || !(ROUTE_ICMP_ERRORS >> (icmp->type & 15) & 1))
		return 0;
	quoted = xway_take_inner(&cur, sizeof(*quoted));
	if (!quoted || quoted->version != 4 || quoted->ihl != 5 || ip->daddr != quoted->saddr)
		return 0;
	cur.fragment = route_fragment4(quoted);
	if (!route_read_quote(&cur, quoted->protocol, &transport))
		return 0;
	return route_translate_quote4(ip, icmp, quoted, &transport, xway_is_fragment(&cur));
}

/*
 * Translates one side at most, the destination first; an ICMP error by its quote. Packets have no
 * options. Returns a reason, XWAY_FORWARDED to continue, or ROUTE_TRANSLATED. A function of its
 * own, so that what follows is verified once, not for each protocol.
 */
xway_global int route_translate4(struct xdp_md *ctx, __u32 arrival)
{
	struct xway_cursor cur = {
		.pos = route_after_tags(ctx, arrival),
		.end = xway_data_end(ctx),
	};
	enum route_side side = ROUTE_DESTINATION;
	struct route_transport transport;
	struct route_target4 *target;
	enum xway_reason reason;
	struct iphdr *ip;
	int protocol, whole;

	ip = xway_take(&cur, sizeof(*ip));
	if (!ip)
		return cur.fault;
	protocol = ip->protocol;
	cur.left = xway_length(ip->tot_len) - sizeof(*ip);
	cur.fragment = route_fragment4(ip);
	if (protocol == IPPROTO_ICMP && !xway_is_fragment(&cur) && route_translate_error4(cur, ip))
		return XWAY_FORWARDED;
	if (route_read_transport(&cur, protocol, &transport) < 0)
		return cur.fault;
	target = route_find4(ip, &transport, side, side, &whole);
	if (!target) {
		side = ROUTE_SOURCE;
		target = route_find4(ip, &transport, side, side, &whole);
	}
	if (!target)
		return route_untranslated(&cur);
	reason = route_may_translate(&cur, &transport, whole);
	if (reason != XWAY_FORWARDED)
		return reason;
	route_keep(ip, &transport, side, side == ROUTE_SOURCE ? &ip->saddr : &ip->daddr, 0);
	route_rewrite4(ip, &transport, target, side);
	return ROUTE_TRANSLATED;
}

#endif
