/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* ICMPv6 errors about IPv6 packets (RFC 4443); the twin of icmp4.h. */
#ifndef ROUTE_ICMP6_H
#define ROUTE_ICMP6_H

#include "icmp.h"

#define ROUTE_UNREACHABLE6 1
#define ROUTE_NO_ROUTE6 0
#define ROUTE_PROHIBITED6 1
#define ROUTE_TOO_BIG6 2
#define ROUTE_TIME_EXCEEDED6 3
/* Types from here on are not errors. */
#define ROUTE_INFORMATION6 128

/* The smallest MTU of IPv6, and the longest error (RFC 4443, section 2.4 c). */
#define ROUTE_MIN_MTU6 1280
#define ROUTE_HEADERS6 (sizeof(struct ipv6hdr) + sizeof(struct xway_icmp))
#define ROUTE_QUOTE6 (ROUTE_MIN_MTU6 - ROUTE_HEADERS6)

/* The error for the reason; 0 if the stack does something else. */
xway_inline int route_name_error6(struct route_error *error, const struct ipv6hdr *ip,
				  enum xway_reason reason, __u32 mtu)
{
	const struct route_control *state = route_state();
	__u32 total = xway_length(ip->payload_len) + sizeof(*ip);

	error->quote = total < ROUTE_QUOTE6 ? total : ROUTE_QUOTE6;
	error->type = ROUTE_UNREACHABLE6;
	switch (reason) {
	case XWAY_TTL_EXPIRED:
		error->type = ROUTE_TIME_EXCEEDED6;
		error->sent = XWAY_SENT_TIME_EXCEEDED;
		return 1;
	case XWAY_UNREACHABLE:
		error->code = ROUTE_NO_ROUTE6;
		error->sent = XWAY_SENT_UNREACHABLE;
		return 1;
	case XWAY_PROHIBIT:
		error->code = ROUTE_PROHIBITED6;
		error->sent = XWAY_SENT_PROHIBITED;
		return 1;
	case XWAY_TOO_BIG:
		mtu = mtu < ROUTE_MIN_MTU6 ? ROUTE_MIN_MTU6 : mtu;
		error->type = ROUTE_TOO_BIG6;
		error->rest = xway_htonl(mtu);
		error->sent = XWAY_SENT_TOO_BIG;
		/* Only the stack knows the MTU that a route has of its own. */
		return total > mtu && state && !state->route_mtu6;
	default:
		return 0;
	}
}

/*
 * No error may be sent about the packet, because it is an ICMPv6 error (RFC 4443, section 2.4 e).
 * As for the stack, later fragments are none: their first header is not in them.
 */
xway_inline int route_is_unanswerable6(const struct ipv6hdr *ip, const void *end)
{
	const struct xway_extension *fragment = (const void *)(ip + 1);
	const __u8 *type = (const void *)fragment;
	__u8 next = ip->nexthdr;

	if (next == IPPROTO_FRAGMENT) {
		if ((const void *)(fragment + 1) > end)
			return 1;
		if (fragment->offset & xway_htons(XWAY_OFFSET6))
			return 0;
		next = fragment->next;
		type = (const void *)(fragment + 1);
	}
	if (next != IPPROTO_ICMPV6)
		return 0;
	if ((const void *)(type + 1) > end || !ip->payload_len)
		return 1;
	return *type < ROUTE_INFORMATION6;
}

xway_inline void route_write_ip6(struct ipv6hdr *ip, const struct route_error *error,
				 const struct in6_addr *source, const struct in6_addr *dest)
{
	*(__be32 *)ip = xway_htonl(6 << 28);
	ip->payload_len = xway_htons(error->quote + sizeof(struct xway_icmp));
	ip->nexthdr = IPPROTO_ICMPV6;
	ip->hop_limit = ROUTE_ICMP_TTL;
	xway_memcpy(&ip->saddr, source, sizeof(ip->saddr));
	xway_memcpy(&ip->daddr, dest, sizeof(ip->daddr));
}

/* The sum of the pseudo-header of the error. */
xway_inline __u64 route_sum_pseudo6(const struct ipv6hdr *ip)
{
	const __u32 *words = (const __u32 *)&ip->saddr;
	__u64 sum = (__u64)ip->payload_len + xway_htons(IPPROTO_ICMPV6);

	xway_unroll
	for (int i = 0; i < 8; i++)
		sum += words[i];
	return sum;
}

/* Replaces the packet by the error; -1 if nothing was changed, -2 if the frame is useless. */
xway_inline int route_write_error6(struct xdp_md *ctx, const struct route_error *error,
				   const struct bpf_fib_lookup *back, __u32 length,
				   const struct in6_addr *sender)
{
	struct xway_icmp *icmp;
	struct ipv6hdr *ip;
	struct ethhdr *eth;
	__u64 sum;

	if (route_resize(ctx, ROUTE_HEADERS6, length,
			 sizeof(*eth) + ROUTE_HEADERS6 + error->quote) < 0)
		return -1;
	eth = xway_data(ctx);
	ip = (void *)(eth + 1);
	icmp = (void *)(ip + 1);
	if ((void *)(icmp + 1) > xway_data_end(ctx))
		return -2;
	route_write_macs(eth, back);
	eth->h_proto = xway_htons(ETH_P_IPV6);
	route_write_ip6(ip, error, (const void *)back->ipv6_src, sender);
	*icmp = (struct xway_icmp){
		.type = error->type,
		.code = error->code,
		.rest = error->rest,
	};
	sum = route_sum_pseudo6(ip);
	icmp->check = ~xway_csum_fold(sum + route_sum(ctx, ROUTE_ICMP_OFFSET));
	return 0;
}

/* Asks for the route to the sender as a packet from `source`, which may be unspecified. */
xway_inline int route_ask_sender6(struct xdp_md *ctx, const struct route_error *error,
				  const struct in6_addr *sender, const struct in6_addr *source,
				  struct bpf_fib_lookup *back)
{
	__builtin_memset(back, 0, sizeof(*back));
	xway_memcpy(back->ipv6_src, source, sizeof(*source));
	xway_memcpy(back->ipv6_dst, sender, sizeof(*sender));
	back->family = ROUTE_AF_INET6;
	back->l4_protocol = IPPROTO_ICMPV6;
	back->tot_len = error->quote + ROUTE_HEADERS6;
	back->dport = route_type_as_port(error);
	return route_find_sender(ctx, back);
}

/* As above, from the address that the error then has: rules may be by source. */
xway_inline int route_find_sender6(struct xdp_md *ctx, const struct route_error *error,
				   const struct in6_addr *sender, struct bpf_fib_lookup *back)
{
	struct in6_addr source = {};
	__be32 *own = source.in6_u.u6_addr32;

	if (!route_ask_sender6(ctx, error, sender, &source, back))
		return 0;
	xway_memcpy(&source, back->ipv6_src, sizeof(source));
	if (!route_ask_sender6(ctx, error, sender, &source, back))
		return 0;
	return own[0] == back->ipv6_src[0] && own[1] == back->ipv6_src[1] &&
	       own[2] == back->ipv6_src[2] && own[3] == back->ipv6_src[3];
}

xway_inline __u32 route_answer6(struct xdp_md *ctx, enum xway_reason reason, __u32 mtu,
				__u32 length, struct bpf_fib_lookup *back)
{
	void *data = xway_data(ctx), *end = xway_data_end(ctx);
	struct ipv6hdr *ip = data + sizeof(struct ethhdr);
	struct route_error error = {};
	struct in6_addr sender;
	__u64 network;
	__u32 exit;
	int result;

	if ((void *)(ip + 1) > end || !route_name_error6(&error, ip, reason, mtu))
		return route_outcome(XDP_PASS, reason);
	if (route_is_unanswerable6(ip, end))
		return route_outcome(XDP_DROP, XWAY_UNANSWERABLE);
	if ((void *)ip + error.quote > end)
		return route_outcome(XDP_PASS, reason);
	xway_memcpy(&sender, &ip->saddr, sizeof(sender));
	xway_memcpy(&network, &sender, 6);
	network &= 0xffffffffffff;
	/* Apart from networks of IPv4. */
	if (route_is_over_limit(network | 1ULL << 63))
		return route_outcome(XDP_DROP, XWAY_ICMP_LIMIT);
	if (!route_find_sender6(ctx, &error, &sender, back) ||
	    !route_find_exit(ctx, back->ifindex, &exit))
		return route_outcome(XDP_PASS, reason);
	result = route_write_error6(ctx, &error, back, length, &sender);
	if (result < 0)
		return route_outcome(result == -1 ? XDP_PASS : XDP_DROP, reason);
	return route_send_error(&error, exit);
}

#endif
