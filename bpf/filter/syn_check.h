/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Which connection requests the SYN proxy answers: those that the stack would answer.
 *
 * A request that the stack would drop is dropped and counted by reason. Packets that are not for a
 * listener of this host continue with the next rules: to closed ports or other hosts, or routed.
 * Rule: all checks come before the cookie, because making one changes the listener's state.
 * Not here: when the proxy is active (guard.h), and the answer (syn.h).
 */
#ifndef FILTER_SYN_CHECK_H
#define FILTER_SYN_CHECK_H

#include "filter.abi.h"

#include <xway/bpf.h>
#include <xway/csum.h>
#include <xway/parse.h>

#include "event.h"
#include "part.h"
#include "scratch.h"

/* Properties of the host whose listeners the proxy answers for. */
const volatile struct filter_syn filter_syn = {
	.mss4 = 1460,
	.mss6 = 1440,
	.window_scale = 7,
	.has_time = 0,
};

/* The kernel's state of a listening socket. */
#define FILTER_LISTENING 10

xway_inline int filter_is_ipv4(const struct filter_packet *packet)
{
	return packet->known & FILTER_IPV4;
}

/* Bytes of the fixed IP header. */
xway_inline __u32 filter_ip_length(const struct filter_packet *packet)
{
	return filter_is_ipv4(packet) ? sizeof(struct iphdr) : sizeof(struct ipv6hdr);
}

xway_inline enum filter_proxy_action filter_refuse(enum filter_event event)
{
	filter_count_event(event);
	return FILTER_REFUSE;
}

xway_inline enum filter_proxy_action filter_leave(enum filter_event event)
{
	filter_count_event(event);
	return FILTER_CONTINUE;
}

/* Addresses of no single host: 0/8, 127/8, multicast, class E and broadcast. */
xway_inline int filter_is_martian4(__u32 address)
{
	return address >> 24 == 0 || address >> 24 == 127 || address >= 0xe0000000;
}

/* The unspecified address, loopback, multicast and IPv4-mapped addresses. */
xway_inline int filter_is_martian6(const __u64 *address)
{
	if (address[0] >> 56 == 0xff)
		return 1;
	return !address[0] && (address[1] <= 1 || address[1] >> 32 == 0xffff);
}

/* No host sends from this address, or none receives at that one. */
xway_inline int filter_is_martian(const struct filter_packet *packet)
{
	if (packet->source[0] == packet->dest[0] && packet->source[1] == packet->dest[1])
		return 1;
	if (filter_is_ipv4(packet))
		return filter_is_martian4(packet->source[1]) || filter_is_martian4(packet->dest[1]);
	return filter_is_martian6(packet->source) || filter_is_martian6(packet->dest);
}

xway_inline __u64 filter_mac_at(const __u8 *mac)
{
	return (__u64)xway_ntohs(*(const __be16 *)mac) << 32 |
	       ((__u64)mac[2] << 24 | mac[3] << 16 | mac[4] << 8 | mac[5]);
}

/* An address in network byte order. */
xway_inline void filter_put_ipv6(__be32 *words, const __u64 *halves)
{
	words[0] = xway_htonl((__u32)(halves[0] >> 32));
	words[1] = xway_htonl((__u32)halves[0]);
	words[2] = xway_htonl((__u32)(halves[1] >> 32));
	words[3] = xway_htonl((__u32)halves[1]);
}

/* Whether this host routes the packet to another one. */
xway_inline int filter_is_routed(struct xdp_md *ctx, const struct filter_packet *packet,
				 struct bpf_fib_lookup *fib)
{
	long result;

	*fib = (struct bpf_fib_lookup){
		.family = filter_is_ipv4(packet) ? XWAY_AF_INET : XWAY_AF_INET6,
		.l4_protocol = IPPROTO_TCP,
		.sport = xway_htons(packet->source_port),
		.dport = xway_htons(packet->dest_port),
		.ifindex = ctx->ingress_ifindex,
	};
	if (filter_is_ipv4(packet)) {
		fib->ipv4_src = xway_htonl((__u32)packet->source[1]);
		fib->ipv4_dst = xway_htonl((__u32)packet->dest[1]);
	} else {
		filter_put_ipv6(fib->ipv6_src, packet->source);
		filter_put_ipv6(fib->ipv6_dst, packet->dest);
	}
	result = bpf_fib_lookup(ctx, fib, sizeof(*fib), 0);
	/* An address of this host is not forwarded; neither is anything where forwarding is off. */
	return result >= 0 && result != BPF_FIB_LKUP_RET_NOT_FWDED &&
	       result != BPF_FIB_LKUP_RET_FWD_DISABLED;
}

/*
 * Whether the stack would accept the frame for this host. Listeners on all addresses accept any
 * destination in a lookup, so a lookup is not sufficient.
 */
static __attribute__((noinline)) int
filter_is_ours(struct xdp_md *ctx, const struct filter_packet *packet, struct syn_desk *desk)
{
	__u64 mac;

	if (bpf_xdp_load_bytes(ctx, 0, desk->macs, sizeof(desk->macs)))
		return 0;
	mac = filter_mac_at(desk->macs);
	if (filter_syn.mac && mac != filter_syn.mac && mac != filter_syn.master_mac)
		return 0;
	return !filter_is_routed(ctx, packet, &desk->fib);
}

/* The socket that receives this packet, which must be released. */
xway_inline struct bpf_sock *filter_find_socket(struct xdp_md *ctx,
						const struct filter_packet *packet,
						struct bpf_sock_tuple *tuple)
{
	__u32 size = sizeof(tuple->ipv4);

	if (filter_is_ipv4(packet)) {
		tuple->ipv4.saddr = xway_htonl((__u32)packet->source[1]);
		tuple->ipv4.daddr = xway_htonl((__u32)packet->dest[1]);
		tuple->ipv4.sport = xway_htons(packet->source_port);
		tuple->ipv4.dport = xway_htons(packet->dest_port);
	} else {
		filter_put_ipv6(tuple->ipv6.saddr, packet->source);
		filter_put_ipv6(tuple->ipv6.daddr, packet->dest);
		tuple->ipv6.sport = xway_htons(packet->source_port);
		tuple->ipv6.dport = xway_htons(packet->dest_port);
		size = sizeof(tuple->ipv6);
	}
	return bpf_skc_lookup_tcp(ctx, tuple, size, BPF_F_CURRENT_NETNS, 0);
}

/* The state of the socket that receives this packet; 0 if there is none. */
xway_inline __u32 filter_socket_state(struct xdp_md *ctx, const struct filter_packet *packet,
				      struct bpf_sock_tuple *tuple)
{
	struct bpf_sock *socket = filter_find_socket(ctx, packet, tuple);
	__u32 state;

	if (!socket)
		return 0;
	state = socket->state;
	bpf_sk_release(socket);
	return state;
}

/* The sum of bytes in memory, whose number is a multiple of four; callers fold its high half. */
xway_inline __u32 filter_sum(const void *bytes, __u32 length, __u32 sum)
{
	return bpf_csum_diff(NULL, 0, bytes, length, sum);
}

/* The pseudo header, which the TCP checksum covers besides the segment. */
xway_inline __u64 filter_pseudo_sum(const struct filter_packet *packet, const union syn_ip *ip,
				    __u32 length)
{
	__u64 sum = xway_htonl(length) + (__u64)xway_htonl(IPPROTO_TCP);

	if (filter_is_ipv4(packet))
		return sum + ip->v4.saddr + ip->v4.daddr;
	return sum + filter_sum(&ip->v6.saddr, 32, 0);
}

/*
 * Loads the IP header; returns the length of the segment, or 0 for a header that the stack would
 * drop or that the proxy does not support, with the event in `why`.
 */
xway_inline __u32 filter_load_ip(struct xdp_md *ctx, const struct filter_packet *packet,
				 union syn_ip *ip, enum filter_event *why)
{
	__u32 length = packet->transport - packet->network;

	*why = FILTER_SYN_OPTIONS;
	if (!filter_is_ipv4(packet)) {
		/* A route or an authentication that the answer would lack. */
		if (packet->extensions & (FILTER_ROUTING | FILTER_AUTHENTICATION))
			return 0;
		if (bpf_xdp_load_bytes(ctx, packet->network, ip, sizeof(ip->v6)))
			return 0;
		return xway_ntohs(ip->v6.payload_len) + sizeof(ip->v6) - length;
	}
	/* Two comparisons: Linux 6.1 does not derive the bounds from one that stands for both. */
	xway_opaque(length);
	if (length < sizeof(ip->v4))
		return 0;
	xway_opaque(length);
	if (length > 60 ||
	    bpf_xdp_load_bytes(ctx, packet->network, ip, length) ||
	    ip->v4.protocol != IPPROTO_TCP || ip->v4.ihl * 4 != length)
		return 0;
	*why = FILTER_SYN_CHECKSUM;
	if (xway_csum_fold(filter_sum(ip, length, 0)) != 0xffff)
		return 0;
	return xway_ntohs(ip->v4.tot_len) - length;
}

/* Loads a part of a segment and adds it to a sum; -1 if the frame does not have it. */
xway_inline __s64 filter_sum_part(struct xdp_md *ctx, __u32 at, __u32 length,
				  union syn_segment *part, __u32 sum)
{
	__s64 size = xway_size(length);

	if (size < 1 || size > (__s64)sizeof(*part))
		return -1;
	/* The last word may be shorter. */
	part->words[(length - 1) / 4 & (FILTER_CHUNK / 4 - 1)] = 0;
	if (bpf_xdp_load_bytes(ctx, at, part, size))
		return -1;
	return filter_sum(part, (length + 3) & ~3U, sum);
}

/*
 * Sums a segment, its first part last, so that the header remains in the desk; -1 if the frame does
 * not have it or if it is too long. Verified once.
 */
xway_global __s64 filter_sum_segment(struct xdp_md *ctx, __u32 at, __u32 length)
{
	struct syn_desk *desk = filter_find_desk();
	__s64 sum = 0;

	if (!desk || length > FILTER_CHUNK * FILTER_CHUNKS)
		return -1;
	for (__u32 i = FILTER_CHUNKS; i-- > 0;) {
		__u32 begin = i * FILTER_CHUNK;
		__u32 rest;

		if (begin >= length)
			continue;
		rest = length - begin;
		sum = filter_sum_part(ctx, at + begin, rest < FILTER_CHUNK ? rest : FILTER_CHUNK,
				      &desk->segment, sum);
		if (sum < 0)
			return -1;
		xway_opaque(sum);
	}
	return sum;
}

/*
 * Loads the TCP header and checks it; 0, or the event to count. A frame that never left this
 * machine (veth, virtio) has the sum of the pseudo header instead of a checksum, which the program
 * cannot detect, so that sum is accepted. Such a frame costs the listener nothing.
 */
xway_inline enum filter_event filter_load_tcp(struct xdp_md *ctx,
					      const struct filter_packet *packet,
					      struct syn_desk *desk, __u32 segment)
{
	const struct tcphdr *tcp = &desk->segment.header;
	__s64 sum = filter_sum_segment(ctx, packet->transport, segment);
	__u64 pseudo = filter_pseudo_sum(packet, &desk->ip, segment);

	desk->length = tcp->doff * 4;
	/* The stack drops these at a listener. */
	if (sum < 0 || tcp->fin || desk->length < sizeof(*tcp) || desk->length > segment)
		return FILTER_SYN_MALFORMED;
	if (xway_csum_fold(sum + pseudo) != 0xffff && tcp->check != xway_csum_fold(pseudo))
		return FILTER_SYN_CHECKSUM;
	return 0;
}

/*
 * Makes a cookie for the listener, which then accepts cookies for two minutes. There is none for a
 * listener whose queue of connections is full, as in the stack. A trial only looks up the listener.
 */
static __attribute__((noinline)) enum filter_proxy_action
filter_make_cookie(struct xdp_md *ctx, const struct filter_packet *packet, struct syn_desk *desk)
{
	__u32 length = desk->length;
	struct bpf_sock *socket;
	__s64 cookie = 0;

	socket = filter_find_socket(ctx, packet, &desk->tuple);
	if (!socket)
		return filter_leave(FILTER_SYN_NO_LISTENER);
	/* A closed connection still exists: the stack decides whether a new one may begin. */
	if (socket->state != FILTER_LISTENING) {
		bpf_sk_release(socket);
		return FILTER_CONTINUE;
	}
	/* As in filter_load_ip(), and after the calls, over which the bounds are lost. */
	xway_opaque(length);
	if (length < sizeof(struct tcphdr))
		goto malformed;
	xway_opaque(length);
	if (length > 60)
		goto malformed;
	if (!filter_is_trial())
		cookie = bpf_tcp_gen_syncookie(socket, &desk->ip, filter_ip_length(packet),
					       &desk->segment.header, length);
	bpf_sk_release(socket);
	if (cookie < 0)
		return filter_refuse(FILTER_COOKIE_FAILED);
	desk->cookie = cookie;
	return FILTER_ANSWER;

malformed:
	bpf_sk_release(socket);
	return filter_refuse(FILTER_SYN_MALFORMED);
}

/* What happens to a request while the proxy is active; with FILTER_ANSWER it is in the desk. */
xway_inline enum filter_proxy_action filter_check_request(struct xdp_md *ctx,
						     const struct filter_packet *packet)
{
	struct syn_desk *desk = filter_find_desk();
	enum filter_event why;
	__u32 segment;

	if (!desk)
		return FILTER_CONTINUE;
	if (!filter_is_ours(ctx, packet, desk))
		return filter_leave(FILTER_SYN_NOT_OURS);
	if (packet->fragment != FILTER_WHOLE)
		return filter_refuse(FILTER_SYN_FRAGMENT);
	/* The multicast bit of a MAC address. */
	if (filter_is_martian(packet) || (desk->macs[0] | desk->macs[6]) & 1)
		return filter_refuse(FILTER_SYN_MARTIAN);
	segment = filter_load_ip(ctx, packet, &desk->ip, &why);
	if (!segment)
		return filter_refuse(why);
	why = filter_load_tcp(ctx, packet, desk, segment);
	if (why)
		return filter_refuse(why);
	return filter_make_cookie(ctx, packet, desk);
}

#endif
