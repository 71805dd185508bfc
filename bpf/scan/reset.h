/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Turns a SYN-ACK into the reset that ends the connection (RFC 9293, 3.5.2): the stack, which has
 * no such connection, never sees it.
 */
#ifndef SCAN_RESET_H
#define SCAN_RESET_H

#include <xway/bpf.h>
#include <xway/csum.h>
#include <xway/parse.h>
#include <xway/sum.h>

/* The frame of a reset: Ethernet, IP without options, TCP without options. */
struct reset4 {
	struct ethhdr eth;
	struct iphdr ip;
	struct tcphdr tcp;
} __attribute__((packed, aligned(2)));

struct reset6 {
	struct ethhdr eth;
	struct ipv6hdr ip;
	struct tcphdr tcp;
} __attribute__((packed, aligned(2)));

#define RESET_TTL 64

/* Sums words of a header on the stack. */
xway_inline __u64 reset_sum(const void *header, __u32 size)
{
	const __u16 *words = header;
	__u64 sum = 0;

	xway_unroll
	for (__u32 i = 0; i < size / 2; i++)
		sum += words[i];
	return sum;
}

xway_inline void reset_turn_eth(struct ethhdr *to, const struct ethhdr *from)
{
	__builtin_memcpy(to->h_dest, from->h_source, ETH_ALEN);
	__builtin_memcpy(to->h_source, from->h_dest, ETH_ALEN);
	to->h_proto = from->h_proto;
}

/* Answers a segment: its sequence number is the one that the sender expects. */
xway_inline struct tcphdr reset_turn_tcp(const struct tcphdr *from)
{
	return (struct tcphdr){
		.source = from->dest,
		.dest = from->source,
		.seq = from->ack_seq,
		.doff = sizeof(struct tcphdr) / 4,
		.rst = 1,
	};
}

/* Makes the frame these bytes, a constant number; 0 if it cannot be resized. */
xway_inline int reset_replace(struct xdp_md *ctx, const void *frame, __u32 size)
{
	__s64 length = xway_data_end(ctx) - xway_data(ctx);

	if (bpf_xdp_adjust_tail(ctx, (__s64)size - length))
		return 0;
	if (xway_data(ctx) + size > xway_data_end(ctx))
		return 0;
	__builtin_memcpy(xway_data(ctx), frame, size);
	return 1;
}

/* These return 0 if the frame cannot be resized. */
xway_inline int reset_send4(struct xdp_md *ctx, const struct ethhdr *eth, const struct iphdr *ip,
			    const struct tcphdr *tcp)
{
	struct reset4 reset = {};
	__u64 sum;

	reset_turn_eth(&reset.eth, eth);
	reset.ip = (struct iphdr){
		.version = 4,
		.ihl = sizeof(struct iphdr) / 4,
		.tot_len = xway_htons(sizeof(struct iphdr) + sizeof(struct tcphdr)),
		.frag_off = xway_htons(0x4000),
		.ttl = RESET_TTL,
		.protocol = IPPROTO_TCP,
		.saddr = ip->daddr,
		.daddr = ip->saddr,
	};
	reset.ip.check = ~xway_csum_fold(reset_sum(&reset.ip, sizeof(reset.ip)));
	reset.tcp = reset_turn_tcp(tcp);
	sum = reset_sum(&reset.tcp, sizeof(reset.tcp)) + reset.ip.saddr + (__u64)reset.ip.daddr;
	sum += xway_sum_pseudo(IPPROTO_TCP, sizeof(struct tcphdr));
	reset.tcp.check = ~xway_csum_fold(sum);
	return reset_replace(ctx, &reset, sizeof(reset));
}

xway_inline int reset_send6(struct xdp_md *ctx, const struct ethhdr *eth, const struct ipv6hdr *ip,
			    const struct tcphdr *tcp)
{
	struct reset6 reset = {};
	__u64 sum;

	reset_turn_eth(&reset.eth, eth);
	reset.ip = (struct ipv6hdr){
		.version = 6,
		.payload_len = xway_htons(sizeof(struct tcphdr)),
		.nexthdr = IPPROTO_TCP,
		.hop_limit = RESET_TTL,
		.saddr = ip->daddr,
		.daddr = ip->saddr,
	};
	reset.tcp = reset_turn_tcp(tcp);
	sum = reset_sum(&reset.tcp, sizeof(reset.tcp));
	sum += reset_sum(&reset.ip.saddr, 2 * sizeof(reset.ip.saddr));
	sum += xway_sum_pseudo(IPPROTO_TCP, sizeof(struct tcphdr));
	reset.tcp.check = ~xway_csum_fold(sum);
	return reset_replace(ctx, &reset, sizeof(reset));
}

#endif
