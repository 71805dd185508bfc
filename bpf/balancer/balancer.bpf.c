// SPDX-License-Identifier: Dual MIT/GPL
/*
 * balancer: sends packets for services to backends.
 *
 * Path of a packet: parse, find the service, hash the flow, find the backend by the slot (or, where
 * slots moved, by the memory of flows), find the way to it, add the outer headers, send. Packets
 * that are not for a service go to the stack as they came.
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

#include "flow.h"
#include "fragment.h"
#include "hop.h"
#include "outer.h"
#include "read.h"
#include "service.h"

/*
 * Index: number of the table times BALANCER_LINES, and the line. User space sets the size;
 * mappable to begin on a page.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct balancer_line);
} balancer_tables SEC(".maps");

/* Where a packet goes. */
struct balancer_choice {
	__u64 hash;
	__u32 number;
	struct balancer_backend *backend;
};

/* The backend of a slot in a table, or BALANCER_NONE. */
xway_inline __u32 balancer_slot(__u32 table, __u64 hash)
{
	__u32 slot = hash >> (64 - BALANCER_SLOT_BITS);
	__u32 index = table * BALANCER_LINES + (slot >> BALANCER_LINE_BITS);
	const struct balancer_line *line = bpf_map_lookup_elem(&balancer_tables, &index);

	if (!line)
		return BALANCER_NONE;
	return *(const volatile __u16 *)&line->slots[slot & (BALANCER_LINE_SLOTS - 1)];
}

/* Selects the backend of a number; 0 if it is dead or there is none. */
xway_inline int balancer_select(struct balancer_choice *choice, __u32 number)
{
	choice->number = number;
	choice->backend = bpf_map_lookup_elem(&balancer_backends, &number);
	return choice->backend && !(choice->backend->flags & BALANCER_DEAD);
}

/* Chooses the backend of a flow; 0 if there is none. */
xway_inline int balancer_choose(const struct flow_facts *flow,
				const struct balancer_rule *service,
				struct balancer_choice *choice)
{
	__u32 current = balancer_slot(service->table, choice->hash), former = BALANCER_NONE;
	__u32 signal = flow->signal;

	if (service->former != BALANCER_NO_TABLE)
		former = balancer_slot(service->former, choice->hash);
	if (former == BALANCER_NONE)
		return balancer_select(choice, current) || choice->backend;
	if (signal == BALANCER_DATAGRAM && service->flags & BALANCER_KEEPS_DATAGRAMS)
		signal = BALANCER_KEPT_DATAGRAM;
	former = balancer_recall(choice->hash, flow->sequence, signal, current | former << 16);
	return balancer_select(choice, former) || balancer_select(choice, current) ||
	       choice->backend;
}

/* The sum of the whole packet from a position of the frame on; -1 if it is not there. */
xway_inline __s64 balancer_sum_all(struct xdp_md *ctx, __u32 at, __u32 length, int frags)
{
	struct xway_part part = { .ctx = ctx, .at = at, .left = length };

	return xway_sum_of(&part, frags);
}

/* Sends the packet to the backend: XWAY_BALANCED, or why not. */
xway_inline enum xway_reason balancer_deliver(struct xdp_md *ctx, const struct flow_facts *flow,
					      const struct balancer_choice *choice, const void *ip,
					      __u32 *egress, int frags)
{
	const struct balancer_backend *backend = choice->backend;
	struct balancer_hop *hop = balancer_hop(ctx, backend, choice->number);
	struct balancer_tunnel tunnel = {
		.backend = backend,
		.hash = choice->hash,
		.length = flow->length,
		.traffic_class = flow->traffic_class,
		.may_fragment = flow->may_fragment,
		.is_ipv6 = flow->is_ipv6,
	};
	__u32 link = ip - xway_data(ctx);
	struct ethhdr *eth;
	__s64 sum;

	if (!hop)
		return XWAY_NO_ROUTE;
	if (hop->reason != XWAY_BALANCED)
		return hop->reason;
	if (flow->length + backend->overhead > hop->mtu)
		return XWAY_TOO_BIG;
	*egress = hop->ifindex;
	if (backend->delivery == BALANCER_MAC) {
		eth = xway_data(ctx);
		if ((void *)(eth + 1) > xway_data_end(ctx))
			return XWAY_TRUNCATED;
		balancer_write_macs(eth, hop);
		return XWAY_BALANCED;
	}
	if (backend->delivery != BALANCER_IPIP && backend->is_ipv6 &&
	    !(backend->flags & BALANCER_NO_SUM)) {
		if (flow->is_whole)
			sum = balancer_inner_sum(flow, ip);
		else
			sum = balancer_sum_all(ctx, link, flow->length, frags);
		if (sum < 0)
			return XWAY_NO_CHECKSUM;
		tunnel.check = balancer_udp_sum(&tunnel, sum);
	}
	return balancer_wrap(ctx, &tunnel, hop, link);
}

/* Finds the service and the backend of a packet; XWAY_BALANCED if there are both. */
xway_inline enum xway_reason balancer_decide(const struct xway_cursor *cur,
					     const struct flow_facts *flow,
					     struct balancer_choice *choice)
{
	const struct balancer_rule *service;
	const struct fragment_first *first;

	if (xway_is_later_fragment(cur)) {
		first = balancer_first(flow);
		if (!first)
			return XWAY_UNKNOWN_FRAGMENT;
		choice->hash = first->hash;
		balancer_select(choice, first->backend);
		return choice->backend ? XWAY_BALANCED : XWAY_NO_BACKEND;
	}
	service = balancer_find_service(flow);
	if (!service)
		return XWAY_NO_SERVICE;
	choice->hash = balancer_hash(flow, service);
	if (!balancer_choose(flow, service, choice))
		return XWAY_NO_BACKEND;
	if (xway_is_fragment(cur))
		balancer_keep(flow, choice->hash, choice->number);
	return XWAY_BALANCED;
}

xway_inline enum xway_reason balancer_ipv4(struct xdp_md *ctx, struct xway_cursor *cur,
					   struct balancer_choice *choice, __u32 *egress)
{
	struct flow_facts flow = { .is_whole = 1 };
	enum xway_reason reason;
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
		flow.is_whole = 0;
		flow.identification = ip->id;
	}
	if (!xway_is_later_fragment(cur) && balancer_read_transport(cur, &flow, ip->protocol) < 0)
		return cur->fault;
	reason = balancer_decide(cur, &flow, choice);
	if (reason != XWAY_BALANCED)
		return reason;
	return balancer_deliver(ctx, &flow, choice, ip, egress, cur->frags);
}

xway_inline enum xway_reason balancer_ipv6(struct xdp_md *ctx, struct xway_cursor *cur,
					   struct balancer_choice *choice, __u32 *egress)
{
	struct flow_facts flow = { .is_ipv6 = 1, .is_whole = 1 };
	enum xway_reason reason;
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
		if (xway_is_fragment(cur) && (void *)(fragment + 1) <= cur->end)
			flow.identification = fragment->rest;
	}
	if (!xway_is_later_fragment(cur) && balancer_read_transport(cur, &flow, protocol) < 0)
		return cur->fault;
	reason = balancer_decide(cur, &flow, choice);
	if (reason != XWAY_BALANCED)
		return reason;
	return balancer_deliver(ctx, &flow, choice, ip, egress, cur->frags);
}

xway_inline enum xway_reason balancer_judge(struct xdp_md *ctx, int frags,
					    struct balancer_choice *choice, __u32 *egress)
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
	if (type == ETH_P_IP)
		return balancer_ipv4(ctx, &cur, choice, egress);
	if (type == ETH_P_IPV6)
		return balancer_ipv6(ctx, &cur, choice, egress);
	return XWAY_NOT_IP;
}

xway_inline __u32 balancer_verdict(struct xdp_md *ctx, enum xway_reason reason, __u32 egress)
{
	switch (reason) {
	case XWAY_BALANCED:
		if (egress == ctx->ingress_ifindex)
			return XDP_TX;
		return bpf_redirect_map(&xway_tx, egress, 0);
	case XWAY_NO_BACKEND:
	case XWAY_TOO_BIG:
	case XWAY_NO_ROUTE:
	case XWAY_NO_NEIGHBOUR:
	case XWAY_NO_EGRESS:
	case XWAY_NO_HEADROOM:
	case XWAY_NO_CHECKSUM:
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

xway_inline int balancer_packet(struct xdp_md *ctx, int frags)
{
	__u64 length = xway_frame_bytes(ctx, frags);
	struct balancer_choice choice = {};
	__u32 egress = 0, verdict;
	enum xway_reason reason = balancer_judge(ctx, frags, &choice, &egress);
	struct xway_count *count;

	verdict = balancer_verdict(ctx, reason, egress);
	if (reason == XWAY_BALANCED) {
		count = bpf_map_lookup_elem(&balancer_counts, &choice.number);
		if (count) {
			count->packets++;
			count->bytes += length;
		}
	}
	xway_decided(XWAY_UNNUMBERED, verdict, reason);
	return xway_done_bytes(length, verdict, reason);
}

SEC("xdp")
int xway_balancer(struct xdp_md *ctx)
{
	return balancer_packet(ctx, 0);
}

SEC("?xdp.frags")
int xway_balancer_frags(struct xdp_md *ctx)
{
	return balancer_packet(ctx, 1);
}

char xway_license[] SEC("license") = "Dual MIT/GPL";
