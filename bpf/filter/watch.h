/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The tap: a random sample of received packets is sent to user space, with the decisions of the
 * active rules.
 *
 * Two programs of this source run one after the other as one. The first samples packets; its own
 * rule selects among them, and a selected packet is copied. The second has the active rules; it
 * works as without the tap, and emits the copied packet with its decision. The sampling rate is
 * adjusted while the programs run, and each packet records it. The reader extends the end of the
 * sampling again and again: if it is killed, sampling stops.
 * Rule: nothing here counts in a map of the active rules, or changes a packet. Linux 5.18, for
 * bpf_xdp_load_bytes(); without a tap, the verifier removes all of it.
 */
#ifndef FILTER_WATCH_H
#define FILTER_WATCH_H

#include "filter.abi.h"

#include <xway/bpf.h>

#include "clock.h"
#include "part.h"

/* The most bytes of a packet that can be copied, and the number that are copied. */
#define FILTER_KEPT_BYTES 512
const volatile __u32 filter_kept_bytes = FILTER_KEPT_BYTES;

/* Shared by the two programs on one processor. No packet is copied if `head.captured` is 0. */
struct xway_tap {
	struct filter_tap_counts counts;
	struct filter_tapped head;
	__u8 bytes[FILTER_KEPT_BYTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct xway_tap);
} filter_kept SEC(".maps");

/* The settings of the tap. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct filter_sampling);
} filter_watching SEC(".maps");

/* A struct filter_tapped, followed by the bytes of the packet. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} filter_seen SEC(".maps");

/*
 * Whether the packet is sampled. This comes first, because most packets are not: they cost only a
 * random number.
 */
xway_inline int filter_selects_packet(void)
{
	__u32 only = 0;
	struct filter_sampling *watching = bpf_map_lookup_elem(&filter_watching, &only);
	struct xway_tap *kept;
	__u32 chance;

	if (!watching)
		return 0;
	chance = *(volatile __u32 *)&watching->chance;
	if (!chance)
		return 0;
	kept = bpf_map_lookup_elem(&filter_kept, &only);
	if (!kept)
		return 0;
	kept->counts.packets++;
	if (bpf_get_prandom_u32() > chance)
		return 0;
	if (filter_coarse_ns() >= watching->until) {
		watching->chance = 0;
		return 0;
	}
	kept->head.one_in = 0xffffffff / chance;
	return 1;
}

/* Copies a selected packet for the second program. */
xway_global __u32 filter_copy_packet(struct xdp_md *ctx, __u32 length)
{
	__u32 only = 0;
	struct xway_tap *kept = bpf_map_lookup_elem(&filter_kept, &only);
	__u32 captured = length;
	__s64 size;

	if (!kept)
		return 0;
	if (captured > filter_kept_bytes)
		captured = filter_kept_bytes;
	size = xway_size(captured);
	if (size < 1 || size > FILTER_KEPT_BYTES || bpf_xdp_load_bytes(ctx, 0, kept->bytes, size))
		return 0;
	kept->head.time = bpf_ktime_get_ns();
	kept->head.length = length;
	kept->head.captured = captured;
	kept->head.interface = ctx->ingress_ifindex;
	kept->head.queue = ctx->rx_queue_index;
	return 0;
}

/* Emits the packet that was copied, if there is one. */
xway_global __u32 filter_emit_packet(const struct xway_decision *own)
{
	__u32 only = 0;
	struct xway_tap *kept = bpf_map_lookup_elem(&filter_kept, &only);
	__u32 captured;

	if (!kept || !own)
		return 0;
	captured = kept->head.captured;
	if (!captured || captured > FILTER_KEPT_BYTES)
		return 0;
	kept->head.decision = *own;
	/* The reader polls at intervals and needs no wakeup. */
	if (bpf_ringbuf_output(&filter_seen, &kept->head, sizeof(kept->head) + captured,
			       BPF_RB_NO_WAKEUP))
		kept->counts.lost++;
	kept->head.captured = 0;
	return 0;
}

#endif
