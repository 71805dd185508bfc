/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Watching: some of all packets, by chance, are shown to user space as they came, with what the
 * rules in force made of them.
 *
 * Two programs of this source run one behind the other as one. The first draws; a packet that was
 * drawn meets rules of its own, and is kept if they want it. The second has the rules in force: it
 * acts as ever, and shows the kept packet with its opinion.
 * How many are drawn is steered while the programs run; each packet says for how many it stands.
 * Who watches says until when, again and again: killed, nothing is drawn any more.
 * Rule: nothing here counts in a map of the rules in force, or changes a packet. Linux 5.18, for
 * bpf_xdp_load_bytes(); unwatched, the verifier removes all of it.
 */
#ifndef FILTER_WATCH_H
#define FILTER_WATCH_H

#include "filter.abi.h"

#include <xway/bpf.h>

#include "clock.h"
#include "part.h"

/* Bytes of a packet that can be kept, and that are. */
#define FILTER_KEPT_BYTES 512
const volatile __u32 filter_kept_bytes = FILTER_KEPT_BYTES;

/* Between the two programs on one processor. `seen.captured` 0: no packet is kept. */
struct xway_kept {
	struct filter_met met;
	struct filter_seen seen;
	__u8 bytes[FILTER_KEPT_BYTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct xway_kept);
} filter_kept SEC(".maps");

/* Which packets are drawn. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct filter_watching);
} filter_watching SEC(".maps");

/* A struct filter_seen, then as many bytes as it says. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} filter_seen SEC(".maps");

/*
 * Whether the packet is drawn. First of all, because most are not: whom nobody looks at costs no
 * more than a random number.
 */
xway_inline int filter_draw(void)
{
	__u32 only = 0;
	struct filter_watching *watching = bpf_map_lookup_elem(&filter_watching, &only);
	struct xway_kept *kept;
	__u32 chance;

	if (!watching)
		return 0;
	chance = *(volatile __u32 *)&watching->chance;
	if (!chance)
		return 0;
	kept = bpf_map_lookup_elem(&filter_kept, &only);
	if (!kept)
		return 0;
	kept->met.packets++;
	if (bpf_get_prandom_u32() > chance)
		return 0;
	if (filter_coarse_ns() >= watching->until) {
		watching->chance = 0;
		return 0;
	}
	kept->seen.one_in = 0xffffffff / chance;
	return 1;
}

/* Keeps a packet that was drawn for the program behind this one. */
xway_global __u32 filter_keep_packet(struct xdp_md *ctx, __u32 length)
{
	__u32 only = 0;
	struct xway_kept *kept = bpf_map_lookup_elem(&filter_kept, &only);
	__u32 captured = length;

	if (!kept)
		return 0;
	if (captured > filter_kept_bytes)
		captured = filter_kept_bytes;
	if (!captured || captured > FILTER_KEPT_BYTES ||
	    bpf_xdp_load_bytes(ctx, 0, kept->bytes, captured))
		return 0;
	kept->seen.time = bpf_ktime_get_ns();
	kept->seen.length = length;
	kept->seen.captured = captured;
	kept->seen.interface = ctx->ingress_ifindex;
	kept->seen.queue = ctx->rx_queue_index;
	return 0;
}

/* Shows the packet that was kept, if one was. */
xway_global __u32 filter_show(const struct filter_opinion *own)
{
	__u32 only = 0;
	struct xway_kept *kept = bpf_map_lookup_elem(&filter_kept, &only);
	__u32 captured;

	if (!kept || !own)
		return 0;
	captured = kept->seen.captured;
	if (!captured || captured > FILTER_KEPT_BYTES)
		return 0;
	kept->seen.opinion = *own;
	/* The reader looks when it is time, nobody wakes it. */
	if (bpf_ringbuf_output(&filter_seen, &kept->seen, sizeof(kept->seen) + captured,
			       BPF_RB_NO_WAKEUP))
		kept->met.lost++;
	kept->seen.captured = 0;
	return 0;
}

#endif
