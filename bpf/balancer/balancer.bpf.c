// SPDX-License-Identifier: Dual MIT/GPL
/*
 * balancer: sends packets for services to backends.
 *
 * Path of a packet: parse, find the service, hash the flow, find the backend by the QUIC connection
 * id or the slot (where slots moved, by the memory of flows), find the way to it, add the outer
 * headers, send. Packets that are not for a service go to the stack as they came.
 * The backend answers the client itself, from the address of the service.
 */
#include "balancer.abi.h"

#include <xway/bpf.h>

/* Verdict for packets that are cut short or malformed: the stack can judge them, too. */
const volatile __u32 balancer_malformed = XDP_PASS;

#include <xway/csum.h>
#include <xway/parse.h>
#include <xway/stats.h>
#include <xway/store.h>

#include "choice.h"
#include "flow.h"
#include "fragment.h"
#include "hop.h"
#include "outer.h"
#include "own.h"
#include "quic.h"
#include "read.h"
#include "second.h"
#include "service.h"
#include "slot.h"
#include "too_big.h"
#include "vlan.h"
#ifdef BALANCER_NATS
#include "nat_path.h"
#else
#include "untranslated.h"
#endif

/* The number of a flow's backend, or BALANCER_NONE. */
xway_inline __u32 balancer_choose(const struct flow_facts *flow,
				  const struct service_rule *service, __u64 hash)
{
	__u32 current = balancer_slot(service->table, hash), former = BALANCER_NONE;
	__u32 signal = flow->signal, number;
	const struct balancer_backend *backend;

	if (service->former != BALANCER_NO_TABLE)
		former = balancer_slot(service->former, hash);
	if (former == BALANCER_NONE)
		return current;
	if (signal == BALANCER_DATAGRAM && service->flags & BALANCER_KEEPS_DATAGRAMS)
		signal = BALANCER_KEPT_DATAGRAM;
	former = balancer_recall(hash, flow->sequence, signal, current | former << 16);
	number = former & BALANCER_NONE;
	backend = bpf_map_lookup_elem(&balancer_backends, &number);
	if (!backend || backend->flags & BALANCER_DEAD)
		return current;
	/* Only Geneve can name another one. */
	return backend->option ? former : number;
}

/* The number of the backend that a QUIC connection id names in this set, or BALANCER_NONE. */
xway_inline __u32 balancer_route_id(struct xdp_md *ctx, const struct flow_facts *flow, __u32 link,
				    __u32 set)
{
	__u32 at = link + flow->length - flow->left, is_quote = flow->signal == BALANCER_ERROR;
	__u32 number = balancer_by_plain_id(ctx, at, flow->left, set, is_quote);

	if (number != QUIC_UNDECIDED)
		return number;
	return balancer_by_id(ctx, at, flow->left, set, is_quote);
}

/* Finds the service and the backend of a packet; XWAY_BALANCED if there are both. */
xway_inline enum xway_reason balancer_decide(struct xdp_md *ctx, const struct flow_facts *flow,
					     struct packet_choice *choice, __u32 link, int frags)
{
	const struct service_rule *service;
	const struct fragment_first *first;
	enum xway_reason reason;
	__u32 quic;

	if (flow->is_later) {
		reason = nat_take_later(ctx, flow, choice, link, frags);
		if (reason != XWAY_UNKNOWN_FRAGMENT)
			return reason;
		first = balancer_first(flow);
		if (!first)
			return XWAY_UNKNOWN_FRAGMENT;
		choice->hash = first->hash;
		choice->number = first->backend;
		return XWAY_BALANCED;
	}
	service = balancer_find_service(flow);
	if (!service)
		return XWAY_NO_SERVICE;
	choice->hash = balancer_hash(flow, service);
	if (nat_is_for(service))
		return nat_take(ctx, flow, service, choice, link, frags);
	choice->number = BALANCER_NONE;
	quic = service->flags >> BALANCER_QUIC_SHIFT;
	if (quic)
		choice->number = balancer_route_id(ctx, flow, link, quic);
	if (choice->number == BALANCER_NONE)
		choice->number = balancer_choose(flow, service, choice->hash);
	if (choice->number == BALANCER_NONE)
		return XWAY_NO_BACKEND;
	if (flow->is_fragment)
		balancer_keep(flow, choice->hash, choice->number & BALANCER_NONE);
	return XWAY_BALANCED;
}

/* The sum of the inner packet, after `link` bytes; -1 if it does not end in the frame. */
xway_inline __s64 balancer_sum(struct xdp_md *ctx, const struct flow_facts *flow, const void *ip,
			       __u32 link, int frags)
{
	if (flow->is_whole)
		return balancer_inner_sum(flow, ip);
	return frags ? balancer_sum_far(ctx, link, flow->length) :
		       balancer_sum_near(ctx, link, flow->length);
}

/* Gives a frame the addresses of a way, and takes the VLAN tags off that it came with. */
xway_inline enum xway_reason balancer_readdress(struct xdp_md *ctx, const struct balancer_hop *hop,
						__u32 link, int is_ipv6)
{
	struct ethhdr *eth;

	link &= BALANCER_LINK_MASK;
	if (link != sizeof(*eth) && bpf_xdp_adjust_head(ctx, (int)(link - sizeof(*eth))))
		return XWAY_NO_HEADROOM;
	eth = xway_data(ctx);
	if ((void *)(eth + 1) > xway_data_end(ctx))
		return XWAY_TRUNCATED;
	xway_write_macs(eth, hop->dest, hop->source);
	xway_write_eth_type(eth, is_ipv6 ? xway_htons(ETH_P_IPV6) : xway_htons(ETH_P_IP));
	return XWAY_BALANCED;
}

/* Sends the packet, which begins after `link` bytes, to the backend: XWAY_BALANCED, or why not. */
xway_inline enum xway_reason balancer_deliver(struct xdp_md *ctx, const struct flow_facts *flow,
					      struct packet_choice *choice, __u32 link, int frags)
{
	__u32 number = choice->number & BALANCER_NONE, added;
	const struct balancer_backend *backend = bpf_map_lookup_elem(&balancer_backends, &number);
	struct balancer_tunnel tunnel = {
		.backend = backend,
		.hash = choice->hash,
		.length = flow->length,
		.traffic_class = flow->traffic_class,
		.may_fragment = flow->may_fragment,
		.is_ipv6 = flow->is_ipv6,
	};
	struct balancer_hop *hop;
	struct ethhdr *eth;
	__s64 sum;
	void *ip;

	if (!backend)
		return XWAY_NO_BACKEND;
	hop = balancer_hop(ctx, backend, number);
	if (!hop)
		return XWAY_NO_ROUTE;
	if (hop->reason != XWAY_BALANCED)
		return hop->reason;
	added = backend->overhead;
	if (choice->number != number)
		added += backend->option;
	if (flow->length + added > hop->mtu) {
		if (link != sizeof(*eth) || hop->mtu < added)
			return XWAY_TOO_BIG;
		return balancer_refuse(ctx, flow, xway_frame_bytes(ctx, frags), hop->mtu - added);
	}
	choice->egress = hop->ifindex;
	choice->vlan = hop->vlan;
	if (backend->delivery == BALANCER_MAC)
		return balancer_readdress(ctx, hop, link, flow->is_ipv6);
	eth = xway_data(ctx);
	if (backend->delivery != BALANCER_IPIP && backend->is_ipv6 &&
	    !(backend->flags & BALANCER_NO_SUM)) {
		ip = (void *)eth + (link & BALANCER_LINK_MASK);
		if (ip + (flow->is_ipv6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr)) >
		    xway_data_end(ctx))
			return XWAY_TRUNCATED;
		sum = balancer_sum(ctx, flow, ip, link, frags);
		if (sum < 0)
			return XWAY_NO_CHECKSUM;
		tunnel.check = balancer_udp_sum(&tunnel, sum);
	}
	return balancer_wrap(ctx, &tunnel, hop, link & BALANCER_LINK_MASK);
}

/* Finds the backend of a packet and sends it there. */
xway_inline enum xway_reason balancer_send(struct xdp_md *ctx, const struct flow_facts *flow,
					   struct packet_choice *choice, __u32 link, int frags)
{
	enum xway_reason reason = balancer_decide(ctx, flow, choice, link, frags);

	if (reason != XWAY_BALANCED || choice->is_sent)
		return reason;
	return balancer_deliver(ctx, flow, choice, link, frags);
}

xway_inline enum xway_reason balancer_ipv4(struct xdp_md *ctx, struct xway_cursor *cur,
					   struct packet_choice *choice)
{
	struct flow_facts flow = { .is_whole = 1 };
	struct iphdr *ip;

	if (xway_parse_ipv4(cur, &ip) < 0)
		return cur->fault;
	if (xway_is_cut(ctx, cur, NULL))
		return XWAY_TRUNCATED;
	balancer_map4(flow.source, ip->saddr);
	balancer_map4(flow.dest, ip->daddr);
	flow.length = xway_length(ip->tot_len);
	flow.traffic_class = ip->tos;
	flow.may_fragment = !(ip->frag_off & BALANCER_DF);
	if (xway_is_fragment(cur)) {
		flow.is_fragment = 1;
		flow.is_whole = 0;
		flow.identification = ip->id;
	}
	flow.is_later = xway_is_later_fragment(cur);
	nat_locate(ctx, cur, &flow, ip->protocol);
	if (nat_is_reply(&flow))
		return nat_take_reply(ctx, &flow, choice, balancer_offset(ctx, ip), cur->frags);
	if (!flow.is_later && balancer_read_transport(cur, &flow, ip->protocol) < 0)
		return cur->fault;
	flow.left = cur->left;
	return balancer_send(ctx, &flow, choice, balancer_offset(ctx, ip), cur->frags);
}

xway_inline enum xway_reason balancer_ipv6(struct xdp_md *ctx, struct xway_cursor *cur,
					   struct packet_choice *choice)
{
	struct flow_facts flow = { .is_ipv6 = 1, .is_whole = 1 };
	struct ipv6hdr *ip;
	int protocol = xway_parse_ipv6(cur, &ip);

	if (protocol < 0)
		return cur->fault;
	if (xway_is_cut(ctx, cur, ip))
		return XWAY_TRUNCATED;
	balancer_copy6(flow.source, &ip->saddr);
	balancer_copy6(flow.dest, &ip->daddr);
	flow.length = xway_length(ip->payload_len) + sizeof(*ip);
	flow.traffic_class = xway_ntohl(*(__be32 *)ip) >> 20;
	if (cur->extensions) {
		const struct xway_extension *fragment = (void *)(ip + 1);

		flow.is_whole = 0;
		flow.is_fragment = xway_is_fragment(cur);
		if (flow.is_fragment && (void *)(fragment + 1) <= cur->end)
			flow.identification = fragment->rest;
	}
	flow.is_later = xway_is_later_fragment(cur);
	nat_locate(ctx, cur, &flow, protocol);
	if (nat_is_reply(&flow))
		return nat_take_reply(ctx, &flow, choice, balancer_offset(ctx, ip), cur->frags);
	if (!flow.is_later && balancer_read_transport(cur, &flow, protocol) < 0)
		return cur->fault;
	flow.left = cur->left;
	return balancer_send(ctx, &flow, choice, balancer_offset(ctx, ip), cur->frags);
}

xway_inline enum xway_reason balancer_judge(struct xdp_md *ctx, int frags,
					    struct packet_choice *choice)
{
	struct xway_cursor cur;
	struct ethhdr *eth;
	int type;

	xway_cursor(&cur, ctx, frags);
	type = xway_parse_eth(&cur, &eth);
	if (type < 0)
		return cur.fault;
	/* Broadcast and multicast frames are not for a service. */
	if (eth->h_dest[0] & 1)
		return XWAY_NO_SERVICE;
	if (type != ETH_P_IP && type != ETH_P_IPV6)
		return XWAY_NOT_IP;
	if (!balancer_is_own(ctx, eth, balancer_offset(ctx, cur.pos)))
		return XWAY_OTHER_HOST;
	return type == ETH_P_IP ? balancer_ipv4(ctx, &cur, choice) :
				  balancer_ipv6(ctx, &cur, choice);
}

xway_inline __u32 balancer_verdict(struct xdp_md *ctx, enum xway_reason reason, __u32 egress)
{
	switch (reason) {
	case XWAY_BALANCED:
	case XWAY_RETURNED:
		if (egress == ctx->ingress_ifindex)
			return XDP_TX;
		return bpf_redirect_map(&xway_tx, egress, 0);
	case XWAY_SENT_TOO_BIG:
		return XDP_TX;
	case XWAY_NO_BACKEND:
	case XWAY_TOO_BIG:
	case XWAY_ICMP_LIMIT:
	case XWAY_NO_ROUTE:
	case XWAY_NO_NEIGHBOUR:
	case XWAY_NO_EGRESS:
	case XWAY_NO_HEADROOM:
	case XWAY_NO_CHECKSUM:
	case XWAY_NAT_FULL:
	case XWAY_NAT_BUSY:
	case XWAY_NO_FLOW:
	case XWAY_TTL:
		/* The stack would answer for the service. */
		return XDP_DROP;
	case XWAY_TRUNCATED:
	case XWAY_BAD_HEADER:
	case XWAY_TOO_MANY_TAGS:
	case XWAY_TOO_MANY_EXTENSIONS:
		return balancer_malformed;
	default:
		return XDP_PASS;
	}
}

/* What a frame gets last, outside of its headers: -1 if there is no space. */
xway_inline int balancer_complete(struct xdp_md *ctx, const struct packet_choice *choice)
{
	if (choice->number > BALANCER_NONE && balancer_name_other(ctx, choice->number) < 0)
		return -1;
	return choice->vlan ? balancer_tag(ctx, choice->vlan) : 0;
}

xway_inline void balancer_count_sent(__u32 number, __u64 length)
{
	struct xway_count *count = bpf_map_lookup_elem(&balancer_counts, &number);

	if (!count)
		return;
	count->packets++;
	count->bytes += length;
}

xway_inline int balancer_packet(struct xdp_md *ctx, int frags)
{
	__u64 length = xway_frame_bytes(ctx, frags);
	struct packet_choice choice = {};
	enum xway_reason reason = balancer_judge(ctx, frags, &choice);
	__u32 verdict = balancer_verdict(ctx, reason, choice.egress);

	if ((reason == XWAY_BALANCED || reason == XWAY_RETURNED) &&
	    balancer_complete(ctx, &choice) < 0) {
		reason = XWAY_NO_HEADROOM;
		verdict = XDP_DROP;
	}
	if (reason == XWAY_BALANCED)
		balancer_count_sent(choice.number & BALANCER_NONE, length);
	xway_decided(XWAY_UNNUMBERED, verdict, reason);
	return xway_done_bytes(length, verdict, reason);
}

XWAY_ENTRIES(xway_balancer, balancer_packet)

char xway_license[] SEC("license") = "Dual MIT/GPL";
