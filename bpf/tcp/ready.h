/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The ready ring of a sender: flows that may have something to send, in the order of their turn.
 *
 * Any processor puts flows in, the sender alone takes them out. A flow is in it once at most
 * (TCP_HAS_PLACE, changed under the flow's lock), and there is a place for each flow of the
 * sender, so it is never full. A place holds the flow's number + 1, and 0 when it is free.
 */
#ifndef XWAY_TCP_READY_H
#define XWAY_TCP_READY_H

#include "flow.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} tcp_ready SEC(".maps");

/* Where the next flow is put, by sender; lines of their own. */
struct ready_tail {
	__u64 tail;
	__u64 zero[7];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ready_tail);
} tcp_tails SEC(".maps");

xway_inline __u32 *tcp_ready_place(__u32 sender, __u64 position)
{
	__u32 index = sender * tcp_config.ring + ((__u32)position & (tcp_config.ring - 1));

	return bpf_map_lookup_elem(&tcp_ready, &index);
}

/* Under the lock; true for whoever then has to call tcp_ready_put(). */
xway_inline __u32 tcp_take_place(struct tcp_flow *flow)
{
	if (flow->has & TCP_HAS_PLACE)
		return 0;
	flow->has |= TCP_HAS_PLACE;
	return 1;
}

/* After the lock. */
xway_inline void tcp_ready_put(__u32 id)
{
	__u32 sender = id / tcp_config.share;
	struct ready_tail *tail = bpf_map_lookup_elem(&tcp_tails, &sender);
	__u32 *place;

	if (!tail)
		return;
	place = tcp_ready_place(sender, __sync_fetch_and_add(&tail->tail, 1));
	if (place)
		*(volatile __u32 *)place = id + 1;
}

/* The sender's next flow + 1, or 0. */
xway_inline __u32 tcp_ready_take(struct tcp_sender *sender)
{
	__u32 *place = tcp_ready_place(tcp_config.sender, sender->head);
	__u32 flow = place ? *(volatile __u32 *)place : 0;

	if (!flow)
		return 0;
	*(volatile __u32 *)place = 0;
	sender->head++;
	return flow;
}

xway_inline int tcp_is_ready(const struct tcp_sender *sender)
{
	__u32 *place = tcp_ready_place(tcp_config.sender, sender->head);

	return place && *(volatile __u32 *)place;
}

/* After the lock: everything that a change asks for. */
xway_inline void tcp_tell(const struct tcp_change *change)
{
	if (change->wake)
		tcp_ready_put(change->flow);
	tcp_count(change);
}

#endif
