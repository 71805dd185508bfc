/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What can be read of the flow in a packet.
 *
 * An ICMP error is of the flow that it quotes, if it is sent to where the quoted packet came from;
 * eight bytes of the transport suffice. Later fragments have no ports.
 */
#ifndef BALANCER_READ_H
#define BALANCER_READ_H

#include "balancer.abi.h"

#include <xway/bpf.h>
#include <xway/parse.h>

#include "flow.h"
#include "service.h"

/* Of the quoted packet's transport: the ports, or of ICMP the type and the identifier. */
struct balancer_quote {
	__be16 words[4];
};

#define BALANCER_ECHO4 8
#define BALANCER_ECHO6 128

xway_inline int balancer_is_error(const struct flow_facts *flow, __u8 type)
{
	if (flow->is_ipv6)
		return type >= 1 && type <= 4;
	return type == 3 || type == 11 || type == 12;
}

/* Takes the ports of a quoted packet, as of one in the other direction. */
xway_inline int balancer_read_quoted_ports(struct xway_cursor *cur, struct flow_facts *flow,
					   int protocol)
{
	const struct balancer_quote *quote = xway_take_inner(cur, sizeof(*quote));

	if (!quote)
		return -1;
	flow->protocol = protocol;
	if (protocol == IPPROTO_TCP || protocol == IPPROTO_UDP) {
		flow->source_port = quote->words[1];
		flow->dest_port = quote->words[0];
		return 0;
	}
	/* An echo reply: its identifier is that of the request. */
	flow->protocol = IPPROTO_ICMP;
	flow->source_port = quote->words[2];
	flow->dest_port = 0;
	return protocol == IPPROTO_ICMP || protocol == IPPROTO_ICMPV6 ? 0 : -1;
}

xway_inline int balancer_is_same6(const __be32 own[4], const struct in6_addr *other)
{
	const __be32 *words = (const void *)other;

	return !((own[0] ^ words[0]) | (own[1] ^ words[1]) | (own[2] ^ words[2]) |
		 (own[3] ^ words[3]));
}

/* Reads the packet that an ICMP error quotes; -1 if it cannot be that of a service. */
xway_inline int balancer_read_quote(struct xway_cursor *cur, struct flow_facts *flow)
{
	if (flow->is_ipv6) {
		const struct ipv6hdr *ip = xway_take_inner(cur, sizeof(*ip));

		if (!ip || ip->version != 6 || !balancer_is_same6(flow->dest, &ip->saddr))
			return -1;
		xway_memcpy(flow->source, &ip->daddr, sizeof(flow->source));
		return balancer_read_quoted_ports(cur, flow, ip->nexthdr);
	} else {
		const struct iphdr *ip = xway_take_inner(cur, sizeof(*ip));
		__u32 options;

		if (!ip || ip->version != 4 || ip->ihl < 5 ||
		    ip->frag_off & xway_htons(XWAY_OFFSET4) || ip->saddr != flow->dest[3])
			return -1;
		options = (ip->ihl * 4 - sizeof(*ip)) & 0x3c;
		flow->source[3] = ip->daddr;
		if (cur->left < options)
			return -1;
		cur->left -= options;
		cur->pos += options;
		return balancer_read_quoted_ports(cur, flow, ip->protocol);
	}
}

/* Reads the transport header; -1 if the packet cannot be for a service. */
xway_inline int balancer_read_transport(struct xway_cursor *cur, struct flow_facts *flow,
					int protocol)
{
	const struct xway_ports *ports;
	const struct xway_icmp *icmp;
	const struct tcphdr *tcp;

	flow->protocol = protocol;
	if (protocol == IPPROTO_TCP) {
		tcp = xway_take_inner(cur, sizeof(*tcp));
		if (!tcp)
			return -1;
		flow->source_port = tcp->source;
		flow->dest_port = tcp->dest;
		flow->sequence = xway_ntohl(tcp->seq);
		flow->signal = tcp->syn && !tcp->ack ? BALANCER_SYN : BALANCER_SEGMENT;
		return 0;
	}
	flow->signal = BALANCER_DATAGRAM;
	if (protocol == IPPROTO_UDP) {
		ports = xway_take_inner(cur, sizeof(struct udphdr));
		if (!ports)
			return -1;
		flow->source_port = ports->source;
		flow->dest_port = ports->dest;
		if (!((const struct udphdr *)ports)->check)
			flow->is_whole = 0;
		return 0;
	}
	cur->fault = XWAY_NO_SERVICE;
	if (protocol != (flow->is_ipv6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP))
		return -1;
	icmp = xway_take_inner(cur, sizeof(*icmp));
	if (!icmp)
		return -1;
	flow->protocol = IPPROTO_ICMP;
	if (icmp->type == (flow->is_ipv6 ? BALANCER_ECHO6 : BALANCER_ECHO4)) {
		/* The identifier. */
		flow->source_port = (__be16)icmp->rest;
		return 0;
	}
	cur->fault = XWAY_NO_SERVICE;
	if (!balancer_is_error(flow, icmp->type))
		return -1;
	flow->signal = BALANCER_ERROR;
	return balancer_read_quote(cur, flow);
}

#endif
