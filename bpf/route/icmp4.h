/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* ICMP errors about IPv4 packets (RFC 792, RFC 1191, RFC 1812); the twin of icmp6.h. */
#ifndef ROUTE_ICMP4_H
#define ROUTE_ICMP4_H

#include "icmp.h"

#define ROUTE_UNREACHABLE4 3
#define ROUTE_HOST_UNREACHABLE4 1
#define ROUTE_FRAGMENTATION_NEEDED4 4
#define ROUTE_PROHIBITED4 13
#define ROUTE_TIME_EXCEEDED4 11
#define ROUTE_DONT_FRAGMENT4 0x4000
/* Internetwork control (RFC 1812, section 4.3.2.5), and the bits of TOS that are kept. */
#define ROUTE_CONTROL4 0xc0
#define ROUTE_TOS4 0x1e

/* An error has at most 576 bytes (RFC 1812, section 4.3.2.3). */
#define ROUTE_HEADERS4 (sizeof(struct iphdr) + sizeof(struct xway_icmp))
#define ROUTE_QUOTE4 (576 - ROUTE_HEADERS4)

/* The error for the reason; 0 if the stack does something else. */
xway_inline int route_name_error4(struct route_error *error, const struct iphdr *ip,
				  enum xway_reason reason, __u32 mtu)
{
	const struct route_control *state = route_state();
	__u32 total = xway_length(ip->tot_len);

	error->quote = total < ROUTE_QUOTE4 ? total : ROUTE_QUOTE4;
	error->type = ROUTE_UNREACHABLE4;
	switch (reason) {
	case XWAY_TTL_EXPIRED:
		error->type = ROUTE_TIME_EXCEEDED4;
		error->sent = XWAY_SENT_TIME_EXCEEDED;
		return 1;
	case XWAY_UNREACHABLE:
		error->code = ROUTE_HOST_UNREACHABLE4;
		error->sent = XWAY_SENT_UNREACHABLE;
		return 1;
	case XWAY_PROHIBIT:
		error->code = ROUTE_PROHIBITED4;
		error->sent = XWAY_SENT_PROHIBITED;
		return 1;
	case XWAY_TOO_BIG:
		error->code = ROUTE_FRAGMENTATION_NEEDED4;
		error->rest = xway_htonl(mtu & 0xffff);
		error->sent = XWAY_SENT_TOO_BIG;
		/* Only the stack knows the MTU that a route has of its own. */
		return total > mtu && state && !state->route_mtu4 &&
		       ip->frag_off & xway_htons(ROUTE_DONT_FRAGMENT4);
	default:
		return 0;
	}
}

/*
 * No error may be sent about the packet (RFC 1122, section 3.2.2): it is a fragment other than the
 * first, or an ICMP message that is an error or unknown.
 */
xway_inline int route_is_unanswerable4(const struct iphdr *ip, const void *end)
{
	const __u8 *type = (const void *)(ip + 1);
	/*
	 * Destination unreachable, source quench, redirect, time exceeded, parameter problem;
	 * and, as for the stack, types that are not assigned, router advertisement and
	 * solicitation.
	 */
	__u32 errors = 0x1efe;

	if (ip->frag_off & xway_htons(XWAY_OFFSET4))
		return 1;
	if (ip->protocol != IPPROTO_ICMP)
		return 0;
	if ((const void *)(type + 1) > end || xway_length(ip->tot_len) <= sizeof(*ip))
		return 1;
	return *type > 18 || (errors >> (*type & 31) & 1);
}

xway_inline void route_write_ip4(struct iphdr *ip, const struct route_error *error, __u8 tos,
				 __be32 source, __be32 dest)
{
	const __u32 *words = (const __u32 *)ip;
	__u64 sum = 0;

	ip->version = 4;
	ip->ihl = 5;
	ip->tos = (tos & ROUTE_TOS4) | ROUTE_CONTROL4;
	ip->tot_len = xway_htons(error->quote + ROUTE_HEADERS4);
	ip->id = bpf_get_prandom_u32();
	ip->frag_off = 0;
	ip->ttl = ROUTE_ICMP_TTL;
	ip->protocol = IPPROTO_ICMP;
	ip->check = 0;
	ip->saddr = source;
	ip->daddr = dest;
	xway_unroll
	for (int i = 0; i < 5; i++)
		sum += words[i];
	ip->check = ~xway_csum_fold(sum);
}

/* Replaces the packet by the error; -1 if nothing was changed, -2 if the frame is useless. */
xway_inline int route_write_error4(struct xdp_md *ctx, const struct route_error *error,
				   const struct bpf_fib_lookup *back, __u32 length, __be32 sender,
				   __u8 tos)
{
	struct xway_icmp *icmp;
	struct ethhdr *eth;
	struct iphdr *ip;

	if (route_resize(ctx, ROUTE_HEADERS4, length,
			 sizeof(*eth) + ROUTE_HEADERS4 + error->quote) < 0)
		return -1;
	eth = xway_data(ctx);
	ip = (void *)(eth + 1);
	icmp = (void *)(ip + 1);
	if ((void *)(icmp + 1) > xway_data_end(ctx))
		return -2;
	route_write_macs(eth, back);
	eth->h_proto = xway_htons(ETH_P_IP);
	route_write_ip4(ip, error, tos, back->ipv4_src, sender);
	*icmp = (struct xway_icmp){
		.type = error->type,
		.code = error->code,
		.rest = error->rest,
	};
	icmp->check = ~xway_csum_fold(route_sum(ctx, sizeof(struct ethhdr) + sizeof(*ip)));
	return 0;
}

xway_inline __u32 route_answer4(struct xdp_md *ctx, enum xway_reason reason, __u32 mtu,
				__u32 length, struct bpf_fib_lookup *back)
{
	void *data = xway_data(ctx), *end = xway_data_end(ctx);
	struct iphdr *ip = data + sizeof(struct ethhdr);
	struct route_error error = {};
	__be32 sender;
	__u32 exit;
	__u8 tos;
	int result;

	if ((void *)(ip + 1) > end || !route_name_error4(&error, ip, reason, mtu))
		return route_outcome(XDP_PASS, reason);
	if (route_is_unanswerable4(ip, end))
		return route_outcome(XDP_DROP, XWAY_UNANSWERABLE);
	if ((void *)ip + error.quote > end)
		return route_outcome(XDP_PASS, reason);
	sender = ip->saddr;
	tos = ip->tos;
	if (route_is_over_limit(sender & xway_htonl(0xffffff00)))
		return route_outcome(XDP_DROP, XWAY_ICMP_LIMIT);
	back->tos = (tos & ROUTE_TOS4) | ROUTE_CONTROL4;
	back->ipv4_dst = sender;
	back->family = ROUTE_AF_INET;
	back->l4_protocol = IPPROTO_ICMP;
	back->tot_len = error.quote + ROUTE_HEADERS4;
	back->dport = route_type_as_port(&error);
	if (!route_find_sender(ctx, back) || !route_find_exit(ctx, back->ifindex, &exit))
		return route_outcome(XDP_PASS, reason);
	result = route_write_error4(ctx, &error, back, length, sender, tos);
	if (result < 0)
		return route_outcome(result == -1 ? XDP_PASS : XDP_DROP, reason);
	return route_send_error(&error, exit);
}

#endif
