/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Flows: where they are, whose packets are theirs, what changes in them has to be told.
 *
 * Rule: a flow is read and changed under its lock alone, by the processor that sends and by those
 * that receive. No helper may be called there, so what a change brings about outside of the flow
 * is gathered in a tcp_change and done after the lock.
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

/* Brings the names of states and the like into the object's BTF. */
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

/* Before which tick each flow wants to be looked at; 0 for never. A hint: never too late. */
struct flow_deadlines {
	__u32 tick[TCP_DEADLINES];
};

/* Numbers of entries are set by user space. */
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

/* Round trips in ns, by bucket. */
struct rtt_counts {
	__u64 bucket[XWAY_HISTOGRAM_BUCKETS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct rtt_counts);
} tcp_rtts SEC(".maps");

/* What a change of a flow means outside of it. */
struct tcp_change {
	/* Of which flow, seen when. */
	__u32 flow;
	__u64 now;
	/* For `tcp_totals`. */
	__u64 acked;
	__u32 opened;
	__u32 established;
	/* enum tcp_end; none when it did not end now. */
	__u32 ended;
	__u32 timeouts;
	__u32 range_overflows;
	__u32 unacceptable;
	__u32 segments;
	__u32 data_segments;
	__u32 fast_repeats;
	__u32 timeout_repeats;
	__u32 probes;
	/* ns; 0 when none was measured. */
	__u32 rtt;
	/* Put it into the ready ring. */
	__u32 wake;
};

/* The place of flow `id`'s hint. */
xway_inline __u32 *tcp_tick(__u32 id)
{
	__u32 line = id / TCP_DEADLINES;
	struct flow_deadlines *deadlines = bpf_map_lookup_elem(&tcp_deadlines, &line);

	return deadlines ? &deadlines->tick[id % TCP_DEADLINES] : NULL;
}

/* A moment as a hint, rounded up: about 1 ms each, since the start of the run; never 0. */
xway_inline __u32 tcp_tick_of(__u64 moment)
{
	return ((moment - tcp_config.start) >> 20) + 1;
}

/* Under the lock, after any change of the deadline. */
xway_inline void tcp_hint(const struct tcp_flow *flow, __u32 *tick)
{
	__u32 wanted;

	if (!flow->deadline)
		return;
	wanted = tcp_tick_of(flow->deadline);
	if (!*tick || *tick > wanted)
		*tick = wanted;
}

/* A sequence number of the wire, near to what is unacknowledged. */
xway_inline __u64 tcp_position(const struct tcp_flow *flow, __u32 seq)
{
	return flow->una + (__s64)(__s32)(seq - (flow->iss + (__u32)flow->una));
}

/*
 * Comparisons of positions that teach the verifier nothing: what it learnt would keep it from
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

/* All ones when a is before b, else 0. */
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

/* Behind the FIN. */
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

/* Nothing more is sent but what is owed. */
xway_inline void tcp_close(struct tcp_flow *flow, struct tcp_change *change, enum tcp_end end)
{
	flow->state = TCP_STATE_CLOSED;
	flow->deadline = 0;
	flow->owes = 0;
	if (!flow->end)
		tcp_finish(flow, change, end);
}

/* RST that answers a segment which acknowledges `seq`. */
xway_inline void tcp_owe_reset(struct tcp_flow *flow, __u32 seq)
{
	flow->owes |= TCP_OWES_RESET;
	flow->reset_seq = seq;
}

/* After the lock: counts. */
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
