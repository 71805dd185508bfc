/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The outer headers that bring a packet to its backend.
 *
 * The inner packet is not changed. The outer one has its traffic class, and with that its ECN
 * (RFC 6040, normal mode), and its "don't fragment"; an inner IPv6 packet cannot be fragmented on
 * the way, so its IPv4 header has that, too. Where receivers spread flows by addresses, ports or
 * flow label, these come from the flow's hash.
 */
#ifndef BALANCER_OUTER_H
#define BALANCER_OUTER_H

#include "balancer.abi.h"

#include <xway/bpf.h>
#include <xway/csum.h>
#include <xway/parse.h>
#include <xway/sum.h>

#include "hop.h"
#include "service.h"

/* Most bytes before the inner packet: with XWAY_MAX_TAGS. The mask only informs the verifier. */
#define BALANCER_LINK_MASK 0x3f

#define BALANCER_TTL 64
#define BALANCER_DF xway_htons(0x4000)
/* Ports that no service is registered for (RFC 6335), and how many there are, less one. */
#define BALANCER_FIRST_PORT 0xc000
#define BALANCER_PORT_MASK 0x3fff

struct balancer_geneve {
	/* Version, length of options and flags: none. */
	__be16 zero;
	/* EtherType of what is inside. */
	__be16 protocol;
	__be32 vni;
};

/* What the outer headers are made of. */
struct balancer_tunnel {
	const struct balancer_backend *backend;
	__u64 hash;
	/* Bytes of the inner packet. */
	__u32 length;
	__u8 traffic_class;
	__u8 may_fragment;
	__u8 is_ipv6;
	__u8 zero;
	/* Checksum field of UDP over IPv6. */
	__sum16 check;
};

xway_inline __be16 balancer_source_port(const struct balancer_tunnel *tunnel)
{
	return xway_htons(BALANCER_FIRST_PORT | (tunnel->hash & BALANCER_PORT_MASK));
}

/* The last word of the outer source. */
xway_inline __be32 balancer_source_word(const struct balancer_tunnel *tunnel)
{
	const struct balancer_backend *backend = tunnel->backend;

	return backend->source[3] | ((__u32)(tunnel->hash >> 16) & backend->spread);
}

xway_inline __be16 balancer_inner_type(const struct balancer_tunnel *tunnel)
{
	return tunnel->is_ipv6 ? xway_htons(ETH_P_IPV6) : xway_htons(ETH_P_IP);
}

/* Bytes from the outer UDP header on. */
xway_inline __u32 balancer_udp_length(const struct balancer_tunnel *tunnel)
{
	return tunnel->length + sizeof(struct udphdr) +
	       (tunnel->backend->delivery == BALANCER_GENEVE ? sizeof(struct balancer_geneve) : 0);
}

xway_inline void balancer_write_ip4(struct iphdr *ip, const struct balancer_tunnel *tunnel,
				    __u32 total)
{
	const struct balancer_backend *backend = tunnel->backend;
	__be16 fragment = tunnel->may_fragment ? 0 : BALANCER_DF;
	__be32 source = balancer_source_word(tunnel);
	__be16 id = 0;

	/* Of a packet that cannot be fragmented the identification has no meaning (RFC 6864). */
	if (tunnel->may_fragment)
		id = bpf_get_prandom_u32();
	*(__be16 *)ip = xway_htons(0x4500 | tunnel->traffic_class);
	ip->tot_len = xway_htons((__u16)total);
	ip->id = id;
	ip->frag_off = fragment;
	ip->ttl = BALANCER_TTL;
	ip->protocol = balancer_protocol(backend, tunnel->is_ipv6);
	ip->saddr = source;
	ip->daddr = backend->address[3];
	ip->check = ~xway_csum_fold((__u64)backend->sum + xway_htons(tunnel->traffic_class) +
				    xway_htons((__u16)total) + id + fragment +
				    xway_htons((__u16)ip->protocol) + source);
}

xway_inline void balancer_write_ip6(struct ipv6hdr *ip, const struct balancer_tunnel *tunnel,
				    __u32 total)
{
	const struct balancer_backend *backend = tunnel->backend;
	const __u64 *source = (const void *)backend->source;
	const __u64 *address = (const void *)backend->address;
	__u64 *to;

	*(__be32 *)ip = xway_htonl(6 << 28 | (__u32)tunnel->traffic_class << 20 |
				   ((__u32)tunnel->hash & 0xfffff));
	ip->payload_len = xway_htons((__u16)(total - sizeof(*ip)));
	ip->nexthdr = balancer_protocol(backend, tunnel->is_ipv6);
	ip->hop_limit = BALANCER_TTL;
	to = (void *)&ip->saddr;
	to[0] = source[0];
	to[1] = backend->source[2] | (__u64)balancer_source_word(tunnel) << 32;
	to[2] = address[0];
	to[3] = address[1];
}

xway_inline void balancer_write_udp(struct udphdr *udp, const struct balancer_tunnel *tunnel)
{
	udp->source = balancer_source_port(tunnel);
	udp->dest = tunnel->backend->port;
	udp->len = xway_htons((__u16)balancer_udp_length(tunnel));
	udp->check = tunnel->check;
}

/* The sum of a packet that begins at a position of the frame; -1 if it does not end in it. */
xway_global long balancer_sum_near(struct xdp_md *ctx, __u32 at, __u32 length)
{
	struct xway_part part = { .ctx = ctx, .at = at, .left = length };

	return xway_sum_of(&part, 0);
}

/* As above, for frames of several buffers. */
xway_global long balancer_sum_far(struct xdp_md *ctx, __u32 at, __u32 length)
{
	struct xway_part part = { .ctx = ctx, .at = at, .left = length };

	return xway_sum_of(&part, 1);
}

/*
 * The sum of a whole inner packet whose checksums are right; if they are not, the outer one is
 * wrong as well. What follows an IP header then sums up to the opposite of the pseudo header, with
 * which most of the IP header cancels out.
 */
xway_inline __u64 balancer_inner_sum(const struct flow_facts *flow, const void *ip)
{
	const struct ipv6hdr *v6 = ip;
	const struct iphdr *v4 = ip;

	if (flow->is_ipv6)
		return *(const __be32 *)v6 + (__u64)*(const __be16 *)&v6->nexthdr +
		       (__u16)~xway_htons(v6->nexthdr);
	/* ICMP has no pseudo header. An error has the protocol that it quotes in `flow`. */
	if (v4->protocol == IPPROTO_ICMP)
		return 0;
	return (__u16)~xway_csum_fold((__u64)v4->saddr + v4->daddr + xway_htons(v4->protocol) +
				      xway_htons(flow->length - v4->ihl * 4));
}

/* The checksum field of an outer UDP header over IPv6, for this sum of the inner packet. */
xway_inline __sum16 balancer_udp_sum(const struct balancer_tunnel *tunnel, __u64 inner)
{
	const struct balancer_backend *backend = tunnel->backend;
	__be16 length = xway_htons((__u16)balancer_udp_length(tunnel));
	__u64 sum = inner + 2 * (__u64)length + xway_htons(IPPROTO_UDP);
	__sum16 check;

	for (int i = 0; i < 4; i++)
		sum += backend->address[i];
	for (int i = 0; i < 3; i++)
		sum += backend->source[i];
	sum += balancer_source_word(tunnel);
	sum += balancer_source_port(tunnel) + backend->port;
	if (backend->delivery == BALANCER_GENEVE)
		sum += (__u64)balancer_inner_type(tunnel) + backend->vni;
	check = ~xway_csum_fold(sum);
	return check ? check : 0xffff;
}

/* Writes what is between the outer IP header and the inner packet. */
xway_inline void balancer_write_rest(void *at, const struct balancer_tunnel *tunnel)
{
	struct balancer_geneve *geneve = at + sizeof(struct udphdr);

	balancer_write_udp(at, tunnel);
	if (tunnel->backend->delivery != BALANCER_GENEVE)
		return;
	geneve->zero = 0;
	geneve->protocol = balancer_inner_type(tunnel);
	geneve->vni = tunnel->backend->vni;
}

/*
 * Puts the outer headers before the inner packet, which begins after this number of bytes of the
 * frame; XWAY_BALANCED, or what prevents it.
 */
xway_inline enum xway_reason balancer_wrap(struct xdp_md *ctx, const struct balancer_tunnel *tunnel,
					   const struct balancer_hop *hop, __u32 link)
{
	const struct balancer_backend *backend = tunnel->backend;
	__u32 added = backend->overhead, total = tunnel->length + added;
	struct ethhdr *eth;
	void *ip;

	if (bpf_xdp_adjust_head(ctx, (int)(link - sizeof(*eth) - added)))
		return XWAY_NO_HEADROOM;
	eth = xway_data(ctx);
	ip = eth + 1;
	/* All frames have this: an inner header is in it, too. */
	if (ip + sizeof(struct ipv6hdr) + sizeof(struct udphdr) > xway_data_end(ctx))
		return XWAY_TRUNCATED;
	xway_write_macs(eth, hop->dest, hop->source);
	if (backend->is_ipv6) {
		xway_write_eth_type(eth, xway_htons(ETH_P_IPV6));
		balancer_write_ip6(ip, tunnel, total);
		ip += sizeof(struct ipv6hdr);
	} else {
		xway_write_eth_type(eth, xway_htons(ETH_P_IP));
		balancer_write_ip4(ip, tunnel, total);
		ip += sizeof(struct iphdr);
	}
	if (backend->delivery == BALANCER_IPIP)
		return XWAY_BALANCED;
	if (ip + sizeof(struct udphdr) + sizeof(struct balancer_geneve) > xway_data_end(ctx))
		return XWAY_TRUNCATED;
	balancer_write_rest(ip, tunnel);
	return XWAY_BALANCED;
}

#endif
