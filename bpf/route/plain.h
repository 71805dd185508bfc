/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Plain packets: those that need nothing but a route, which is remembered by the destination alone.
 * Most packets are plain, so they have a path of their own, with half of the instructions: no ports
 * are read, and what follows from a remembered route is not examined again, such as whether its
 * destination may be routed.
 *
 * Rule: nothing is written before all conditions hold; else the packet takes the path of all others
 * (route.bpf.c), which decides in the same way.
 * Not here: translations, connection tracking, checks of sources, frames in several buffers.
 */
#ifndef ROUTE_PLAIN_H
#define ROUTE_PLAIN_H

#include "route.abi.h"

#include <xway/bpf.h>
#include <xway/csum.h>
#include <xway/parse.h>

#include "address.h"
#include "icmp4.h"
#include "icmp6.h"
#include "lookup.h"
#include "nat.h"
#include "port.h"
#include "reverse.h"
#include "vlan.h"

/* First byte of an IPv4 header without options. */
#define ROUTE_PLAIN4 0x45

/* What else is compared of a plain packet whose way is remembered. */
struct route_plain {
	/* As of route_length(). */
	__u32 length;
	__u8 ttl;
	/* An error may be sent about it. */
	__u8 is_answerable;
	/* The network whose errors are limited. */
	__u64 network;
};

/* The state of this processor if the destination alone decides and all entries are valid. */
xway_inline struct route_processor *route_plain_state(__u32 processor)
{
	struct route_processor *own = bpf_map_lookup_elem(&route_processors, &processor);
	const struct route_control *control = route_state();

	if (!own || !control || own->followed != ROUTE_BY_DESTINATION ||
	    own->tick != bpf_jiffies64() ||
	    own->seen != *(const volatile __u64 *)&control->generation)
		return NULL;
	return own;
}

/* The reason for a plain packet whose way is remembered; -1 if it is not plain. */
xway_inline int route_use(struct route_processor *own, const struct route_plain *packet,
			  const struct route_way *known, struct route_way *way)
{
	enum xway_reason reason = XWAY_FORWARDED;

	if (known->egress >= ROUTE_PORTS) {
		reason = known->egress - ROUTE_PORTS;
		if (packet->ttl <= 1 && route_leads_on(reason))
			return -1;
	} else if (route_is_sampled(own->hits + 1)) {
		return -1;
	} else if (packet->ttl <= 1) {
		if (!packet->is_answerable || !route_icmp_errors ||
		    !route_is_exhausted(packet->network))
			return -1;
		reason = XWAY_ICMP_LIMIT;
	} else if (packet->length > known->mtu) {
		return -1;
	}
	own->hits++;
	way->egress = known->egress;
	way->mtu = known->mtu;
	way->mac = known->mac;
	return reason;
}

xway_inline int route_plain4(const struct xway_cursor *cur, __u32 ingress, struct route_way *way)
{
	__u32 processor = bpf_get_smp_processor_id();
	struct route_place4 place = {};
	struct route_processor *own;
	struct route_plain packet;
	struct route_way known = {};
	struct iphdr *ip = cur->pos;
	const __u8 *first = cur->pos;
	int reason;

	if ((void *)(ip + 1) > cur->end || *first != ROUTE_PLAIN4 ||
	    xway_length(ip->tot_len) < sizeof(*ip) ||
	    (void *)ip + xway_length(ip->tot_len) > cur->end)
		return -1;
	if (!route_routable4(ip->saddr) || route_is_own4(ip->saddr) || !route_is_sound4(ip))
		return -1;
	own = route_plain_state(processor);
	if (!own)
		return -1;
	if (!route_recall4((struct route_name4){
		    .head = route_head(own->generation, ingress, 0, 0),
		    .addresses = ip->daddr,
	    }, processor, &place, &known))
		return -1;
	packet = (struct route_plain){
		.length = cur->end - cur->pos,
		.ttl = ip->ttl,
		.is_answerable = ip->protocol != IPPROTO_ICMP &&
				 !(ip->frag_off & xway_htons(XWAY_OFFSET4)),
		.network = route_network4(ip),
	};
	reason = route_use(own, &packet, &known, way);
	if (reason == XWAY_FORWARDED) {
		ip->check = xway_csum_hop(ip->check);
		ip->ttl--;
	}
	return reason;
}

xway_inline int route_plain6(const struct xway_cursor *cur, __u32 ingress, struct route_way *way)
{
	__u32 processor = bpf_get_smp_processor_id();
	struct route_place6 place = {};
	struct ipv6hdr *ip = cur->pos;
	struct route_processor *own;
	struct route_plain packet;
	struct route_way known = {};
	struct route_name6 name = {};
	int reason;

	if ((void *)(ip + 1) > cur->end || ip->version != 6 ||
	    xway_protocols[ip->nexthdr].length_shift ||
	    (void *)(ip + 1) + xway_length(ip->payload_len) > cur->end ||
	    !route_routable6(&ip->saddr))
		return -1;
	own = route_plain_state(processor);
	if (!own)
		return -1;
	name.head = route_head(own->generation, ingress, 0, 0);
	xway_memcpy(name.dest, &ip->daddr, sizeof(name.dest));
	if (!route_recall6(name, processor, &place, &known))
		return -1;
	packet = (struct route_plain){
		.length = cur->end - cur->pos,
		.ttl = ip->hop_limit,
		.is_answerable = ip->nexthdr != IPPROTO_ICMPV6,
		.network = route_network6(ip),
	};
	reason = route_use(own, &packet, &known, way);
	if (reason == XWAY_FORWARDED)
		ip->hop_limit--;
	return reason;
}

/*
 * The reason for the packet after the link header, whose way and TTL are written if it is
 * XWAY_FORWARDED; -1 if the packet is not plain.
 */
xway_inline int route_plain(const struct xway_cursor *cur, const struct ethhdr *eth,
			    const struct route_arrival *arrival, struct route_way *way)
{
	if (ROUTE_TRACKS || cur->frags || !route_remembers || route_reverse_path || route_any_mac)
		return -1;
	if (arrival->ingress >= ROUTE_PORTS || route_may_have_translation() ||
	    !route_is_own_mac(eth, arrival->ingress))
		return -1;
	if (arrival->type == xway_htons(ETH_P_IP))
		return route_plain4(cur, arrival->ingress, way);
	if (arrival->type == xway_htons(ETH_P_IPV6))
		return route_plain6(cur, arrival->ingress, way);
	return -1;
}

#endif
