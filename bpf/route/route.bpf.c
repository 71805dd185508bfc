// SPDX-License-Identifier: Dual MIT/GPL
/*
 * route: routes packets by the kernel's own tables, after translating addresses where asked.
 *
 * Path of a packet: parse, check that it is sent to this host's MAC address and may be routed,
 * translate, find the route in the memory or ask the FIB, compare with the MTU, count the TTL down,
 * write the MAC addresses, redirect. What XDP cannot do goes to the stack: as it came, or, if a
 * translation applied, translated but otherwise untouched, so that the stack resolves the
 * neighbour, fragments or delivers for the address that the packet now has.
 * The sender's MAC is not checked, and its reverse path only where this is requested.
 * The two entries are described in xway/frame.h.
 */
#include "route.abi.h"

#include <xway/bpf.h>

const volatile enum route_nat route_nat = ROUTE_NAT_OPTIONAL;
/* Verdict for packets that are cut short or malformed: the stack can judge them, too. */
const volatile __u32 route_malformed = XDP_PASS;
/* Verdict for packets with IPv4 options or IPv6 extension headers. */
const volatile __u32 route_options = XDP_PASS;

#include <xway/csum.h>
#include <xway/parse.h>
#include <xway/stats.h>
#include <xway/store.h>
#include <xway/tag.h>

#ifdef ROUTE_CONNTRACK
#include "conntrack.h"
#else
#include "untracked.h"
#endif
#include "address.h"
#include "answer.h"
#include "lookup.h"
#include "nat4.h"
#include "nat6.h"
#include "reverse.h"
#include "plain.h"
#include "vlan.h"

_Static_assert(XWAY_NO_NEIGHBOUR - XWAY_FORWARDED == BPF_FIB_LKUP_RET_NO_NEIGH, "kernel's order");
_Static_assert(XWAY_TOO_BIG - XWAY_FORWARDED == BPF_FIB_LKUP_RET_FRAG_NEEDED, "kernel's order");

/* The IPv4 packet may be routed at all. */
xway_inline enum xway_reason route_admit4(const struct iphdr *ip)
{
	if (!route_routable4(ip->saddr) || !route_routable4(ip->daddr) || route_is_own4(ip->saddr))
		return XWAY_NOT_ROUTABLE;
	if (ip->ihl != 5)
		return XWAY_OPTIONS;
	if (!route_is_sound4(ip))
		return XWAY_BAD_HEADER;
	return XWAY_FORWARDED;
}

/*
 * Translates a packet; whether it was done is kept in `arrival`. Argument and result are in memory,
 * so that the verifier follows all of their values together.
 */
xway_inline enum xway_reason route_translate(struct xdp_md *ctx, struct route_way *way, int is_ipv6)
{
	struct xway_scratch *scratch = route_scratch();
	__u32 result;

	if (!scratch)
		return XWAY_FIB_ERROR;
	scratch->arrival = way->arrival;
	if (is_ipv6)
		route_translate6(ctx);
	else
		route_translate4(ctx);
	result = *(const volatile __u32 *)&scratch->translation;
	way->arrival |= result & ROUTE_TRANSLATED;
	return result & ROUTE_TRANSLATED ? XWAY_FORWARDED : (enum xway_reason)result;
}

xway_inline enum xway_reason route_ipv4(struct xdp_md *ctx, struct xway_cursor *cur,
					const struct ethhdr *eth, __u32 ingress,
					struct route_way *way)
{
	struct route_established established = {};
	enum xway_reason reason;
	struct route_flow flow;
	__u64 source[2] = {};
	const __be32 *ports;
	struct iphdr *ip;

	if (xway_parse_ipv4(cur, &ip) < 0)
		return cur->fault;
	if (xway_is_cut(ctx, cur, NULL))
		return XWAY_TRUNCATED;
	if (!route_is_own_mac(eth, ingress) && !route_is_new_mac4(ctx, eth, ip, ingress))
		return XWAY_OTHER_HOST;
	reason = route_admit4(ip);
	source[1] = ip->saddr;
	if (reason == XWAY_FORWARDED && route_may_have_translation())
		reason = route_translate(ctx, way, 0);
	ports = route_ports_at(cur, ip->protocol);
	if (reason == XWAY_FORWARDED)
		reason = route_established4(ctx, cur, ip, &established);
	if (reason != XWAY_FORWARDED)
		return reason;

	flow = (struct route_flow){
		.dest = { 0, ip->daddr },
		.source = { 0, ip->saddr },
		.ports = ports ? *ports : 0,
		.label = ip->tos,
		.ingress = ingress,
		.protocol = ip->protocol,
		.family = XWAY_AF_INET,
	};
	route_toward(&established, &flow);
	reason = route_decide(ctx, &flow, route_length(ctx, cur, ip), way);
	reason = route_restrict(ctx, reason, &flow, source, ip->ttl);
	if (reason == XWAY_FORWARDED) {
		route_apply4(&established, ip);
		ip->check = xway_csum_hop(ip->check);
		ip->ttl--;
	}
	return reason;
}

/* The IPv6 packet may be routed at all. */
xway_inline enum xway_reason route_admit6(const struct xway_cursor *cur,
					    const struct ipv6hdr *ip)
{
	if (!route_routable6(&ip->saddr) || !route_routable6(&ip->daddr))
		return XWAY_NOT_ROUTABLE;
	if (cur->extensions > (xway_is_fragment(cur) ? 1 : 0))
		return XWAY_OPTIONS;
	return XWAY_FORWARDED;
}

xway_inline enum xway_reason route_ipv6(struct xdp_md *ctx, struct xway_cursor *cur,
					const struct ethhdr *eth, __u32 ingress,
					struct route_way *way)
{
	struct route_established established = {};
	enum xway_reason reason;
	struct route_flow flow;
	__u64 source[2] = {};
	const __be32 *ports;
	struct ipv6hdr *ip;
	int protocol = xway_parse_ipv6(cur, &ip);

	if (protocol < 0)
		return cur->fault;
	if (xway_is_cut(ctx, cur, ip))
		return XWAY_TRUNCATED;
	if (!route_is_own_mac(eth, ingress) && !route_is_new_mac6(ctx, eth, ip, ingress))
		return XWAY_OTHER_HOST;
	reason = route_admit6(cur, ip);
	ports = route_ports_at(cur, protocol);
	if (route_reverse_path)
		xway_memcpy(source, &ip->saddr, sizeof(source));
	if (reason == XWAY_FORWARDED && route_may_have_translation())
		reason = route_translate(ctx, way, 1);
	if (reason == XWAY_FORWARDED)
		reason = route_established6(ctx, cur, ip, protocol, &established);
	if (reason != XWAY_FORWARDED)
		return reason;

	flow = (struct route_flow){
		.ports = ports ? *ports : 0,
		.label = *(__be32 *)ip & xway_htonl(0x0fffffff),
		.ingress = ingress,
		.protocol = protocol,
		.family = XWAY_AF_INET6,
	};
	xway_memcpy(flow.source, &ip->saddr, sizeof(flow.source));
	xway_memcpy(flow.dest, &ip->daddr, sizeof(flow.dest));
	route_toward(&established, &flow);
	reason = route_decide(ctx, &flow, route_length(ctx, cur, ip), way);
	reason = route_restrict(ctx, reason, &flow, source, ip->hop_limit);
	if (reason == XWAY_FORWARDED) {
		route_apply6(&established, ip);
		ip->hop_limit--;
	}
	return reason;
}

xway_inline enum xway_reason route_judge(struct xdp_md *ctx, int frags, struct route_way *way)
{
	struct route_arrival arrival = {};
	enum xway_reason reason;
	struct xway_cursor cur;
	struct ethhdr *eth;
	int plain;

	xway_cursor(&cur, ctx, frags);
	reason = route_arrive(ctx, &cur, &eth, &arrival, way);
	if (reason != XWAY_FORWARDED)
		return reason;
	plain = route_plain(&cur, eth, &arrival, way);
	if (xway_likely(plain == XWAY_FORWARDED))
		return route_send(ctx, eth, &arrival, way);
	if (plain >= 0)
		return plain;
	if (eth->h_dest[0] & 1)
		return XWAY_NOT_ROUTABLE;
	if (arrival.type == xway_htons(ETH_P_IP))
		reason = route_ipv4(ctx, &cur, eth, arrival.ingress, way);
	else if (arrival.type == xway_htons(ETH_P_IPV6))
		reason = route_ipv6(ctx, &cur, eth, arrival.ingress, way);
	else
		return XWAY_NOT_IP;
	if (reason == XWAY_FORWARDED)
		reason = route_send(ctx, eth, &arrival, way);
	return reason;
}

/* The verdict about a packet that is not forwarded. */
xway_inline __u32 route_verdict(enum xway_reason reason)
{
	switch (reason) {
	case XWAY_BLACKHOLE:
	case XWAY_REVERSE_PATH:
	case XWAY_ICMP_LIMIT:
		return XDP_DROP;
	case XWAY_OPTIONS:
		return route_options;
	case XWAY_TRUNCATED:
	case XWAY_BAD_HEADER:
	case XWAY_TOO_MANY_TAGS:
	case XWAY_TOO_MANY_EXTENSIONS:
		return route_malformed;
	default:
		return XDP_PASS;
	}
}

/* Whether an ICMP error may be sent for the reason. */
xway_inline int route_has_error(enum xway_reason reason)
{
	return reason == XWAY_TTL_EXPIRED || reason == XWAY_UNREACHABLE ||
	       reason == XWAY_PROHIBIT || reason == XWAY_TOO_BIG;
}

xway_inline int route_packet(struct xdp_md *ctx, int frags)
{
	__u64 length = xway_frame_bytes(ctx, frags);
	struct route_way way = {};
	enum xway_reason reason = route_judge(ctx, frags, &way);
	__u32 verdict, answer;

	if (xway_likely(reason == XWAY_FORWARDED)) {
		verdict = bpf_redirect_map(&xway_tx, way.egress, 0);
		if (verdict == XDP_REDIRECT)
			route_count_hop(way.mac >> ROUTE_MAC_BITS, length);
	} else if (route_has_error(reason) &&
		   (route_icmp_errors || way.arrival & ROUTE_TRANSLATED)) {
		answer = route_refuse_packet(ctx, reason, &way, length);
		verdict = answer & 0xff;
		reason = answer >> 8 & 0xff;
	} else {
		verdict = route_verdict(reason);
	}
	xway_decided(XWAY_UNNUMBERED, verdict, reason);
	return xway_done_bytes(length, verdict, reason);
}

XWAY_ENTRIES(xway_route, route_packet)

char xway_license[] SEC("license") = "Dual MIT/GPL";
