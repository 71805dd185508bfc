/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * ICMP errors about translated packets: what both families need. nat4.h and nat6.h translate them.
 *
 * The error comes from beyond the router and quotes the packet as it was after its translation. It
 * is translated back as Linux' NAT does: in the quote, and the error's receiver, or its sender, which
 * then is the address that the quoted packet was sent to.
 * Rule: the quote decides. It needs the IP header and eight bytes more (RFC 792), no options, and a
 * protocol that is translated; any other error is treated as without a quote.
 */
#ifndef ROUTE_QUOTE_H
#define ROUTE_QUOTE_H

#include "route.abi.h"

#include <xway/bpf.h>
#include <xway/csum.h>
#include <xway/parse.h>

#include "nat.h"

/*
 * Errors that quote a packet. ICMP: destination unreachable, source quench, time exceeded,
 * parameter problem, by bits; not redirects, which are between neighbors. ICMPv6: types to 4.
 */
#define ROUTE_ICMP_ERRORS 0x1818
#define ROUTE_ICMP6_LAST_ERROR 4

/* Bytes of the transport header that every quote has. */
#define ROUTE_QUOTED 8

/* The transport header at the cursor, as far as it is quoted; 0 if it is not translated. */
xway_inline int route_read_quote(struct xway_cursor *cur, int protocol,
				 struct route_transport *transport)
{
	struct xway_icmp *icmp;
	void *header;

	*transport = (struct route_transport){ .protocol = protocol };
	if (xway_is_later_fragment(cur))
		return 1;
	header = xway_take_inner(cur, ROUTE_QUOTED);
	if (!header)
		return 0;
	icmp = header;
	switch (protocol) {
	case IPPROTO_TCP:
		transport->ports = header;
		if (xway_take_inner(cur, sizeof(struct tcphdr) - ROUTE_QUOTED))
			transport->check = &((struct tcphdr *)header)->check;
		return 1;
	case IPPROTO_UDP:
		transport->ports = header;
		transport->check = &((struct udphdr *)header)->check;
		return 1;
	case IPPROTO_ICMP:
		return icmp->type == ROUTE_ICMP_REQUEST || icmp->type == ROUTE_ICMP_REPLY;
	case IPPROTO_ICMPV6:
		transport->check = &icmp->check;
		return icmp->type == ROUTE_ICMP6_REQUEST || icmp->type == ROUTE_ICMP6_REPLY;
	default:
		return 0;
	}
}

/* The sum of everything that a translation changes in a quote, whose IP header has `words`. */
xway_inline __u16 route_sum_quote(const void *ip, int words,
				  const struct route_transport *transport)
{
	const __u32 *word = ip;
	__u64 sum = 0;

	xway_unroll
	for (int i = 0; i < words; i++)
		sum += word[i];
	if (transport->ports)
		sum += *(const __u32 *)transport->ports;
	if (transport->check)
		sum += *transport->check;
	return xway_csum_fold(sum);
}

#endif
