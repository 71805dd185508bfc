/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The ready ring of a sender: flows that may have something to send, in order.
 *
 * Any processor adds flows, only the sender removes them. A flow is in the ring at most once
 * (TCP_HAS_PLACE, changed under the flow's lock), and there is an entry for each flow of the
 * sender, so the ring is never full. An entry holds the flow's number + 1, or 0 if it is free.
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

/* The position of the next entry, by sender; each in its own cache line. */
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

/* Called under the lock; returns true if the caller must then call tcp_ready_put(). */
xway_inline __u32 tcp_take_place(struct tcp_flow *flow)
{
	if (flow->has & TCP_HAS_PLACE)
		return 0;
	flow->has |= TCP_HAS_PLACE;
	return 1;
}

/* Called after the lock is released. */
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

/* After the lock: executes all consequences of a change. */
xway_inline void tcp_tell(const struct tcp_change *change)
{
	if (change->wake)
		tcp_ready_put(change->flow);
	tcp_count(change);
}

#endif
