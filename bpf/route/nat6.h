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

/* The target of an address, with its port on one side of packets; `whole`: without. */
xway_inline struct route_target6 *route_target_of6(const __be32 *address, __be16 port,
						   __u8 protocol, enum route_side side, int *whole)
{
	struct route_key6 key = {
		.port = port,
		.protocol = protocol,
		.side = side,
	};
	struct route_target6 *target = NULL;

	xway_memcpy(key.address, address, sizeof(key.address));
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

/* The target of one side: first by protocol and port, then by address; `whole` returns which. */
xway_inline struct route_target6 *route_find6(struct ipv6hdr *ip,
						  const struct route_transport *transport,
						  enum route_side side, int *whole)
{
	return route_target_of6(route_address6(ip, side), route_side_port(transport, side),
				transport->protocol, side, whole);
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

/* The protocol after an IPv6 header, which has no extension but that of fragments; or -1. */
xway_inline int route_protocol6(struct xway_cursor *cur, const struct ipv6hdr *ip)
{
	if (ip->nexthdr != IPPROTO_FRAGMENT)
		return ip->nexthdr;
	return xway_parse_extension(cur, &xway_protocols[IPPROTO_FRAGMENT]);
}

/*
 * Reads the quote of an ICMP packet, if it is an error. An error is for the sender of the packet
 * that it quotes: any other is not translated. Always 0.
 */
xway_global int route_read_quote6(struct xdp_md *ctx, __u32 arrival)
{
	struct ipv6hdr *ip = route_after_tags(ctx, arrival), *quoted;
	struct xway_cursor cur = { .pos = ip + 1, .end = xway_data_end(ctx) };
	struct xway_scratch *scratch = route_scratch();
	const struct xway_icmp *icmp;
	struct nat_quote *quote;
	int protocol;

	if (!scratch)
		return 0;
	quote = &scratch->quote;
	*quote = (struct nat_quote){};
	if (cur.pos > cur.end)
		return 0;
	cur.left = xway_length(ip->payload_len);
	icmp = xway_take_inner(&cur, sizeof(*icmp));
	if (!icmp || !icmp->type || icmp->type > ROUTE_ICMP6_LAST_ERROR)
		return 0;
	quoted = xway_take_inner(&cur, sizeof(*quoted));
	if (!quoted || quoted->version != 6 || !route_is_same6(&ip->daddr, &quoted->saddr))
		return 0;
	protocol = route_protocol6(&cur, quoted);
	if (protocol < 0)
		return 0;
	xway_memcpy(quote->address[NAT_SOURCE], &quoted->saddr, sizeof(quoted->saddr));
	xway_memcpy(quote->address[NAT_DESTINATION], &quoted->daddr, sizeof(quoted->daddr));
	route_locate(&cur, protocol, quoted, quote);
	return 0;
}

/*
 * Finds the translation of the packet that is quoted: of its source if it was a reply, or of its
 * destination. Always 0.
 */
xway_global int route_find_quote6(void)
{
	struct xway_scratch *scratch = route_scratch();
	enum route_side field = ROUTE_SOURCE;
	struct route_target6 *target;
	struct nat_quote *quote;
	int whole;

	if (!scratch)
		return 0;
	quote = &scratch->quote;
	target = route_target_of6(quote->address[NAT_SOURCE], quote->port[NAT_SOURCE],
				  quote->protocol, ROUTE_DESTINATION, &whole);
	if (!target) {
		field = ROUTE_DESTINATION;
		target = route_target_of6(quote->address[NAT_DESTINATION],
					  quote->port[NAT_DESTINATION], quote->protocol,
					  ROUTE_SOURCE, &whole);
	}
	if (!target || (quote->is_fragment && !whole)) {
		quote->is_translated = 0;
		return 0;
	}
	quote->target = *target;
	route_select(quote, field, 1);
	return 0;
}

/* Translates the quote, and the receiver or the sender of the error. Always 0. */
xway_global int route_rewrite_quote6(struct xdp_md *ctx, __u32 arrival)
{
	return route_rewrite_quote(ctx, arrival, 1);
}

/* Translates an ICMP error by what it quotes; 0 if this has no translation. */
xway_inline int route_translate_error6(struct xdp_md *ctx, __u32 arrival)
{
	struct xway_scratch *scratch = route_scratch();
	const struct nat_quote *quote;

	if (!scratch)
		return 0;
	quote = &scratch->quote;
	route_read_quote6(ctx, arrival);
	if (!*(const volatile __u32 *)&quote->is_translated)
		return 0;
	route_find_quote6();
	if (!*(const volatile __u32 *)&quote->is_translated)
		return 0;
	route_rewrite_quote6(ctx, arrival);
	return 1;
}

/*
 * Translates one side at most, the destination first; an ICMP error by its quote. Packets have no
 * options. Returns a reason, XWAY_FORWARDED to continue, or ROUTE_TRANSLATED.
 */
xway_inline __u32 route_translation6(struct xdp_md *ctx, __u32 arrival)
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
	if (protocol == IPPROTO_ICMPV6 && !xway_is_fragment(&cur) &&
	    route_translate_error6(ctx, arrival))
		return XWAY_FORWARDED;
	if (route_read_transport(&cur, protocol, &transport) < 0)
		return cur.fault;
	target = route_find6(ip, &transport, side, &whole);
	if (!target) {
		side = ROUTE_SOURCE;
		target = route_find6(ip, &transport, side, &whole);
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

/* As above; the result is in the scratch memory. */
xway_global int route_translate6(struct xdp_md *ctx)
{
	struct xway_scratch *scratch = route_scratch();
	__u32 arrival;

	if (!scratch)
		return 0;
	arrival = *(volatile __u32 *)&scratch->arrival;
	scratch->translation = route_translation6(ctx, arrival);
	return 0;
}

#endif
