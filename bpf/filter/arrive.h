/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Arrivals: copies of packets as they came, with what the rules in force made of them.
 *
 * Two programs of this source run one behind the other as one. The first has a rule that samples:
 * it keeps the packet that this rule chose. The second has the rules in force: it acts as ever, and
 * hands the kept packet out with its opinion.
 * Rule: nothing here counts in a map of the rules in force, or changes a packet. Linux 5.18, for
 * bpf_xdp_load_bytes(); without watching the verifier removes all of it.
 */
#ifndef FILTER_ARRIVE_H
#define FILTER_ARRIVE_H

#include "filter.abi.h"

#include <xway/bpf.h>

#include "part.h"

/* Bytes of a packet that are kept at most. */
#define FILTER_ARRIVAL_BYTES 512

/* A packet as it came. `captured` 0: there is none. */
struct xway_arrival {
	struct filter_sample head;
	__u8 bytes[FILTER_ARRIVAL_BYTES];
};

/* Between the two programs on one processor. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct xway_arrival);
} filter_arrivals SEC(".maps");

/* The head of a struct xway_arrival, then as many bytes as it says. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} filter_arrived SEC(".maps");

/* Keeps the packet for the program behind this one, or says that it was not chosen. */
xway_global __u32 filter_keep_arrival(struct xdp_md *ctx, __u32 length, __u32 is_chosen)
{
	__u32 only = 0;
	struct xway_arrival *arrival = bpf_map_lookup_elem(&filter_arrivals, &only);
	__u32 captured = length;

	if (!arrival)
		return 0;
	arrival->head.captured = 0;
	if (!is_chosen || !length)
		return 0;
	if (captured > FILTER_ARRIVAL_BYTES)
		captured = FILTER_ARRIVAL_BYTES;
	if (bpf_xdp_load_bytes(ctx, 0, arrival->bytes, captured))
		return 0;
	arrival->head.time = bpf_ktime_get_ns();
	arrival->head.rule = 0;
	arrival->head.length = length;
	arrival->head.captured = captured;
	arrival->head.interface = ctx->ingress_ifindex;
	arrival->head.queue = ctx->rx_queue_index;
	return 0;
}

/* Hands out the packet that was kept, if one was. */
xway_global __u32 filter_hand_out(const struct filter_opinion *own)
{
	__u32 only = 0;
	struct xway_arrival *arrival = bpf_map_lookup_elem(&filter_arrivals, &only);
	__u32 captured;

	if (!arrival || !own)
		return 0;
	captured = arrival->head.captured;
	if (!captured || captured > FILTER_ARRIVAL_BYTES)
		return 0;
	arrival->head.decided_by = own->rule;
	arrival->head.verdict = own->verdict;
	arrival->head.reason = own->reason;
	bpf_ringbuf_output(&filter_arrived, arrival, sizeof(arrival->head) + captured, 0);
	return 0;
}

#endif
