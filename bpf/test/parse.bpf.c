// SPDX-License-Identifier: Dual MIT/GPL
/*
 * parse: takes every header off a packet that xway/parse.h knows, changes nothing, and counts
 * under the name of the innermost one; test runs read there what the parser made of a packet.
 */
#include <xway/reason.h>

enum xway_reason {
	XWAY_COMMON_REASONS,
	XWAY_OTHER = XWAY_FIRST_REASON,
	XWAY_ARP_REQUEST,
	XWAY_ARP_OTHER,
	XWAY_ICMP_ECHO,
	XWAY_ICMP_OTHER,
	XWAY_TCP_EMPTY,
	XWAY_TCP_PAYLOAD,
	XWAY_UDP_EMPTY,
	XWAY_UDP_PAYLOAD,
	XWAY_PROTOCOL,
	XWAY_PAYLOAD_OF_FRAGMENT,
};
#define XWAY_REASONS (XWAY_PAYLOAD_OF_FRAGMENT + 1)

#include <xway/bpf.h>
#include <xway/parse.h>
#include <xway/stats.h>

#define ARP_REQUEST 1
#define ECHO_REQUEST 8
#define ECHO_REQUEST6 128

xway_inline enum xway_reason parse_arp(struct xway_cursor *cur)
{
	struct xway_arp *arp;
	int operation = xway_parse_arp(cur, &arp);

	if (operation < 0)
		return cur->fault;
	return operation == ARP_REQUEST ? XWAY_ARP_REQUEST : XWAY_ARP_OTHER;
}

xway_inline enum xway_reason parse_icmp(struct xway_cursor *cur, int request)
{
	struct xway_icmp *icmp;
	int type = xway_parse_icmp(cur, &icmp);

	if (type < 0)
		return cur->fault;
	return type == request ? XWAY_ICMP_ECHO : XWAY_ICMP_OTHER;
}

xway_inline enum xway_reason parse_tcp(struct xway_cursor *cur)
{
	struct tcphdr *tcp;
	int payload = xway_parse_tcp(cur, &tcp);

	if (payload < 0)
		return cur->fault;
	return payload ? XWAY_TCP_PAYLOAD : XWAY_TCP_EMPTY;
}

xway_inline enum xway_reason parse_udp(struct xway_cursor *cur)
{
	struct udphdr *udp;
	int payload = xway_parse_udp(cur, &udp);

	if (payload < 0)
		return cur->fault;
	return payload ? XWAY_UDP_PAYLOAD : XWAY_UDP_EMPTY;
}

xway_inline enum xway_reason parse_transport(struct xway_cursor *cur, int protocol)
{
	if (protocol < 0)
		return cur->fault;
	if (xway_is_later_fragment(cur))
		return XWAY_PAYLOAD_OF_FRAGMENT;
	switch (protocol) {
	case IPPROTO_TCP:
		return parse_tcp(cur);
	case IPPROTO_UDP:
		return parse_udp(cur);
	case IPPROTO_ICMP:
		return parse_icmp(cur, ECHO_REQUEST);
	case IPPROTO_ICMPV6:
		return parse_icmp(cur, ECHO_REQUEST6);
	default:
		return XWAY_PROTOCOL;
	}
}

xway_inline enum xway_reason parse_packet(struct xdp_md *ctx)
{
	struct xway_cursor cur;
	struct ipv6hdr *ipv6;
	struct ethhdr *eth;
	struct iphdr *ipv4;

	xway_cursor(&cur, ctx, 0);
	switch (xway_parse_eth(&cur, &eth)) {
	case -1:
		return cur.fault;
	case ETH_P_ARP:
		return parse_arp(&cur);
	case ETH_P_IP:
		return parse_transport(&cur, xway_parse_ipv4(&cur, &ipv4));
	case ETH_P_IPV6:
		return parse_transport(&cur, xway_parse_ipv6(&cur, &ipv6));
	default:
		return XWAY_OTHER;
	}
}

SEC("xdp")
int parse(struct xdp_md *ctx)
{
	return xway_done(ctx, 0, XDP_PASS, parse_packet(ctx));
}

char xway_license[] SEC("license") = "Dual MIT/GPL";
