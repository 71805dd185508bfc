/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Writes a translation into a packet.
 *
 * Rule: every checksum that covers a changed byte is repaired incrementally, so a packet that came
 * with a wrong checksum leaves with a wrong one. In the packet that an ICMP error quotes, source
 * and destination are those of the other direction.
 */
#ifndef NAT_WRITE_H
#define NAT_WRITE_H

#include "balancer.abi.h"

#include <xway/bpf.h>
#include <xway/csum.h>
#include <xway/parse.h>

#include "nat_packet.h"

/* Replaces the addresses of an IPv4 header and repairs its checksum; returns their change. */
xway_inline __u32 nat_write4(struct iphdr *ip, __be32 source, __be32 dest, int hops)
{
	__u32 sum = xway_csum_long(0, ip->saddr, source), all;

	sum = xway_csum_long(sum, ip->daddr, dest);
	all = hops ? xway_csum_ttl(sum, ip->ttl, ip->ttl - hops) : sum;
	ip->ttl -= hops;
	ip->saddr = source;
	ip->daddr = dest;
	ip->check = xway_csum_apply(ip->check, all);
	return sum;
}

xway_inline __u32 nat_write6(struct ipv6hdr *ip, const __be32 *source, const __be32 *dest, int hops)
{
	__be32 *at = (void *)&ip->saddr;
	__u32 sum = 0;

	ip->hop_limit -= hops;
	xway_unroll
	for (int i = 0; i < 4; i++) {
		sum = xway_csum_long(sum, at[i], source[i]);
		sum = xway_csum_long(sum, at[i + 4], dest[i]);
		at[i] = source[i];
		at[i + 4] = dest[i];
	}
	return sum;
}

/* Replaces ports, or the identifier of an echo; `sum` with the change. */
xway_inline __u32 nat_write_ports(void *transport, const struct nat_packet *packet, __be16 source,
				  __be16 dest, __u32 sum)
{
	struct xway_ports *ports = transport;
	__be16 *identifier = transport + __builtin_offsetof(struct xway_icmp, rest);

	if (packet->protocol == IPPROTO_ICMP) {
		sum = xway_csum_word(sum, *identifier, packet->identifier);
		*identifier = packet->identifier;
		return sum;
	}
	sum = xway_csum_word(sum, ports->source, source);
	sum = xway_csum_word(sum, ports->dest, dest);
	ports->source = source;
	ports->dest = dest;
	return sum;
}

/* Changes a checksum by a difference; the difference that this makes. */
xway_inline __u32 nat_repair(__sum16 *check, __u32 sum, __u8 protocol)
{
	__sum16 old = *check;

	*check = protocol == IPPROTO_UDP ? xway_csum_apply_udp(old, sum) :
					   xway_csum_apply(old, sum);
	return xway_csum_word(0, old, *check);
}

/* What an address changes in the checksum of a transport: the ICMP of IPv4 has no pseudo header. */
xway_inline __u32 nat_pseudo(const struct nat_packet *packet, __u8 protocol, __u32 sum)
{
	return protocol == IPPROTO_ICMP && !packet->is_ipv6 ? 0 : sum;
}

/*
 * Replaces the addresses at a position: the difference, or -1. For each family a function of its
 * own, which share the stack. Where the stack sends the packet, it lowers the TTL.
 */
xway_global long nat_write_addresses4(struct xdp_md *ctx, __u32 at, __u32 is_quote)
{
	const struct nat_packet *packet = nat_packet();
	struct iphdr *ip = nat_at(ctx, at, sizeof(*ip));

	if (!packet || !ip)
		return -1;
	if (is_quote)
		return nat_write4(ip, packet->to.dest[3], packet->to.source[3], 0);
	return nat_write4(ip, packet->to.source[3], packet->to.dest[3],
			  !packet->is_unresolved);
}

xway_global long nat_write_addresses6(struct xdp_md *ctx, __u32 at, __u32 is_quote)
{
	const struct nat_packet *packet = nat_packet();
	struct ipv6hdr *ip = nat_at(ctx, at, sizeof(*ip));

	if (!packet || !ip)
		return -1;
	if (is_quote)
		return nat_write6(ip, packet->to.dest, packet->to.source, 0);
	return nat_write6(ip, packet->to.source, packet->to.dest, !packet->is_unresolved);
}

xway_inline __s64 nat_write_addresses(struct xdp_md *ctx, const struct nat_packet *packet, __u32 at,
				      int is_quote)
{
	return packet->is_ipv6 ? nat_write_addresses6(ctx, at, is_quote) :
				 nat_write_addresses4(ctx, at, is_quote);
}

/*
 * Translates the packet that an error quotes, and repairs the checksum of the error, of which the
 * addresses changed by `outer`. An IPv4 header with its checksum has the same sum as before.
 */
xway_global int nat_write_quote(struct xdp_md *ctx, __u32 outer)
{
	struct nat_packet *packet = nat_packet();
	struct xway_icmp *icmp;
	__sum16 *check;
	void *ports;
	__s64 inner;
	__u32 sum;

	if (!packet)
		return XWAY_TRUNCATED;
	inner = nat_write_addresses(ctx, packet, packet->quoted.ip, 1);
	ports = nat_at(ctx, packet->quoted.transport, sizeof(struct nat_quoted));
	if (inner < 0 || !ports)
		return XWAY_TRUNCATED;
	sum = nat_write_ports(ports, packet, packet->to.dest_port, packet->to.source_port, 0);
	if (packet->quoted.check) {
		check = nat_at(ctx, packet->quoted.check, sizeof(*check));
		if (!check)
			return XWAY_TRUNCATED;
		sum += nat_repair(check, nat_pseudo(packet, packet->protocol, inner) + sum,
				  packet->protocol);
	}
	if (packet->is_ipv6)
		sum += (__u32)inner + outer;
	icmp = nat_at(ctx, packet->place.transport, sizeof(*icmp));
	if (!icmp)
		return XWAY_TRUNCATED;
	nat_repair(&icmp->check, sum, IPPROTO_ICMP);
	return XWAY_BALANCED;
}

/* Writes the translation and the addresses of the frame: XWAY_BALANCED, or why not. */
xway_global int nat_write(struct xdp_md *ctx)
{
	struct nat_packet *packet = nat_packet();
	__sum16 *check;
	void *ports;
	__s64 sum;
	__u32 all;

	if (!packet)
		return XWAY_TRUNCATED;
	sum = nat_write_addresses(ctx, packet, packet->place.ip, 0);
	if (sum < 0)
		return XWAY_TRUNCATED;
	if (packet->is_later)
		return XWAY_BALANCED;
	if (packet->signal == NAT_ERROR)
		return nat_write_quote(ctx, sum);
	ports = nat_at(ctx, packet->place.transport, sizeof(struct nat_quoted));
	check = nat_at(ctx, packet->place.check, sizeof(*check));
	if (!ports || !check)
		return XWAY_TRUNCATED;
	all = nat_write_ports(ports, packet, packet->to.source_port, packet->to.dest_port,
			      nat_pseudo(packet, packet->protocol, sum));
	nat_repair(check, all, packet->protocol);
	return XWAY_BALANCED;
}

/* Takes VLAN tags off, and writes the addresses of the frame. */
xway_global int nat_send(struct xdp_md *ctx)
{
	struct nat_packet *packet = nat_packet();
	struct ethhdr *eth;
	__u32 link;

	if (!packet)
		return XWAY_NO_HEADROOM;
	link = packet->place.ip;
	xway_opaque(link);
	link &= BALANCER_LINK_MASK;
	if (link != sizeof(*eth) && bpf_xdp_adjust_head(ctx, (int)(link - sizeof(*eth))))
		return XWAY_NO_HEADROOM;
	eth = xway_data(ctx);
	if ((void *)(eth + 1) > xway_data_end(ctx))
		return XWAY_TRUNCATED;
	xway_write_macs(eth, packet->hop.dest, packet->hop.source);
	xway_write_eth_type(eth, packet->is_ipv6 ? xway_htons(ETH_P_IPV6) : xway_htons(ETH_P_IP));
	return XWAY_BALANCED;
}

#endif
