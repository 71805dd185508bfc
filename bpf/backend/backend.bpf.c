// SPDX-License-Identifier: Dual MIT/GPL
/*
 * backend: opens the tunnels that balancers deliver packets in, without tunnel devices.
 *
 * Path of a packet: parse, find the tunnel, compare outer and inner addresses with what is allowed,
 * look for the socket if the balancer named another backend, remove the outer headers, pass.
 * Packets that are not in a tunnel of this host go to the stack as they came.
 */
#include "backend.abi.h"

#include <xway/bpf.h>

#include <xway/csum.h>
#include <xway/parse.h>
#include <xway/stats.h>
#include <xway/store.h>

#include "mss.h"
#include "open.h"
#include "second.h"
#include "setting.h"
#include "tunnel.h"

/* Opens the tunnel of a packet, or sends it to the other backend. */
xway_inline enum xway_reason backend_finish(struct xdp_md *ctx, const struct xway_cursor *cur,
					    const struct tunnel_facts *facts)
{
	enum xway_reason opened = XWAY_OPENED, reason;

	if (facts->options && backend_lacks(ctx, facts->inner, facts->is_ipv6)) {
		if (backend_send_on(ctx, facts->options, facts->inner, facts->link))
			return XWAY_SECOND_CHANCE;
		opened = XWAY_NO_SECOND_WAY;
	}
	reason = backend_open(ctx, facts, cur->tags, cur->frags);
	return reason == XWAY_OPENED ? opened : reason;
}

xway_inline enum xway_reason backend_ipv4(struct xdp_md *ctx, struct xway_cursor *cur)
{
	struct tunnel_facts facts = {};
	enum xway_reason reason;
	struct iphdr *ip;
	int protocol = xway_parse_ipv4(cur, &ip);

	if (protocol < 0)
		return cur->fault;
	if (xway_is_cut(ctx, cur, NULL))
		return XWAY_TRUNCATED;
	facts.source[2] = facts.dest[2] = BACKEND_MAPPED;
	facts.source[3] = ip->saddr;
	facts.dest[3] = ip->daddr;
	facts.link = backend_offset(ctx, ip);
	facts.traffic_class = ip->tos;
	reason = backend_read(ctx, cur, &facts, protocol);
	/* The stack does not see this header any more. */
	if (reason == XWAY_OPENED && backend_ip_is_wrong(ip, cur->end))
		return XWAY_BAD_CHECKSUM;
	return reason == XWAY_OPENED ? backend_finish(ctx, cur, &facts) : reason;
}

xway_inline enum xway_reason backend_ipv6(struct xdp_md *ctx, struct xway_cursor *cur)
{
	struct tunnel_facts facts = {};
	enum xway_reason reason;
	struct ipv6hdr *ip;
	int protocol = xway_parse_ipv6(cur, &ip);

	if (protocol < 0)
		return cur->fault;
	if (xway_is_cut(ctx, cur, ip))
		return XWAY_TRUNCATED;
	xway_memcpy(facts.source, &ip->saddr, sizeof(facts.source));
	xway_memcpy(facts.dest, &ip->daddr, sizeof(facts.dest));
	facts.link = backend_offset(ctx, ip);
	facts.traffic_class = xway_ntohl(*(__be32 *)ip) >> 20;
	reason = backend_read(ctx, cur, &facts, protocol);
	return reason == XWAY_OPENED ? backend_finish(ctx, cur, &facts) : reason;
}

xway_inline enum xway_reason backend_judge(struct xdp_md *ctx, int frags)
{
	struct xway_cursor cur;
	struct ethhdr *eth;
	int type;

	xway_cursor(&cur, ctx, frags);
	type = xway_parse_eth(&cur, &eth);
	if (type < 0)
		return cur.fault;
	/* Broadcast and multicast frames are not of balancers. */
	if (eth->h_dest[0] & 1)
		return XWAY_NO_TUNNEL;
	if (type == ETH_P_IP)
		return backend_ipv4(ctx, &cur);
	if (type == ETH_P_IPV6)
		return backend_ipv6(ctx, &cur);
	return XWAY_NO_TUNNEL;
}

xway_inline __u32 backend_verdict(enum xway_reason reason)
{
	switch (reason) {
	case XWAY_SECOND_CHANCE:
		return XDP_TX;
	case XWAY_BAD_CHECKSUM:
	case XWAY_BAD_INNER:
	case XWAY_BAD_ECN:
	case XWAY_NO_SPACE:
		return XDP_DROP;
	default:
		return XDP_PASS;
	}
}

xway_inline int backend_packet(struct xdp_md *ctx, int frags)
{
	__u64 length = xway_frame_bytes(ctx, frags);
	enum xway_reason reason = backend_judge(ctx, frags);
	__u32 verdict = backend_verdict(reason);

	xway_decided(XWAY_UNNUMBERED, verdict, reason);
	return xway_done_bytes(length, verdict, reason);
}

XWAY_ENTRIES(xway_backend, backend_packet)

SEC("?tcx/egress")
int xway_backend_mss(struct __sk_buff *skb)
{
	return mss_packet(skb);
}

char xway_license[] SEC("license") = "Dual MIT/GPL";
