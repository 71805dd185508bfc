/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Translation of IPv4 packets; the twin of nat6.h. */
#ifndef ROUTE_NAT4_H
#define ROUTE_NAT4_H

#include "before.h"
#include "nat.h"
#include "quote.h"

/* The target of an address, with its port on one side of packets; `whole`: without. */
xway_inline struct route_target4 *route_target_of4(__be32 address, __be16 port, __u8 protocol,
						   enum route_side side, int *whole)
{
	struct route_key4 key = {
		.address = address,
		.port = port,
		.protocol = protocol,
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

/* The target of one side: first by protocol and port, then by address; `whole` returns which. */
xway_inline struct route_target4 *route_find4(const struct iphdr *ip,
						  const struct route_transport *transport,
						  enum route_side side, int *whole)
{
	return route_target_of4(side == ROUTE_SOURCE ? ip->saddr : ip->daddr,
				route_side_port(transport, side), transport->protocol, side, whole);
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

/* As the cursor has it. */
xway_inline __u32 route_fragment4(const struct iphdr *ip)
{
	__u32 fragment = xway_ntohs(ip->frag_off);

	return (fragment & XWAY_OFFSET4) << 3 | (fragment & XWAY_MORE4) >> 13;
}

/*
 * Reads the quote of an ICMP packet, if it is an error. An error is for the sender of the packet
 * that it quotes: any other is not translated. Always 0.
 */
xway_global int route_read_quote4(struct xdp_md *ctx, __u32 arrival)
{
	struct iphdr *ip = route_after_tags(ctx, arrival), *quoted;
	struct xway_cursor cur = { .pos = ip + 1, .end = xway_data_end(ctx) };
	struct xway_scratch *scratch = route_scratch();
	const struct xway_icmp *icmp;
	struct nat_quote *quote;

	if (!scratch)
		return 0;
	quote = &scratch->quote;
	*quote = (struct nat_quote){};
	if (cur.pos > cur.end)
		return 0;
	cur.left = xway_length(ip->tot_len) - sizeof(*ip);
	icmp = xway_take_inner(&cur, sizeof(*icmp));
	if (!icmp || icmp->type > 15 || !(ROUTE_ICMP_ERRORS >> (icmp->type & 15) & 1))
		return 0;
	quoted = xway_take_inner(&cur, sizeof(*quoted));
	if (!quoted || *(__u8 *)quoted != 0x45 || ip->daddr != quoted->saddr)
		return 0;
	cur.fragment = route_fragment4(quoted);
	quote->address[NAT_SOURCE][0] = quoted->saddr;
	quote->address[NAT_DESTINATION][0] = quoted->daddr;
	route_locate(&cur, quoted->protocol, quoted, quote);
	return 0;
}

/*
 * Finds the translation of the packet that is quoted: of its source if it was a reply, or of its
 * destination. Always 0.
 */
xway_global int route_find_quote4(void)
{
	struct xway_scratch *scratch = route_scratch();
	enum route_side field = ROUTE_SOURCE;
	struct route_target4 *target;
	struct nat_quote *quote;
	int whole;

	if (!scratch)
		return 0;
	quote = &scratch->quote;
	target = route_target_of4(quote->address[NAT_SOURCE][0], quote->port[NAT_SOURCE],
				  quote->protocol, ROUTE_DESTINATION, &whole);
	if (!target) {
		field = ROUTE_DESTINATION;
		target = route_target_of4(quote->address[NAT_DESTINATION][0],
					  quote->port[NAT_DESTINATION], quote->protocol,
					  ROUTE_SOURCE, &whole);
	}
	if (!target || (quote->is_fragment && !whole)) {
		quote->is_translated = 0;
		return 0;
	}
	quote->target.address[0] = target->address;
	quote->target.port = target->port;
	route_select(quote, field, 0);
	return 0;
}

/* Translates the quote, and the receiver or the sender of the error. Always 0. */
xway_global int route_rewrite_quote4(struct xdp_md *ctx, __u32 arrival)
{
	return route_rewrite_quote(ctx, arrival, 0);
}

/* Translates an ICMP error by what it quotes; 0 if this has no translation. */
xway_inline int route_translate_error4(struct xdp_md *ctx, __u32 arrival)
{
	struct xway_scratch *scratch = route_scratch();
	const struct nat_quote *quote;

	if (!scratch)
		return 0;
	quote = &scratch->quote;
	route_read_quote4(ctx, arrival);
	if (!*(const volatile __u32 *)&quote->is_translated)
		return 0;
	route_find_quote4();
	if (!*(const volatile __u32 *)&quote->is_translated)
		return 0;
	route_rewrite_quote4(ctx, arrival);
	return 1;
}

/*
 * Translates one side at most, the destination first; an ICMP error by its quote. Packets have no
 * options. Returns a reason, XWAY_FORWARDED to continue, or ROUTE_TRANSLATED.
 */
xway_inline __u32 route_translation4(struct xdp_md *ctx, __u32 arrival)
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
	if (protocol == IPPROTO_ICMP && !xway_is_fragment(&cur) &&
	    route_translate_error4(ctx, arrival))
		return XWAY_FORWARDED;
	if (route_read_transport(&cur, protocol, &transport) < 0)
		return cur.fault;
	target = route_find4(ip, &transport, side, &whole);
	if (!target) {
		side = ROUTE_SOURCE;
		target = route_find4(ip, &transport, side, &whole);
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

/* As above; the result is in the scratch memory. */
xway_global int route_translate4(struct xdp_md *ctx)
{
	struct xway_scratch *scratch = route_scratch();
	__u32 arrival;

	if (!scratch)
		return 0;
	arrival = *(volatile __u32 *)&scratch->arrival;
	scratch->translation = route_translation4(ctx, arrival);
	return 0;
}

#endif
