/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The ICMP error about a packet that is too large for the way to its backend with the outer
 * headers: fragmentation needed, or packet too big. It comes from the address of the service, and
 * goes back to where the packet came from.
 *
 * Rule: until the frame is changed, whatever cannot be done here leaves the packet to be dropped.
 */
#ifndef BALANCER_TOO_BIG_H
#define BALANCER_TOO_BIG_H

#include "balancer.abi.h"

#include <xway/bpf.h>
#include <xway/csum.h>
#include <xway/parse.h>

#include "outer.h"
#include "service.h"

/* Errors of a processor in a tick of the kernel's clock: with 250 of them a second, 1000. */
const volatile __u32 balancer_errors_in_tick = 4;

struct balancer_rate {
	__u32 tick;
	__u32 errors;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct balancer_rate);
} balancer_rates SEC(".maps");

/* The longest quotes (RFC 1812, section 4.3.2.3; RFC 4443, section 2.4 c). */
#define BALANCER_QUOTE4 (576 - sizeof(struct iphdr) - sizeof(struct xway_icmp))
#define BALANCER_QUOTE6 (1280 - sizeof(struct ipv6hdr) - sizeof(struct xway_icmp))
#define BALANCER_MIN_MTU6 1280

/* The limit of errors is reached. */
xway_inline int balancer_is_over_limit(void)
{
	__u32 only = 0, tick = bpf_jiffies64();
	struct balancer_rate *rate = bpf_map_lookup_elem(&balancer_rates, &only);

	if (!rate)
		return 1;
	if (rate->tick != tick) {
		rate->tick = tick;
		rate->errors = 0;
	}
	return rate->errors++ >= balancer_errors_in_tick;
}

/* Swaps the MAC addresses of a frame, into one whose header begins at `to`. */
xway_inline void balancer_return_macs(struct ethhdr *to, const struct ethhdr *from)
{
	__u64 dest = *(const __u64 *)from->h_dest;
	__u32 rest = *(const __u32 *)(from->h_source + 2);

	/* In `dest` are the old destination, and above it two bytes of the source. */
	*(__u64 *)to->h_dest = dest >> 48 | (__u64)rest << 16 | dest << 48;
	*(__u32 *)(to->h_source + 2) = dest >> 16;
}

/* The headers of the error before the quote; their checksums are still missing. */
xway_inline void balancer_write_error4(struct iphdr *ip, const struct iphdr *quoted, __u32 length,
				       __u32 mtu)
{
	struct xway_icmp *icmp = (void *)(ip + 1);
	const __be32 *words = (const __be32 *)ip;
	__u64 sum = 0;

	*icmp = (struct xway_icmp){ .type = 3, .code = 4, .rest = xway_htonl(mtu) };
	*(__be32 *)ip = xway_htonl(4 << 28 | 5 << 24 | 0xc0 << 16 | length);
	((__be32 *)ip)[1] = xway_htonl(0x4000);
	((__be32 *)ip)[2] = xway_htonl(64 << 24 | IPPROTO_ICMP << 16);
	ip->saddr = quoted->daddr;
	ip->daddr = quoted->saddr;
	xway_unroll
	for (int i = 0; i < 5; i++)
		sum += words[i];
	ip->check = ~xway_csum_fold(sum);
}

xway_inline __u64 balancer_write_error6(struct ipv6hdr *ip, const struct ipv6hdr *quoted,
					__u32 length, __u32 mtu)
{
	struct xway_icmp *icmp = (void *)(ip + 1);
	const __be32 *words = (const __be32 *)&ip->saddr;
	__u64 sum;

	*icmp = (struct xway_icmp){ .type = 2, .rest = xway_htonl(mtu) };
	*(__be32 *)ip = xway_htonl(6 << 28);
	ip->payload_len = xway_htons((__u16)(length - sizeof(*ip)));
	ip->nexthdr = IPPROTO_ICMPV6;
	ip->hop_limit = 64;
	xway_memcpy(&ip->saddr, &quoted->daddr, sizeof(ip->saddr));
	xway_memcpy(&ip->daddr, &quoted->saddr, sizeof(ip->daddr));
	sum = (__u64)ip->payload_len + xway_htons(IPPROTO_ICMPV6);
	xway_unroll
	for (int i = 0; i < 8; i++)
		sum += words[i];
	return sum;
}

/* Makes the frame, which has no VLAN tag, that of the error; 0 if it was not changed, or -1. */
xway_inline int balancer_make_error(struct xdp_md *ctx, __u32 length, __u32 frame, __u32 mtu,
				    int is_ipv6)
{
	__u32 header = is_ipv6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr);
	__u32 most = is_ipv6 ? BALANCER_QUOTE6 : BALANCER_QUOTE4;
	__u32 added = header + sizeof(struct xway_icmp), quote = length < most ? length : most;
	__u32 at = sizeof(struct ethhdr) + header, total = added + quote;
	struct xway_icmp *icmp;
	struct ethhdr *eth;
	__u64 pseudo = 0;
	__s64 sum;
	void *ip;

	if (bpf_xdp_adjust_head(ctx, -(int)added))
		return 0;
	if (bpf_xdp_adjust_tail(ctx, (int)(sizeof(*eth) + quote) - (int)frame))
		return -1;
	eth = xway_data(ctx);
	ip = eth + 1;
	if (ip + added + header > xway_data_end(ctx))
		return -1;
	balancer_return_macs(eth, (void *)eth + added);
	xway_write_eth_type(eth, is_ipv6 ? xway_htons(ETH_P_IPV6) : xway_htons(ETH_P_IP));
	if (is_ipv6)
		pseudo = balancer_write_error6(ip, ip + added, total, mtu);
	else
		balancer_write_error4(ip, ip + added, total, mtu);
	sum = balancer_sum_near(ctx, at, total - header);
	if (sum < 0)
		return -1;
	icmp = xway_data(ctx) + at;
	if ((void *)(icmp + 1) > xway_data_end(ctx))
		return -1;
	icmp->check = ~xway_csum_fold(pseudo + sum);
	return 1;
}

/*
 * Sends the error about a packet of this length, in a frame of this number of bytes, that does not
 * fit into an MTU: why the packet is not delivered. It has no pointer to the facts of the flow: see
 * balancer_keep().
 */
xway_global int balancer_refuse_packet(struct xdp_md *ctx, __u32 length, __u32 frame, __u32 mtu,
				       __u32 is_ipv6)
{
	int made;

	if (balancer_is_over_limit())
		return XWAY_ICMP_LIMIT;
	if (is_ipv6)
		made = balancer_make_error(ctx, length, frame,
					   mtu < BALANCER_MIN_MTU6 ? BALANCER_MIN_MTU6 : mtu, 1);
	else
		made = balancer_make_error(ctx, length, frame, mtu, 0);
	return made > 0 ? XWAY_SENT_TOO_BIG : XWAY_TOO_BIG;
}

/*
 * Whether the source of a packet can be of one host (RFC 1122, 3.2.2; RFC 4443, 2.4): neither
 * multicast nor broadcast, unspecified nor loopback.
 */
xway_inline int balancer_is_of_host(const struct flow_facts *flow)
{
	__u32 net = flow->source[3] & 0xff;

	if (flow->is_ipv6)
		return (flow->source[0] & 0xff) != 0xff &&
		       (flow->source[0] | flow->source[1] | flow->source[2]);
	return net && net != 127 && net < 224;
}

/* As above, unless there may be no error about the packet. */
xway_inline int balancer_refuse(struct xdp_md *ctx, const struct flow_facts *flow, __u32 frame,
				__u32 mtu)
{
	if (flow->signal == BALANCER_ERROR || flow->is_later || flow->may_fragment ||
	    !balancer_is_of_host(flow))
		return XWAY_TOO_BIG;
	return balancer_refuse_packet(ctx, flow->length, frame, mtu, flow->is_ipv6);
}

#endif
