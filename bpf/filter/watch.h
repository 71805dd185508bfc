/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Watching: some of all packets, by chance, are shown to user space with what became of them.
 *
 * How many is steered while the program runs, so that a flood that begins costs no more than what
 * is read; each packet says for how many it stands. Linux 5.18, for bpf_xdp_load_bytes().
 * Rule: no rule is asked and nothing about the packet changes. Unwatched, the verifier removes all
 * of it.
 */
#ifndef FILTER_WATCH_H
#define FILTER_WATCH_H

#include "filter.abi.h"

#include <xway/bpf.h>

#include "event.h"

/* Whether somebody watches. */
const volatile __u32 filter_watched;
/* Brings the layout into the object's BTF. */
const volatile struct filter_seen filter_seen_layout;

/* struct filter_seen, then bytes. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} filter_seen SEC(".maps");

/* One packet in so many is shown; 0: none. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} filter_one_in SEC(".maps");

/* Verified once, not again for each way that a packet can end. */
xway_global __u32 filter_show(struct xdp_md *ctx, const struct filter_opinion *opinion,
			      __u32 length, __u32 one_in)
{
	__u32 captured = length;
	struct filter_seen *seen;

	if (!opinion)
		return 0;
	if (captured > FILTER_CHANGE_BYTES)
		captured = FILTER_CHANGE_BYTES;
	seen = bpf_ringbuf_reserve(&filter_seen, sizeof(*seen) + FILTER_CHANGE_BYTES, 0);
	if (!seen) {
		filter_count_event(FILTER_WATCH_LOST);
		return 0;
	}
	*seen = (struct filter_seen){
		.time = bpf_ktime_get_ns(),
		.opinion = *opinion,
		.one_in = one_in,
		.length = length,
		.captured = captured,
	};
	if (!captured || bpf_xdp_load_bytes(ctx, 0, seen + 1, captured)) {
		bpf_ringbuf_discard(seen, 0);
		filter_count_event(FILTER_WATCH_LOST);
		return 0;
	}
	/* The reader looks when it is time, nobody wakes it. */
	bpf_ringbuf_submit(seen, BPF_RB_NO_WAKEUP);
	return 0;
}

xway_inline int filter_is_watched(void)
{
	return filter_watched;
}

xway_inline void filter_watch(struct xdp_md *ctx, const struct filter_packet *packet, __u32 verdict,
			      enum xway_reason reason)
{
	struct filter_opinion opinion = { packet->decided_by, verdict, reason };
	__u32 only = 0;
	__u32 *one_in = bpf_map_lookup_elem(&filter_one_in, &only);
	__u32 number;

	if (!one_in)
		return;
	number = *(volatile __u32 *)one_in;
	if (!number || bpf_get_prandom_u32() > 0xffffffff / number)
		return;
	filter_show(ctx, &opinion, packet->length, number);
}

#endif
