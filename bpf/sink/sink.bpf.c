// SPDX-License-Identifier: Dual MIT/GPL
/*
 * sink: counts received frames, by the stamp at the end of each frame.
 *
 * Path of a frame: read the stamp, find its source, verify the checksums, mark its number, count,
 * measure the time; then the frame is dropped, passed to the stack or sent back. Frames without a
 * stamp are passed to the stack. xway/frame.h describes the two entries.
 */
#include "sink.abi.h"

#include <xway/bpf.h>
#include <xway/parse.h>
#include <xway/stamp.h>
#include <xway/stats.h>

#include "reflect.h"
#include "source.h"
#include "verify.h"

/* Verdict for counted frames: XDP_DROP, XDP_PASS, or XDP_TX to send them back. */
const volatile __u32 sink_default_verdict = XDP_DROP;
/* Whether to verify checksums. */
const volatile __u32 sink_verify = 1;

/* The stamp in a frame of one buffer; NULL if the frame is too short or too long. */
xway_inline struct xway_stamp *sink_stamp_at(struct xdp_md *ctx, __u64 bytes)
{
	__u64 at = bytes - sizeof(struct xway_stamp);
	struct xway_stamp *stamp;

	xway_opaque(at);
	if (at > 0x7fff)
		return NULL;
	stamp = xway_data(ctx) + at;
	return (void *)(stamp + 1) > xway_data_end(ctx) ? NULL : stamp;
}

/* Copies the frame's stamp; returns 0 if there is none. */
xway_inline int sink_read_stamp(struct xdp_md *ctx, int frags, __u64 bytes, struct xway_stamp *to)
{
	__u32 at = bytes - sizeof(*to);

	if (frags) {
		if (bytes < sizeof(*to) || bpf_xdp_load_bytes(ctx, at, to, sizeof(*to)))
			return 0;
	} else {
		struct xway_stamp *stamp = sink_stamp_at(ctx, bytes);

		if (!stamp)
			return 0;
		*to = *stamp;
	}
	return to->magic == xway_htons(XWAY_STAMP_MAGIC);
}

xway_inline void sink_write_stamp(struct xdp_md *ctx, int frags, __u64 bytes,
				  const struct xway_stamp *from)
{
	struct xway_stamp *stamp;

	if (frags) {
		bpf_xdp_store_bytes(ctx, bytes - sizeof(*from), from, sizeof(*from));
		return;
	}
	stamp = sink_stamp_at(ctx, bytes);
	if (stamp)
		*stamp = *from;
}

/* Counts a frame with a stamp. */
xway_inline enum xway_reason sink_judge(struct xdp_md *ctx, int frags, __u64 bytes,
					const struct xway_stamp *stamp)
{
	__u64 now = sink_clocks == SINK_CLOCKS_IGNORED ? 0 : bpf_ktime_get_ns();
	enum sink_finding finding = SINK_RIGHT;
	struct sink_source *source;
	__u32 place;

	if (!xway_stamp_is_whole(stamp)) {
		if (!sink_find(sink_key(stamp), &place))
			return XWAY_DAMAGED;
		return sink_corrupted(place);
	}
	if (sink_verify)
		finding = sink_look(ctx, frags);
	if (finding == SINK_QUOTE)
		return XWAY_FOREIGN;
	source = sink_source(stamp, &place);
	if (!source)
		return XWAY_BEYOND;
	if (stamp->kind & XWAY_STAMP_END)
		return sink_end(source, stamp);
	if (finding == SINK_WRONG)
		return sink_corrupted(place);
	return sink_receive(source, place, stamp, bytes, now);
}

/*
 * Sends the frame back, unless it was already sent back, is not what was sent, or would not be
 * answered by a host.
 */
xway_inline __u32 sink_verdict(struct xdp_md *ctx, int frags, __u64 bytes,
			       struct xway_stamp *stamp, enum xway_reason reason)
{
	if (reason == XWAY_FOREIGN)
		return XDP_PASS;
	if (sink_default_verdict != XDP_TX)
		return sink_default_verdict;
	if (reason >= XWAY_CORRUPTED || stamp->kind & XWAY_STAMP_REFLECTED)
		return XDP_DROP;
	if (!sink_turn(ctx, frags))
		return XDP_DROP;
	sink_mark_reflected(stamp);
	sink_write_stamp(ctx, frags, bytes, stamp);
	return XDP_TX;
}

xway_inline int sink_packet(struct xdp_md *ctx, int frags)
{
	__u64 bytes = xway_frame_bytes(ctx, frags);
	enum xway_reason reason = XWAY_FOREIGN;
	__u32 verdict = XDP_PASS;
	struct xway_stamp stamp;

	if (sink_read_stamp(ctx, frags, bytes, &stamp)) {
		reason = sink_judge(ctx, frags, bytes, &stamp);
		verdict = sink_verdict(ctx, frags, bytes, &stamp, reason);
	}
	return xway_done(ctx, frags, verdict, reason);
}

SEC("xdp")
int xway_sink(struct xdp_md *ctx)
{
	return sink_packet(ctx, 0);
}

SEC("?xdp.frags")
int xway_sink_frags(struct xdp_md *ctx)
{
	return sink_packet(ctx, 1);
}

char xway_license[] SEC("license") = "Dual MIT/GPL";
