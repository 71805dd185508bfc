/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * ICMP errors about translated packets: what both families need. nat4.h and nat6.h translate them.
 *
 * The error comes from beyond the router and quotes the packet as it was after its translation. It
 * is translated back as Linux' NAT does: in the quote, and the error's receiver, or its sender,
 * which then is the address that the quoted packet was sent to.
 * Rule: the quote decides. It needs the IP header and eight bytes more (RFC 792), no options, and a
 * protocol that is translated; any other error is treated as without a quote.
 * Rule: each step is a function that leaves its result in the scratch memory, so that the verifier
 * follows all results of a step together.
 */
#ifndef ROUTE_QUOTE_H
#define ROUTE_QUOTE_H

#include "route.abi.h"

#include <xway/bpf.h>
#include <xway/csum.h>
#include <xway/parse.h>

#include "nat.h"
#include "port.h"
#include "scratch.h"

/*
 * Errors that quote a packet. ICMP: destination unreachable, source quench, time exceeded,
 * parameter problem, by bits; not redirects, which are between neighbors. ICMPv6: types to 4.
 */
#define ROUTE_ICMP_ERRORS 0x1818
#define ROUTE_ICMP6_LAST_ERROR 4

/* Bytes of the transport header that every quote has. */
#define ROUTE_QUOTED 8

/* What is translated of a protocol in a quote. */
struct nat_protocol {
	/* 0 for other protocols. */
	__u8 is_known;
	__u8 has_ports;
	/* Offset of the checksum, 0 for none, and the bytes that the quote must have for it. */
	__u8 check_at;
	__u8 check_bytes;
	/* Types of ICMP that are translated. */
	__u8 request;
	__u8 reply;
};

/* A table rather than branches, which the verifier would follow together with all that is after. */
static const struct nat_protocol nat_protocols[256] = {
	[IPPROTO_TCP] = { 1, 1, __builtin_offsetof(struct tcphdr, check), sizeof(struct tcphdr),
			  0, 0 },
	[IPPROTO_UDP] = { 1, 1, __builtin_offsetof(struct udphdr, check), sizeof(struct udphdr),
			  0, 0 },
	[IPPROTO_ICMP] = { 1, 0, 0, 0, ROUTE_ICMP_REQUEST, ROUTE_ICMP_REPLY },
	[IPPROTO_ICMPV6] = { 1, 0, __builtin_offsetof(struct xway_icmp, check), ROUTE_QUOTED,
			     ROUTE_ICMP6_REQUEST, ROUTE_ICMP6_REPLY },
};

/* Writes where the ports and the checksum are in a quote, if the protocol is translated. */
xway_inline void route_locate(struct xway_cursor *cur, int protocol, const void *quoted,
			      struct nat_quote *quote)
{
	const struct nat_protocol *kind = &nat_protocols[protocol & 0xff];
	__u32 at = cur->pos - quoted, left = cur->left, short_of, other;
	const __be32 *ports = xway_take_inner(cur, ROUTE_QUOTED);
	__u32 is_later = xway_is_later_fragment(cur);

	quote->protocol = protocol;
	quote->is_fragment = xway_is_fragment(cur);
	/* Later fragments have no transport header. */
	if (is_later || !ports) {
		quote->is_translated = is_later;
		return;
	}
	short_of = (left - kind->check_bytes) >> 31;
	other = (*(const __u8 *)ports ^ kind->request) * (*(const __u8 *)ports ^ kind->reply);
	xway_opaque(short_of);
	xway_opaque(other);
	quote->is_translated = kind->is_known & (kind->has_ports | !other);
	quote->ports_at = kind->has_ports * at;
	quote->check_at = kind->check_at && !short_of ? at + kind->check_at : 0;
	*(__be32 *)quote->port = kind->has_ports * *ports;
}

/* Writes where the field of one side is that is translated. */
xway_inline void route_select(struct nat_quote *quote, enum route_side side, int is_ipv6)
{
	__u32 source = is_ipv6 ? __builtin_offsetof(struct ipv6hdr, saddr) :
				 __builtin_offsetof(struct iphdr, saddr);
	__u32 dest = source + (is_ipv6 ? sizeof(struct in6_addr) : sizeof(__be32));
	__u32 port = side == ROUTE_SOURCE ? __builtin_offsetof(struct xway_ports, source) :
					    __builtin_offsetof(struct xway_ports, dest);

	quote->address_at = side == ROUTE_SOURCE ? source : dest;
	quote->outer_at = side == ROUTE_SOURCE ? dest : source;
	quote->port_at = quote->ports_at && quote->target.port ? quote->ports_at + port : 0;
}

/* Replaces an address; returns the difference. */
xway_inline __u32 route_replace(__be32 *address, const __be32 *target, int words)
{
	__u32 sum = 0;

	for (int i = 0; i < words; i++) {
		sum = xway_csum_long(sum, address[i], target[i]);
		address[i] = target[i];
	}
	return sum;
}

/* Changes a checksum in the quote by a difference; returns the difference that this makes. */
xway_inline __u32 route_change(__sum16 *check, __u32 sum, int is_udp)
{
	__sum16 old = *check;

	*check = is_udp ? xway_csum_apply_udp(old, sum) : xway_csum_apply(old, sum);
	return xway_csum_word(0, old, *check);
}

/* Translates the port and the checksum in a quote whose address changed by `sum`; all of it. */
xway_inline __u32 route_rewrite_quoted(void *quoted, const void *end, const struct nat_quote *quote,
				       __u32 sum)
{
	__be16 *port = quoted + (quote->port_at & NAT_MOST_OFFSET);
	__sum16 *check = quoted + (quote->check_at & NAT_MOST_OFFSET);

	if (quote->port_at && (void *)(port + 1) <= end) {
		sum = xway_csum_word(sum, *port, quote->target.port);
		*port = quote->target.port;
	}
	if (quote->check_at && (void *)(check + 1) <= end)
		sum += route_change(check, sum, quote->protocol == IPPROTO_UDP);
	return sum;
}

/* Translates the quote, and the receiver or the sender of the error. Always 0. */
xway_inline int route_rewrite_quote(struct xdp_md *ctx, __u32 arrival, int is_ipv6)
{
	__u32 header = is_ipv6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr);
	__u32 words = is_ipv6 ? 4 : 1, sum, changed;
	void *ip = route_after_tags(ctx, arrival), *quoted, *end = xway_data_end(ctx);
	struct xway_scratch *scratch = route_scratch();
	struct xway_icmp *icmp = ip + header;
	const struct nat_quote *quote;
	__be32 *address;

	quoted = icmp + 1;
	if (!scratch || quoted + header > end)
		return 0;
	quote = &scratch->quote;
	address = quoted + (quote->address_at & NAT_MOST_OFFSET);
	if ((void *)(address + words) > end)
		return 0;
	changed = route_replace(address, quote->target.address, words);
	sum = route_rewrite_quoted(quoted, end, quote, changed);
	if (!is_ipv6)
		sum += route_change(&((struct iphdr *)quoted)->check, changed, 0);
	address = ip + (quote->outer_at & NAT_MOST_OFFSET);
	if ((void *)(address + words) > end)
		return 0;
	changed = route_replace(address, quote->target.address, words);
	if (is_ipv6)
		sum += changed;
	else
		route_change(&((struct iphdr *)ip)->check, changed, 0);
	icmp->check = xway_csum_apply(icmp->check, sum);
	return 0;
}

#endif
