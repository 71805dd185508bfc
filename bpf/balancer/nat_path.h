/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Where packets leave the path of the balancer for translation, and come back. The functions of
 * nat.h read the packet again, so that the facts of a flow need not be in memory.
 */
#ifndef NAT_PATH_H
#define NAT_PATH_H

#include "choice.h"
#include "nat.h"
#include "service.h"

/* Keeps where the transport of a packet is, and what is known of it, without branches. */
xway_inline void nat_locate(struct xdp_md *ctx, const struct xway_cursor *cur,
			    struct flow_facts *flow, int protocol)
{
	__u32 fragment = cur->fragment;

	xway_opaque(fragment);
	flow->transport = balancer_offset(ctx, cur->pos);
	flow->transport_left = cur->left;
	flow->known = (protocol & 0xff) | fragment << NAT_FRAGMENT_SHIFT;
}

/* Whether an address, as two numbers, is in the pool. Verified once: its branches are many. */
xway_global int nat_is_own(__u64 first, __u64 last, __u32 is_ipv6)
{
	__be32 address[4] = { first, first >> 32, last, last >> 32 };

	return nat_address_number(address, !!is_ipv6) != NAT_NONE;
}

/* Whether a packet is to an address of the pool. */
xway_inline int nat_is_reply(const struct flow_facts *flow)
{
	return nat_is_own(balancer_pair(flow->dest), balancer_pair(flow->dest + 2), flow->is_ipv6);
}

xway_inline int nat_is_for(const struct service_rule *service)
{
	return service->flags & BALANCER_TRANSLATES;
}

/* Translates a packet; `known` has bits beside those of the flow. */
xway_inline int nat_process(struct xdp_md *ctx, const struct flow_facts *flow,
			    struct packet_choice *choice, __u32 link, __u32 known, int frags)
{
	struct nat_packet *packet = nat_packet();
	int reason;

	if (!packet)
		return XWAY_NO_SERVICE;
	packet->frame = xway_frame_bytes(ctx, frags);
	packet->identification = flow->identification;
	known |= flow->known | (flow->is_ipv6 ? NAT_IS_IPV6 : 0);
	known |= flow->may_fragment * NAT_MAY_FRAGMENT;
	reason = nat_run(ctx, link, flow->transport, flow->transport_left, known);
	choice->is_sent = 1;
	choice->number = *(volatile __u16 *)&packet->number;
	choice->egress = *(volatile __u32 *)&packet->hop.ifindex;
	choice->vlan = *(volatile __u32 *)&packet->hop.vlan;
	return reason;
}

/* Translates a packet to a service. */
xway_inline int nat_take(struct xdp_md *ctx, const struct flow_facts *flow,
			 const struct service_rule *service, struct packet_choice *choice,
			 __u32 link, int frags)
{
	struct nat_packet *packet = nat_packet();

	if (!packet)
		return XWAY_NO_SERVICE;
	packet->hash = choice->hash;
	packet->table = service->table;
	return nat_process(ctx, flow, choice, link, 0, frags);
}

/* Translates a later fragment of a packet to a service; XWAY_UNKNOWN_FRAGMENT if it is of none. */
xway_inline int nat_take_later(struct xdp_md *ctx, const struct flow_facts *flow,
			       struct packet_choice *choice, __u32 link, int frags)
{
	int reason = nat_process(ctx, flow, choice, link, 0, frags);

	choice->is_sent = reason != XWAY_UNKNOWN_FRAGMENT;
	return reason;
}

/* Translates a packet from a backend. */
xway_inline int nat_take_reply(struct xdp_md *ctx, const struct flow_facts *flow,
			       struct packet_choice *choice, __u32 link, int frags)
{
	return nat_process(ctx, flow, choice, link, NAT_IS_REPLY, frags);
}

#endif
