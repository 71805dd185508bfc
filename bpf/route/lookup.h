/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Where a packet goes by the kernel's rules and tables: from the memory, or by bpf_fib_lookup().
 *
 * The lookup gets everything by which the kernel selects a route or one of several next hops.
 * Ports are those of the kernel's flow dissector: the SPI of ESP and AH counts as ports, and
 * fragments have none.
 */
#ifndef ROUTE_LOOKUP_H
#define ROUTE_LOOKUP_H

#include "route.abi.h"

#include <xway/bpf.h>
#include <xway/parse.h>

#include "hop.h"
#include "memory4.h"
#include "memory6.h"
#include "port.h"
#include "sample.h"
#include "scratch.h"

/* The ports of the packet at the cursor, or NULL if it has none. */
xway_inline const __be32 *route_ports_at(const struct xway_cursor *cur, int protocol)
{
	__u32 skip = protocol == IPPROTO_AH ? 4 : 0;
	const __be32 *ports = cur->pos + skip;

	if (!xway_has_ports(protocol) && protocol != IPPROTO_ESP && protocol != IPPROTO_AH)
		return NULL;
	if (xway_is_fragment(cur) || cur->left < skip + sizeof(*ports))
		return NULL;
	return (void *)(ports + 1) > cur->end ? NULL : ports;
}

xway_inline void route_refuse(struct route_way *way, enum xway_reason reason)
{
	way->egress = ROUTE_PORTS + reason;
}

/* Writes by what the kernel finds the route of a flow. */
xway_inline void route_describe(struct bpf_fib_lookup *fib, const struct route_flow *flow)
{
	fib->family = flow->family;
	if (flow->family == XWAY_AF_INET) {
		fib->tos = flow->label;
		fib->ipv4_src = flow->source[1];
		fib->ipv4_dst = flow->dest[1];
	} else {
		fib->flowinfo = flow->label;
		xway_memcpy(fib->ipv6_src, flow->source, sizeof(fib->ipv6_src));
		xway_memcpy(fib->ipv6_dst, flow->dest, sizeof(fib->ipv6_dst));
	}
}

/* Asks the kernel through which port packets that it sends itself leave. */
xway_inline int route_ask_back(struct xdp_md *ctx, const struct route_flow *flow,
			       struct route_way *way)
{
	struct bpf_fib_lookup *fib = route_query();
	long result;

	route_refuse(way, XWAY_NOT_FORWARDED);
	if (!fib)
		return 0;
	route_describe(fib, flow);
	fib->ifindex = ROUTE_LOOPBACK;
	result = bpf_fib_lookup(ctx, fib, sizeof(*fib), 0);
	if (result < 0 || result == BPF_FIB_LKUP_RET_FWD_DISABLED) {
		/* `lo` does not forward, or there is none. */
		fib->ifindex = ctx->ingress_ifindex;
		result = bpf_fib_lookup(ctx, fib, sizeof(*fib), 0);
	}
	if (result == BPF_FIB_LKUP_RET_SUCCESS || result == BPF_FIB_LKUP_RET_NO_NEIGH) {
		route_refuse(way, XWAY_NO_EGRESS);
		if (route_port_of(fib->ifindex) < ROUTE_PORTS)
			way->egress = route_port_of(fib->ifindex);
	}
	return 1;
}

/* The MTU of a route whose lookup returned this one. */
xway_inline __u32 route_mtu(const struct route_control *state, const struct route_flow *flow,
			    __u32 mtu)
{
	int is_ipv4 = flow->family == XWAY_AF_INET;
	__u32 smallest = is_ipv4 ? state->route_mtu4 : state->route_mtu6;

	return smallest && smallest < mtu ? smallest : mtu;
}

/*
 * Asks the kernel; 1 if another packet of the flow gets the same answer. A function of its own, so
 * that what follows is verified once, not for each of its ends.
 */
xway_global int route_ask(struct xdp_md *ctx, const struct route_flow *flow, struct route_way *way)
{
	const struct route_control *state = route_state();
	struct bpf_fib_lookup *fib = route_query();
	struct xway_port *port;
	long result;

	if (!flow || !way || !fib || !state)
		return 0;
	if (state->leaves6 && flow->family == XWAY_AF_INET6) {
		route_refuse(way, XWAY_NOT_FORWARDED);
		return 1;
	}
	route_describe(fib, flow);
	fib->l4_protocol = flow->protocol;
	fib->sport = (__be16)flow->ports;
	fib->dport = (__be16)(flow->ports >> 16);
	/* The shortest packet: the MTU is returned, and compared later. */
	fib->tot_len = 1;
	fib->ifindex = route_ifindex(ctx, flow->ingress);
	result = bpf_fib_lookup(ctx, fib, sizeof(*fib), 0);
	way->mtu = route_mtu(state, flow, fib->mtu_result);
	if (result < 0 || result > XWAY_NO_SOURCE - XWAY_FORWARDED) {
		route_refuse(way, XWAY_FIB_ERROR);
		return 0;
	}
	if (result != BPF_FIB_LKUP_RET_SUCCESS) {
		route_refuse(way, XWAY_FORWARDED + result);
		return result != BPF_FIB_LKUP_RET_NO_NEIGH;
	}
	way->egress = route_port_of(fib->ifindex);
	way->mac = xway_mac(fib->dmac);
	port = route_port(way->egress);
	if (!port) {
		route_refuse(way, XWAY_NO_EGRESS);
		return 1;
	}
	if (port->mac != xway_mac(fib->smac))
		port->mac = xway_mac(fib->smac);
	way->mac |= (__u64)route_hop_of(way->egress, port->epoch, way->mac) << ROUTE_MAC_BITS;
	return 1;
}

/*
 * Asks the kernel by copies: what functions get the address of is in memory, and the rest of the
 * program would read and write it there. `is_back`, a constant, selects packets that this host
 * itself sends.
 */
xway_inline int route_ask_for(struct xdp_md *ctx, const struct route_flow *flow,
			      struct route_way *way, int is_back)
{
	struct route_flow asked = *flow;
	struct route_way answer = {};
	int is_kept;

	if (is_back)
		is_kept = route_ask_back(ctx, &asked, &answer);
	else
		is_kept = route_ask(ctx, &asked, &answer);
	way->egress = answer.egress;
	way->mtu = answer.mtu;
	way->mac = answer.mac;
	return is_kept;
}

/*
 * Finds the way of a packet: from the memory of this processor, or from the kernel. Packets from
 * interfaces that are not ports, which have one number, are not remembered.
 */
xway_inline void route_find(struct xdp_md *ctx, const struct route_flow *flow,
			    struct route_way *way, int is_back)
{
	int is_ipv4 = flow->family == XWAY_AF_INET, is_kept;
	struct route_processor *own = NULL;
	struct route_place4 place4 = {};
	struct route_place6 place6 = {};
	__u32 processor = 0;

	if (route_remembers && (is_back || flow->ingress < ROUTE_PORTS)) {
		processor = bpf_get_smp_processor_id();
		own = bpf_map_lookup_elem(&route_processors, &processor);
	}
	if (!own) {
		route_ask_for(ctx, flow, way, is_back);
		way->turn = bpf_get_prandom_u32();
		return;
	}
	route_renew(own);
	if (is_ipv4 ? route_recall4(route_name4(flow, own), processor, &place4, way) :
		      route_recall6(route_name6(flow, own), processor, &place6, way)) {
		way->turn = ++own->hits;
		return;
	}
	is_kept = route_ask_for(ctx, flow, way, is_back);
	way->turn = ++own->misses;
	if (is_kept && is_ipv4)
		route_remember4(&place4, own, way);
	else if (is_kept)
		route_remember6(&place6, own, way);
}

/*
 * Bytes of the frame from the IP header on, all of which are sent: also those after the IP packet,
 * which the stack would remove.
 */
xway_inline __u32 route_length(struct xdp_md *ctx, const struct xway_cursor *cur, const void *ip)
{
	if (cur->frags)
		return bpf_xdp_get_buff_len(ctx) - (ip - xway_data(ctx));
	return cur->end - ip;
}

/*
 * The way of a packet of this length, without its Ethernet header, as a reason: XWAY_FORWARDED if
 * it can be sent.
 */
xway_inline enum xway_reason route_decide(struct xdp_md *ctx, const struct route_flow *flow,
					 __u32 length, struct route_way *way)
{
	route_find(ctx, flow, way, 0);
	if (way->egress >= ROUTE_PORTS)
		return way->egress - ROUTE_PORTS;
	if (length > way->mtu)
		return XWAY_TOO_BIG;
	if (route_is_sampled(way->turn))
		route_sample(flow, length + sizeof(struct ethhdr));
	return XWAY_FORWARDED;
}

#endif
