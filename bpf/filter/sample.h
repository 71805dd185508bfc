/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Samples: copies of packets for user space, with the verdict about them.
 *
 * Rule: a packet is copied once, at its end, for the first rule that selected it. Linux 5.18, for
 * bpf_xdp_load_bytes(); without rules that sample, the verifier removes all of it.
 */
#ifndef FILTER_SAMPLE_H
#define FILTER_SAMPLE_H

#include "filter.abi.h"

#include <xway/bpf.h>
#include <xway/frame.h>

#include "event.h"

/* The smallest size of a ring buffer, in bytes. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} filter_samples SEC(".maps");

/* The most bytes of a packet that are copied. */
const volatile __u32 filter_sample_bytes = 128;
/* Brings the layout into the object's BTF. */
const volatile struct filter_sample filter_sample_layout;

/* Selects packets at random, so that periodic traffic is sampled correctly too. */
xway_inline void filter_choose_sample(struct filter_packet *packet, struct filter_count *count,
				      __u32 rule, __u32 chance)
{
	if (bpf_get_prandom_u32() > chance)
		return;
	count->taken++;
	if (packet->sampled_by != FILTER_NO_RULE)
		return;
	packet->sampled_by = rule;
}

xway_inline void filter_write_sample(struct xdp_md *ctx, struct filter_packet *packet,
				     __u32 verdict, __u32 reason)
{
	__u32 captured = packet->length;
	struct filter_sample *sample;
	__s64 size;

	if (captured > filter_sample_bytes)
		captured = filter_sample_bytes;
	sample = bpf_ringbuf_reserve(&filter_samples, sizeof(*sample) + filter_sample_bytes, 0);
	if (!sample) {
		filter_count_event(FILTER_SAMPLE_LOST);
		return;
	}
	*sample = (struct filter_sample){
		.time = bpf_ktime_get_ns(),
		.rule = packet->sampled_by,
		.decided_by = packet->decided_by,
		.verdict = verdict,
		.reason = reason,
		.length = packet->length,
		.captured = captured,
		.interface = ctx->ingress_ifindex,
		.queue = ctx->rx_queue_index,
	};
	size = xway_size(captured);
	if (size < 1 || bpf_xdp_load_bytes(ctx, 0, sample + 1, size)) {
		bpf_ringbuf_discard(sample, 0);
		filter_count_event(FILTER_SAMPLE_LOST);
		return;
	}
	bpf_ringbuf_submit(sample, 0);
}

#endif
