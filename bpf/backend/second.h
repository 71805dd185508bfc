/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The second chance: a segment that no socket of this host has goes to the other backend.
 *
 * A balancer names the other backend of a segment in a Geneve option, where the slot of its flow
 * moved and the flow is not remembered. The packet is sent there without the option, so that it is
 * sent once.
 * Rule: these functions are of few packets, and verified once.
 */
#ifndef BACKEND_SECOND_H
#define BACKEND_SECOND_H

#include "backend.abi.h"

#include <xway/bpf.h>
#include <xway/csum.h>
#include <xway/parse.h>
#include <xway/second.h>

#include "tunnel.h"

XWAY_HELPER long (*const bpf_tcp_check_syncookie)(void *socket, const void *ip, __u32 ip_size,
						  const void *tcp, __u32 tcp_size) =
	(void *)BPF_FUNC_tcp_check_syncookie;

/* The kernel's state of a listening socket. */
#define SECOND_LISTENING 10
#define SECOND_TTL 64

/*
 * Whether no socket has the segment. A listener has it if it acknowledges a SYN cookie, which the
 * kernel finds out only for listeners that sent one in the last minutes.
 */
xway_inline int second_is_lacking(struct xdp_md *ctx, struct bpf_sock_tuple *tuple, __u32 size,
				  const void *ip, __u32 ip_size, const struct tcphdr *tcp)
{
	struct bpf_sock *socket = bpf_skc_lookup_tcp(ctx, tuple, size, BPF_F_CURRENT_NETNS, 0);
	int lacking = 0;

	if (!socket)
		return 1;
	if (socket->state == SECOND_LISTENING)
		lacking = bpf_tcp_check_syncookie(socket, ip, ip_size, tcp, sizeof(*tcp)) != 0;
	bpf_sk_release(socket);
	return lacking;
}

xway_inline int second_is_lacking4(struct xdp_md *ctx, const struct iphdr *ip)
{
	struct bpf_sock_tuple tuple = {};
	const struct tcphdr *tcp;

	if ((void *)(ip + 1) > xway_data_end(ctx) || ip->protocol != IPPROTO_TCP ||
	    ip->frag_off & xway_htons(XWAY_OFFSET4 | XWAY_MORE4))
		return 0;
	tcp = (const void *)ip + ip->ihl * 4;
	if ((void *)(tcp + 1) > xway_data_end(ctx) || (tcp->syn && !tcp->ack))
		return 0;
	tuple.ipv4.saddr = ip->saddr;
	tuple.ipv4.daddr = ip->daddr;
	tuple.ipv4.sport = tcp->source;
	tuple.ipv4.dport = tcp->dest;
	return second_is_lacking(ctx, &tuple, sizeof(tuple.ipv4), ip, sizeof(*ip), tcp);
}

xway_inline int second_is_lacking6(struct xdp_md *ctx, const struct ipv6hdr *ip)
{
	const struct tcphdr *tcp = (const void *)(ip + 1);
	struct bpf_sock_tuple tuple = {};

	if ((void *)(tcp + 1) > xway_data_end(ctx) || ip->nexthdr != IPPROTO_TCP ||
	    (tcp->syn && !tcp->ack))
		return 0;
	xway_memcpy(tuple.ipv6.saddr, &ip->saddr, sizeof(tuple.ipv6.saddr));
	xway_memcpy(tuple.ipv6.daddr, &ip->daddr, sizeof(tuple.ipv6.daddr));
	tuple.ipv6.sport = tcp->source;
	tuple.ipv6.dport = tcp->dest;
	return second_is_lacking(ctx, &tuple, sizeof(tuple.ipv6), ip, sizeof(*ip), tcp);
}

/* Whether the packet, which begins after these bytes, is a segment that no socket has. */
xway_global int backend_lacks(struct xdp_md *ctx, __u32 at, __u32 is_ipv6)
{
	const void *ip = xway_data(ctx) + (at & 0x7fff);

	return is_ipv6 ? second_is_lacking6(ctx, ip) : second_is_lacking4(ctx, ip);
}

/* Finds the way to the other backend, which must be by the same interface. */
xway_inline int second_find_way(struct xdp_md *ctx, struct bpf_fib_lookup *fib)
{
	fib->ifindex = ctx->ingress_ifindex;
	fib->l4_protocol = IPPROTO_UDP;
	return bpf_fib_lookup(ctx, fib, sizeof(*fib), 0) == BPF_FIB_LKUP_RET_SUCCESS &&
	       fib->ifindex == ctx->ingress_ifindex;
}

xway_inline void second_write_eth(struct ethhdr *eth, const struct bpf_fib_lookup *fib,
				  __be16 type)
{
	xway_memcpy(eth->h_dest, fib->dmac, ETH_ALEN);
	xway_memcpy(eth->h_source, fib->smac, ETH_ALEN);
	xway_write_eth_type(eth, type);
}

/* What follows an outer IP header, as it was and as it is sent on. */
struct outer_rest {
	struct udphdr udp;
	struct geneve_header geneve;
};
_Static_assert(sizeof(struct outer_rest) == 16, "no hidden padding");

/* Bytes before the inner packet of what is sent on. */
#define SECOND_BEFORE(ip) (sizeof(struct ethhdr) + sizeof(ip) + sizeof(struct outer_rest))

/* The rest without the option, of this size. `sum` is the change of the checksum. */
xway_inline void second_write_rest(struct outer_rest *to, const struct outer_rest *from,
				   __u32 option, __u32 sum)
{
	__be16 length = xway_htons((__u16)(xway_length(from->udp.len) - option));

	*to = *from;
	/* The length is in the pseudo header, too. */
	sum = xway_csum_word(sum, from->udp.len, length);
	sum = xway_csum_word(sum, from->udp.len, length);
	sum = xway_csum_word(sum, from->geneve.options, 0);
	to->udp.len = length;
	to->udp.check = xway_csum_apply_udp(from->udp.check, sum);
	to->geneve.options = 0;
}

struct second_option4 {
	struct xway_second head;
	__be32 address;
};

xway_inline int second_send4(struct xdp_md *ctx, __u32 rest_at, __u32 inner)
{
	const struct outer_rest *from = xway_data(ctx) + (rest_at & 0x7fff);
	const struct second_option4 *option = (const void *)(from + 1);
	struct bpf_fib_lookup fib = { .family = XWAY_AF_INET };
	struct ethhdr *eth = xway_data(ctx);
	struct iphdr *to = (void *)(eth + 1);
	struct outer_rest rest;
	__u32 sum = 0, total;
	struct iphdr ip;

	if ((void *)(to + 1) > xway_data_end(ctx) || (void *)(option + 1) > xway_data_end(ctx))
		return 0;
	if (!xway_names_second(&option->head, sizeof(*option), from->geneve.options))
		return 0;
	ip = *to;
	rest = *from;
	sum = xway_csum_long(sum, *(const __be32 *)&option->head, 0);
	sum = xway_csum_long(sum, option->address, 0);
	sum = xway_csum_long(sum, ip.daddr, option->address);
	total = xway_length(rest.udp.len) - sizeof(*option) + sizeof(ip);
	fib.ipv4_src = ip.saddr;
	fib.ipv4_dst = option->address;
	fib.tot_len = total;
	if (!second_find_way(ctx, &fib) ||
	    bpf_xdp_adjust_head(ctx, (int)(inner - SECOND_BEFORE(ip))))
		return 0;
	eth = xway_data(ctx);
	to = (void *)(eth + 1);
	if ((void *)(to + 1) + sizeof(rest) > xway_data_end(ctx))
		return 0;
	second_write_eth(eth, &fib, xway_htons(ETH_P_IP));
	second_write_rest((void *)(to + 1), &rest, sizeof(*option), sum);
	ip.ihl = 5;
	ip.tot_len = xway_htons((__u16)total);
	ip.ttl = SECOND_TTL;
	ip.daddr = fib.ipv4_dst;
	ip.check = 0;
	ip.check = ~xway_csum_fold((__u32)bpf_csum_diff(NULL, 0, &ip, sizeof(ip), 0));
	*to = ip;
	return 1;
}

struct second_option6 {
	struct xway_second head;
	__be32 address[4];
};

xway_inline int second_send6(struct xdp_md *ctx, __u32 rest_at, __u32 inner)
{
	const struct outer_rest *from = xway_data(ctx) + (rest_at & 0x7fff);
	const struct second_option6 *option = (const void *)(from + 1);
	struct bpf_fib_lookup fib = { .family = XWAY_AF_INET6 };
	struct ethhdr *eth = xway_data(ctx);
	struct ipv6hdr *ip = (void *)(eth + 1);
	struct outer_rest rest;
	__u32 sum = 0, length;
	__be32 first;

	if ((void *)(ip + 1) > xway_data_end(ctx) || (void *)(option + 1) > xway_data_end(ctx))
		return 0;
	if (!xway_names_second(&option->head, sizeof(*option), from->geneve.options))
		return 0;
	rest = *from;
	first = *(const __be32 *)ip;
	sum = xway_csum_long(sum, *(const __be32 *)&option->head, 0);
	for (int i = 0; i < 4; i++)
		sum = xway_csum_long(sum, option->address[i], 0);
	sum = xway_csum_ipv6(sum, (const __be32 *)&ip->daddr, option->address);
	length = xway_length(rest.udp.len) - sizeof(*option);
	xway_memcpy(fib.ipv6_src, &ip->saddr, 16);
	xway_memcpy(fib.ipv6_dst, option->address, 16);
	fib.tot_len = length + sizeof(struct ipv6hdr);
	if (!second_find_way(ctx, &fib) ||
	    bpf_xdp_adjust_head(ctx, (int)(inner - SECOND_BEFORE(*ip))))
		return 0;
	eth = xway_data(ctx);
	ip = (void *)(eth + 1);
	if ((void *)(ip + 1) + sizeof(rest) > xway_data_end(ctx))
		return 0;
	second_write_eth(eth, &fib, xway_htons(ETH_P_IPV6));
	second_write_rest((void *)(ip + 1), &rest, sizeof(*option), sum);
	*(__be32 *)ip = first;
	ip->payload_len = xway_htons((__u16)length);
	ip->nexthdr = IPPROTO_UDP;
	ip->hop_limit = SECOND_TTL;
	xway_memcpy(&ip->saddr, fib.ipv6_src, 16);
	xway_memcpy(&ip->daddr, fib.ipv6_dst, 16);
	return 1;
}

/*
 * Makes the frame one to the other backend, that the only option of the Geneve header after these
 * bytes names: 1, or 0 if the frame was not changed. The outer family is that of the other backend;
 * frames with VLAN tags are not sent on.
 */
xway_global int backend_send_on(struct xdp_md *ctx, __u32 geneve, __u32 inner, __u32 link)
{
	__u32 rest = geneve - sizeof(struct udphdr);
	struct ethhdr *eth = xway_data(ctx);

	if ((void *)(eth + 1) > xway_data_end(ctx) || link != sizeof(*eth))
		return 0;
	if (xway_eth_type(eth) == xway_htons(ETH_P_IP))
		return second_send4(ctx, rest, inner);
	return second_send6(ctx, rest, inner);
}

#endif
