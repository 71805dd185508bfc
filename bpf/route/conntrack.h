/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Translation of packets whose connection the stack has established, as its connection tracking
 * has recorded it: NAT of nft and iptables, masquerading included.
 *
 * The stack decides about connections and sees their beginning and end; packets in between are
 * translated here. What the stack must see goes there as it came: packets without an established
 * entry, SYN, FIN and RST, fragments, protocols other than TCP and UDP, entries with a helper
 * (application-level gateway), an adjustment of sequence numbers or a timeout of their own.
 * Rule: as in the stack, the route is found by the new destination and the old source. Nothing is
 * written before it is known that the packet is forwarded.
 * Rule: the stack does not see the packets in between, so its check of TCP windows must be off
 * (net.netfilter.nf_conntrack_tcp_be_liberal); user space ensures that.
 */
#ifndef ROUTE_CONNTRACK_H
#define ROUTE_CONNTRACK_H

/* A program has no translations of its own then: each packet would have two paths. */
#define ROUTE_TRACKS 1

#include "route.abi.h"

#include <xway/bpf.h>
#include <xway/parse.h>

#include "entry.h"
#include "memory.h"
#include "nat4.h"
#include "nat6.h"

/* Which of two timeouts. */
enum route_timeout {
	ROUTE_TIMEOUT_TCP = 0,
	ROUTE_TIMEOUT_UDP = 1,
};
#define ROUTE_TIMEOUTS 2

/* Of established TCP and of streams of UDP, in milliseconds: sysctls of the namespace. */
const volatile __u32 route_tcp_timeout_ms = 432000000;
const volatile __u32 route_udp_timeout_ms = 120000;

/* The same in ticks of the kernel's clock, whose rate programs do not know; 0 before the first. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ROUTE_TIMEOUTS);
	__type(key, __u32);
	__type(value, __u32);
} route_timeouts SEC(".maps");

/* What an entry makes of a packet. IPv4 addresses are in the first word. */
struct route_established {
	struct route_transport transport;
	struct route_target6 source;
	struct route_target6 dest;
};

/* Why the packet is the stack's whatever its entry, or XWAY_FORWARDED. */
xway_inline enum xway_reason route_may_be_established(struct xway_cursor *cur, int protocol,
						      struct route_transport *transport)
{
	const struct tcphdr *tcp;

	if (protocol != IPPROTO_TCP && protocol != IPPROTO_UDP)
		return XWAY_NOT_ESTABLISHED;
	if (xway_is_fragment(cur))
		return XWAY_FRAGMENT;
	if (route_read_transport(cur, protocol, transport) < 0)
		return cur->fault;
	if (!transport->ports)
		return XWAY_NOT_ESTABLISHED;
	if (protocol == IPPROTO_UDP)
		return XWAY_FORWARDED;
	tcp = (const struct tcphdr *)transport->ports;
	return tcp->syn || tcp->fin || tcp->rst ? XWAY_HANDSHAKE : XWAY_FORWARDED;
}

xway_inline int route_has_extension(const struct nf_ct_ext *ext, __u64 number)
{
	const __u8 *offsets = __builtin_preserve_access_index(&ext->offset[0]);

	return offsets[number];
}

/* The entry has something that only the stack can do. */
xway_inline int route_needs_stack(struct nf_conn *entry, unsigned long status)
{
	struct nf_ct_ext *ext = entry->ext;

	if (status & (ROUTE_IPS_SEQ_ADJUST | ROUTE_IPS_HELPER))
		return 1;
	if (!ext)
		return 0;
	if (ROUTE_EXTENSION_EXISTS(NF_CT_EXT_TIMEOUT) &&
	    route_has_extension(ext, ROUTE_EXTENSION(NF_CT_EXT_TIMEOUT)))
		return 1;
	return ROUTE_EXTENSION_EXISTS(NF_CT_EXT_HELPER) &&
	       route_has_extension(ext, ROUTE_EXTENSION(NF_CT_EXT_HELPER));
}

xway_inline enum xway_reason route_is_established(struct nf_conn *entry, int protocol)
{
	unsigned long status = entry->status;

	if ((status & ROUTE_IPS_ESTABLISHED) != ROUTE_IPS_ESTABLISHED ||
	    status & (ROUTE_IPS_DYING | ROUTE_IPS_TEMPLATE))
		return XWAY_NOT_ESTABLISHED;
	if (protocol == IPPROTO_TCP && entry->proto.tcp.state != ROUTE_TCP_ESTABLISHED)
		return XWAY_NOT_ESTABLISHED;
	return route_needs_stack(entry, status) ? XWAY_CONNTRACK_EXTENSION : XWAY_FORWARDED;
}

/* The end of a packet is the other end of what answers it. */
xway_inline void route_read_tuple(const struct nf_conntrack_tuple *inverse,
				  struct route_established *established)
{
	xway_unroll
	for (int i = 0; i < 4; i++) {
		established->source.address[i] = inverse->dst.u3.ip6[i];
		established->dest.address[i] = inverse->src.u3.ip6[i];
	}
	established->source.port = inverse->dst.u.all;
	established->dest.port = inverse->src.u.all;
}

/*
 * Sets the timeout of the entry as a packet through the stack would, once 1/32 of it has passed:
 * this is a write to memory that all processors share.
 */
xway_inline void route_keep_alive(struct nf_conn *entry, int protocol)
{
	int is_udp = protocol == IPPROTO_UDP;
	__u32 which = is_udp ? ROUTE_TIMEOUT_UDP : ROUTE_TIMEOUT_TCP;
	__u32 *full = bpf_map_lookup_elem(&route_timeouts, &which);
	__u32 timeout_ms = is_udp ? route_udp_timeout_ms : route_tcp_timeout_ms;
	__u32 now = bpf_jiffies64();
	__u32 left = entry->timeout - now;

	if (!full || (*full && left > *full - (*full >> 5)))
		return;
	if (!bpf_ct_change_timeout(entry, timeout_ms))
		*full = entry->timeout - now;
}

/* Looks up the packet's entry; XWAY_FORWARDED: `established` has its new addresses. */
xway_inline enum xway_reason route_look_up(struct xdp_md *ctx, struct bpf_sock_tuple *tuple,
					   __u32 size, struct route_established *established)
{
	struct bpf_ct_opts___short options = {
		.netns_id = ROUTE_OWN_NAMESPACE,
		.l4proto = established->transport.protocol,
	};
	enum xway_reason reason;
	struct nf_conn *entry;

	entry = bpf_xdp_ct_lookup(ctx, tuple, size, &options, sizeof(options));
	if (!entry)
		return XWAY_NOT_ESTABLISHED;
	reason = route_is_established(entry, options.l4proto);
	if (reason == XWAY_FORWARDED) {
		/* The verifier requires constant offsets into an entry. */
		if (options.dir) {
			xway_opaque(entry);
			route_read_tuple(&entry->tuplehash[0].tuple, established);
		} else {
			xway_opaque(entry);
			route_read_tuple(&entry->tuplehash[1].tuple, established);
		}
		route_keep_alive(entry, options.l4proto);
	}
	bpf_ct_release(entry);
	return reason;
}

xway_inline enum xway_reason route_established4(struct xdp_md *ctx, struct xway_cursor *cur,
						const struct iphdr *ip,
						struct route_established *established)
{
	struct route_transport *transport = &established->transport;
	enum xway_reason reason = route_may_be_established(cur, ip->protocol, transport);
	struct bpf_sock_tuple tuple = {};

	if (reason != XWAY_FORWARDED)
		return reason;
	tuple.ipv4.saddr = ip->saddr;
	tuple.ipv4.daddr = ip->daddr;
	tuple.ipv4.sport = transport->ports->source;
	tuple.ipv4.dport = transport->ports->dest;
	return route_look_up(ctx, &tuple, sizeof(tuple.ipv4), established);
}

xway_inline enum xway_reason route_established6(struct xdp_md *ctx, struct xway_cursor *cur,
						const struct ipv6hdr *ip, int protocol,
						struct route_established *established)
{
	struct route_transport *transport = &established->transport;
	enum xway_reason reason = route_may_be_established(cur, protocol, transport);
	struct bpf_sock_tuple tuple = {};

	if (reason != XWAY_FORWARDED)
		return reason;
	xway_memcpy(tuple.ipv6.saddr, &ip->saddr, sizeof(tuple.ipv6.saddr));
	xway_memcpy(tuple.ipv6.daddr, &ip->daddr, sizeof(tuple.ipv6.daddr));
	tuple.ipv6.sport = transport->ports->source;
	tuple.ipv6.dport = transport->ports->dest;
	return route_look_up(ctx, &tuple, sizeof(tuple.ipv6), established);
}

/* The flow by which the route is found: the new destination, with its port. */
xway_inline void route_toward(const struct route_established *established,
			      struct route_flow *flow)
{
	if (flow->family == XWAY_AF_INET)
		flow->dest[1] = established->dest.address[0];
	else
		xway_memcpy(flow->dest, established->dest.address, sizeof(flow->dest));
	flow->ports = (flow->ports & 0xffff) | (__u32)established->dest.port << 16;
}

xway_inline void route_apply4(struct route_established *established, struct iphdr *ip)
{
	struct route_target4 dest = { established->dest.address[0], established->dest.port, 0 };
	struct route_target4 source = { established->source.address[0], established->source.port,
					0 };

	route_rewrite4(ip, &established->transport, &dest, ROUTE_DESTINATION);
	route_rewrite4(ip, &established->transport, &source, ROUTE_SOURCE);
}

xway_inline void route_apply6(struct route_established *established, struct ipv6hdr *ip)
{
	struct route_transport *transport = &established->transport;

	route_rewrite6(ip, transport, &established->dest, ROUTE_DESTINATION);
	route_rewrite6(ip, transport, &established->source, ROUTE_SOURCE);
}

#endif
