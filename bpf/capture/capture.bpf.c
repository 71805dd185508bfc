// SPDX-License-Identifier: Dual MIT/GPL
/*
 * capture: a probe around the programs of an interface that sends packets to user space.
 *
 * Two programs that are composed into a chain: one sees each packet before the first member, the
 * other one after the verdict that is final. The first copies the packet to memory of its processor
 * if it matches; the second adds the verdict and the new bytes, and sends all in one record.
 * Rule: nothing here changes a packet or a verdict. Without a reader, a packet costs two loads and
 * two jumps. Linux 5.18, for bpf_xdp_load_bytes().
 */
#include "capture.abi.h"

#include <xway/bpf.h>

/* The only variable of its section, so that user space writes the section as this struct. */
volatile struct capture_settings capture_settings;

/* Memory of one processor for the packet that the programs have now. */
struct xway_kept {
	struct capture_counts counts;
	/* Whether `head` and `bytes` are of this packet. */
	__u64 is_kept;
	struct capture_record head;
	__u8 bytes[2 * CAPTURE_BYTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct xway_kept);
} capture_kept SEC(".maps");

struct xway_ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};

/* A ring for each processor; user space creates them. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct xway_ring);
} capture_rings SEC(".maps");

/* The decision of the last program that stores its own; shared with all of them. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__uint(pinning, 1);
	__type(key, __u32);
	__type(value, struct xway_decision);
} xway_decisions SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CAPTURE_MEMBERS);
	__type(key, __u32);
	__type(value, struct capture_wanted);
} capture_wanted SEC(".maps");

/* Whether the packet matches the expression, whose code user space puts here. */
__attribute__((noinline)) __u32 capture_matches(struct xdp_md *ctx, __u32 length)
{
	xway_opaque(ctx);
	xway_opaque(length);
	return length;
}

/* Returns the number of bytes that were copied to `to`. */
xway_inline __u32 capture_copy(struct xdp_md *ctx, void *to, __u32 length, __u32 most)
{
	__u32 captured = length < most ? length : most;
	__s64 size = xway_size(captured);

	if (size < 1 || size > CAPTURE_BYTES || bpf_xdp_load_bytes(ctx, 0, to, size))
		return 0;
	return captured;
}

xway_inline void capture_decision(struct xway_decision *to)
{
	__u32 only = 0;
	struct xway_decision *stored = bpf_map_lookup_elem(&xway_decisions, &only);

	if (stored)
		*to = *stored;
}

xway_inline int capture_is_wanted(const struct xway_decision *decision, __u32 member)
{
	struct capture_wanted *wanted = bpf_map_lookup_elem(&capture_wanted, &member);

	if (!wanted || decision->reason >= 64 || !(wanted->reasons >> decision->reason & 1))
		return 0;
	return wanted->rule == XWAY_UNNUMBERED || wanted->rule == decision->rule;
}

SEC("?xdp.frags")
int capture_before(struct xdp_md *ctx)
{
	struct xway_kept *kept;
	__u32 only = 0, length;

	if (!capture_settings.until)
		return 0;
	kept = bpf_map_lookup_elem(&capture_kept, &only);
	if (!kept)
		return 0;
	kept->is_kept = 0;
	if (bpf_ktime_get_coarse_ns() >= capture_settings.until) {
		capture_settings.until = 0;
		return 0;
	}
	length = bpf_xdp_get_buff_len(ctx);
	if (!capture_matches(ctx, length))
		return 0;
	kept->is_kept = 1;
	kept->head.time = bpf_ktime_get_ns();
	kept->head.queue = ctx->rx_queue_index;
	kept->head.length_before = length;
	kept->head.captured_before =
		capture_copy(ctx, kept->bytes, length, capture_settings.before);
	return 0;
}

SEC("?xdp.frags")
int capture_after(struct xdp_md *ctx, __u32 verdict, __u32 member)
{
	__u32 only = 0, cpu, at, length, captured;
	struct xway_kept *kept;
	void *ring;

	if (!capture_settings.until)
		return 0;
	kept = bpf_map_lookup_elem(&capture_kept, &only);
	if (!kept || !kept->is_kept)
		return 0;
	kept->is_kept = 0;
	only = verdict < CAPTURE_INVALID_VERDICT ? verdict : CAPTURE_INVALID_VERDICT;
	if (!(capture_settings.verdicts >> only & 1))
		return 0;
	capture_decision(&kept->head.decision);
	if (capture_settings.is_selective && !capture_is_wanted(&kept->head.decision, member))
		return 0;
	kept->counts.packets++;
	kept->head.decision.verdict = verdict;
	kept->head.member = member;
	at = kept->head.captured_before;
	if (at > CAPTURE_BYTES)
		return 0;
	length = bpf_xdp_get_buff_len(ctx);
	kept->head.length_after = length;
	captured = capture_copy(ctx, kept->bytes + at, length, capture_settings.after);
	kept->head.captured_after = captured;
	cpu = bpf_get_smp_processor_id();
	ring = bpf_map_lookup_elem(&capture_rings, &cpu);
	/* The reader polls at intervals and needs no wakeup. */
	if (!ring || captured > CAPTURE_BYTES ||
	    bpf_ringbuf_output(ring, &kept->head, sizeof(kept->head) + at + captured,
			       BPF_RB_NO_WAKEUP))
		kept->counts.lost++;
	return 0;
}

char xway_license[] SEC("license") = "Dual MIT/GPL";
