/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Flows: their entries, the packets that belong to them, and the changes that must be reported.
 *
 * Rule: a flow is accessed only under its lock, by the processor that sends and by those that
 * receive. No helper may be called under the lock, so the consequences of a change are collected in
 * a tcp_change and executed after it is released.
 */
#ifndef XWAY_TCP_FLOW_H
#define XWAY_TCP_FLOW_H

#include "tcp.abi.h"

#include <xway/bpf.h>
#include <xway/histogram.h>

XWAY_HELPER long (*const bpf_spin_lock)(struct bpf_spin_lock *lock) = (void *)BPF_FUNC_spin_lock;
XWAY_HELPER long (*const bpf_spin_unlock)(struct bpf_spin_lock *lock) =
	(void *)BPF_FUNC_spin_unlock;

const volatile struct tcp_config tcp_config;

/* Adds the names of states and other enums to the object's BTF. */
struct names {
	enum tcp_state state;
	enum tcp_end end;
	enum tcp_algorithm algorithm;
	enum tcp_phase phase;
	enum tcp_recovery recovery;
};
const volatile struct names tcp_names;

struct flow_entry {
	struct bpf_spin_lock lock;
	__u32 zero;
	struct tcp_flow flow;
};

/* The tick before which each flow must be checked; 0 for never. A hint, which is never too late. */
struct flow_deadlines {
	__u32 tick[TCP_DEADLINES];
};

/* User space sets the numbers of entries. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct flow_entry);
} tcp_flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct flow_deadlines);
} tcp_deadlines SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tcp_totals);
} tcp_totals SEC(".maps");

/* Round-trip times in ns, by bucket. */
struct rtt_counts {
	__u64 bucket[XWAY_HISTOGRAM_BUCKETS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct rtt_counts);
} tcp_rtts SEC(".maps");

/* The consequences of a change of a flow, outside of the flow. */
struct tcp_change {
	/* The flow, and the time of the change. */
	__u32 flow;
	__u64 now;
	/* For `tcp_totals`. */
	__u64 acked;
	__u32 opened;
	__u32 established;
	/* enum tcp_end; none if the flow did not end with this change. */
	__u32 ended;
	__u32 timeouts;
	__u32 range_overflows;
	__u32 unacceptable;
	__u32 segments;
	__u32 data_segments;
	__u32 fast_repeats;
	__u32 timeout_repeats;
	__u32 probes;
	/* In ns; 0 if none was measured. */
	__u32 rtt;
	/* The flow must be put into the ready ring. */
	__u32 wake;
};

/* The hint of flow `id`. */
xway_inline __u32 *tcp_tick(__u32 id)
{
	__u32 line = id / TCP_DEADLINES;
	struct flow_deadlines *deadlines = bpf_map_lookup_elem(&tcp_deadlines, &line);

	return deadlines ? &deadlines->tick[id % TCP_DEADLINES] : NULL;
}

/* A time as a hint, rounded up: in units of about 1 ms since the start of the run; never 0. */
xway_inline __u32 tcp_tick_of(__u64 moment)
{
	return ((moment - tcp_config.start) >> 20) + 1;
}

/* Called under the lock, after any change of the deadline. */
xway_inline void tcp_hint(const struct tcp_flow *flow, __u32 *tick)
{
	__u32 wanted;

	if (!flow->deadline)
		return;
	wanted = tcp_tick_of(flow->deadline);
	if (!*tick || *tick > wanted)
		*tick = wanted;
}

/* The position of a sequence number that is close to the unacknowledged data. */
xway_inline __u64 tcp_position(const struct tcp_flow *flow, __u32 seq)
{
	return flow->una + (__s64)(__s32)(seq - (flow->iss + (__u32)flow->una));
}

/*
 * Comparisons of positions from which the verifier learns nothing: bounds would prevent it from
 * joining paths that do not differ, and double them at each step of each loop.
 */
xway_inline __s64 tcp_off(__u64 a, __u64 b)
{
	__s64 off = a - b;

	xway_opaque(off);
	return off;
}

xway_inline int tcp_before(__u64 a, __u64 b)
{
	return tcp_off(a, b) < 0;
}

/* All bits set if a is before b, otherwise 0. */
xway_inline __u64 tcp_before_mask(__u64 a, __u64 b)
{
	__s64 mask = tcp_off(a, b) >> 63;

	xway_opaque(mask);
	return mask;
}

xway_inline __u64 tcp_least(__u64 a, __u64 b)
{
	return b + ((a - b) & tcp_before_mask(a, b));
}

xway_inline __u64 tcp_most(__u64 a, __u64 b)
{
	return a - ((a - b) & tcp_before_mask(a, b));
}

/* The position after the FIN. */
xway_inline __u64 tcp_end_of(const struct tcp_flow *flow)
{
	return flow->limit + 2;
}

xway_inline int tcp_is_open(const struct tcp_flow *flow)
{
	return flow->state > TCP_STATE_SYN_SENT && flow->state < TCP_STATE_CLOSED;
}

/* States in which our FIN has not been sent. */
xway_inline int tcp_may_send(const struct tcp_flow *flow)
{
	return flow->state == TCP_STATE_ESTABLISHED || flow->state == TCP_STATE_CLOSE_WAIT;
}

xway_inline void tcp_finish(struct tcp_flow *flow, struct tcp_change *change, enum tcp_end end)
{
	flow->end = end;
	flow->ended = change->now;
	change->ended = end;
}

/* Nothing is sent any more, except for segments that are owed. */
xway_inline void tcp_close(struct tcp_flow *flow, struct tcp_change *change, enum tcp_end end)
{
	flow->state = TCP_STATE_CLOSED;
	flow->deadline = 0;
	flow->owes = 0;
	if (!flow->end)
		tcp_finish(flow, change, end);
}

/* Prepares an RST in answer to a segment that acknowledges `seq`. */
xway_inline void tcp_owe_reset(struct tcp_flow *flow, __u32 seq)
{
	flow->owes |= TCP_OWES_RESET;
	flow->reset_seq = seq;
}

/* After the lock: updates counters. */
xway_inline void tcp_count(const struct tcp_change *change)
{
	__u32 only = 0;
	struct tcp_totals *totals = bpf_map_lookup_elem(&tcp_totals, &only);
	struct rtt_counts *rtts;
	__u32 bucket;

	if (!totals)
		return;
	totals->acked += change->acked;
	totals->opened += change->opened;
	totals->established += change->established;
	totals->timeouts += change->timeouts;
	totals->range_overflows += change->range_overflows;
	totals->unacceptable += change->unacceptable;
	totals->segments += change->segments;
	totals->data_segments += change->data_segments;
	totals->fast_repeats += change->fast_repeats;
	totals->timeout_repeats += change->timeout_repeats;
	totals->probes += change->probes;
	if (change->ended && change->ended < TCP_ENDS)
		totals->ends[change->ended]++;
	if (!change->rtt)
		return;
	rtts = bpf_map_lookup_elem(&tcp_rtts, &only);
	bucket = xway_histogram_bucket(change->rtt);
	if (rtts && bucket < XWAY_HISTOGRAM_BUCKETS)
		rtts->bucket[bucket]++;
}

#endif
