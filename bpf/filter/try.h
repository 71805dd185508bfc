/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A trial: new rules judge the same packets as the active rules, without any effect.
 *
 * Two programs of this source run one after the other as one. The first has the new rules and
 * stores its decision about the packet. The second has the active rules; it works as without the
 * trial, and counts both decisions as a pair.
 * Rule: the program with the new rules changes nothing except its own maps: code that changes
 * packets calls filter_is_trial() first. Outside of a trial, the verifier removes all of it.
 */
#ifndef FILTER_TRY_H
#define FILTER_TRY_H

#include "act.h"
#include "watch.h"

/* Shared by the two programs on one processor. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct xway_decision);
} filter_opinion SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 1);
	__type(key, struct filter_pair);
	__type(value, struct filter_tally);
} filter_pairs SEC(".maps");

/* Packets on which the two differ: struct filter_change, then bytes. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} filter_changes SEC(".maps");

/* Brings the layout into the object's BTF. */
const volatile struct filter_change filter_change_layout;

/*
 * Stores the decision for the second program. This function and filter_compare() are verified once,
 * not once for each path on which a packet can end.
 */
xway_global __u32 filter_store_decision(const struct xway_decision *own)
{
	__u32 only = 0;
	struct xway_decision *opinion = bpf_map_lookup_elem(&filter_opinion, &only);

	if (opinion && own)
		*opinion = *own;
	return 0;
}

xway_inline void filter_write_change(struct xdp_md *ctx, const struct filter_pair *pair,
				     __u32 length)
{
	__u32 captured = length;
	struct filter_change *change;
	__s64 size;

	if (captured > FILTER_CHANGE_BYTES)
		captured = FILTER_CHANGE_BYTES;
	change = bpf_ringbuf_reserve(&filter_changes, sizeof(*change) + FILTER_CHANGE_BYTES, 0);
	if (!change)
		return;
	*change = (struct filter_change){
		.time = bpf_ktime_get_ns(),
		.pair = *pair,
		.length = length,
		.captured = captured,
	};
	size = xway_size(captured);
	if (size < 1 || bpf_xdp_load_bytes(ctx, 0, change + 1, size)) {
		bpf_ringbuf_discard(change, 0);
		return;
	}
	bpf_ringbuf_submit(change, 0);
}

/* The tally of a pair on this processor; NULL when there are too many pairs. */
xway_inline struct filter_tally *filter_tally_of(const struct filter_pair *pair)
{
	struct filter_tally *tally = bpf_map_lookup_elem(&filter_pairs, pair);
	struct filter_tally none = {};

	if (tally)
		return tally;
	bpf_map_update_elem(&filter_pairs, pair, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&filter_pairs, pair);
}

/*
 * Counts both decisions. Some packets that would get another verdict are copied: the 1st, 2nd, 4th,
 * 8th of each pair, and so on.
 */
xway_global __u32 filter_compare(struct xdp_md *ctx, const struct xway_decision *own,
				 __u32 length)
{
	__u32 only = 0;
	struct xway_decision *other = bpf_map_lookup_elem(&filter_opinion, &only);
	struct filter_tally *tally;
	struct filter_pair pair;

	if (!other || !own)
		return 0;
	pair = (struct filter_pair){ *own, *other };
	tally = filter_tally_of(&pair);
	if (!tally) {
		filter_count_event(FILTER_PAIRS_FULL);
		return 0;
	}
	tally->packets++;
	tally->bytes += length;
	if (pair.old.verdict != pair.fresh.verdict && !(tally->packets & (tally->packets - 1)))
		filter_write_change(ctx, &pair, length);
	return 0;
}

/* Ends the processing of a packet, in any part of a trial or tap, or without either. */
xway_inline void filter_end_with(struct xdp_md *ctx, struct filter_packet *packet,
				 const struct filter_end *end)
{
	if (filter_part == FILTER_TAP) {
		if (packet->sampled_by != FILTER_NO_RULE)
			filter_copy_packet(ctx, packet->length);
		return;
	}
	if (filter_part != FILTER_ALONE) {
		struct xway_decision own = { packet->decided_by, end->verdict, end->reason };

		if (filter_is_trial()) {
			filter_store_decision(&own);
			return;
		}
		if (filter_part == FILTER_TAPPED)
			filter_emit_packet(&own);
		else
			filter_compare(ctx, &own, packet->length);
	}
	filter_finish(ctx, packet, end);
}

#endif
