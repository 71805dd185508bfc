// SPDX-License-Identifier: Dual MIT/GPL
/*
 * filter: rules decide about packets.
 *
 * Path of a packet: read the headers that rules need → apply policies to anomalies → evaluate the
 * rules, as generated code → act → repeat for an encapsulated packet → count, return. The generated
 * code replaces filter_match().
 */
#include "filter.abi.h"

#include <xway/bpf.h>
#include <xway/parse.h>
#include <xway/stats.h>
#include <xway/store.h>
#include <xway/tag.h>

#include "act.h"
#include "fragment.h"
#include "inner.h"
#include "read.h"
#include "try.h"
#include "watch.h"

/*
 * The number of the first rule that matches and decides, or FILTER_NO_RULE. The loader replaces
 * this body by generated code, which calls filter_effect() for each rule that matches and does not
 * decide.
 */
static __attribute__((noinline)) __u32 filter_match(struct xdp_md *ctx,
						   struct filter_packet *packet)
{
	__u32 rule = FILTER_NO_RULE;

	asm volatile("" : "+r"(rule), "+r"(ctx), "+r"(packet) : : "memory");
	if (rule != FILTER_NO_RULE && filter_effect(ctx, packet, rule))
		return rule;
	return FILTER_NO_RULE;
}

xway_inline struct filter_end filter_anomaly_end(enum filter_policy policy,
						 enum xway_reason anomaly)
{
	return (struct filter_end){ policy == FILTER_PASS ? XDP_PASS : XDP_DROP, anomaly };
}

/* The end of a later fragment, with reason XWAY_DEFAULT if the rules judge it. */
xway_inline struct filter_end filter_follow_end(struct xdp_md *ctx, struct filter_packet *packet)
{
	struct filter_end end = { filter_follow_first(packet), XWAY_LATER_FRAGMENT };

	if (!end.verdict) {
		enum filter_policy policy = filter_policies[XWAY_UNKNOWN_FRAGMENT];

		if (policy == FILTER_JUDGE)
			return (struct filter_end){ filter_default, XWAY_DEFAULT };
		return filter_anomaly_end(policy, XWAY_UNKNOWN_FRAGMENT);
	}
	if (end.verdict == XDP_REDIRECT)
		end.verdict = filter_decided(ctx, packet, packet->decided_by).verdict;
	return end;
}

/* The end by policy, with reason XWAY_DEFAULT if the rules judge the packet. */
xway_inline struct filter_end filter_policy_end(struct xdp_md *ctx, struct filter_packet *packet,
						enum xway_reason anomaly)
{
	enum filter_policy policy = FILTER_JUDGE;

	if (anomaly < FILTER_ANOMALIES)
		policy = filter_policies[anomaly];
	if (policy == FILTER_JUDGE)
		return (struct filter_end){ filter_default, XWAY_DEFAULT };
	if (policy == FILTER_TRACK)
		return filter_follow_end(ctx, packet);
	return filter_anomaly_end(policy, anomaly);
}

/* Judges the packet that was read. */
xway_inline struct filter_end filter_judge_one(struct xdp_md *ctx, struct filter_packet *packet,
					       __u32 anomaly, int *is_over)
{
	__u32 rule;

	/* A ban applies before any policy. */
	if (filter_is_banned(packet))
		return (struct filter_end){ XDP_DROP, XWAY_BANNED };
	if (anomaly != FILTER_SOUND) {
		struct filter_end end = filter_policy_end(ctx, packet, anomaly);

		if (end.reason != XWAY_DEFAULT) {
			*is_over = 1;
			return end;
		}
	}
	rule = filter_match(ctx, packet);
	if (rule == FILTER_NO_RULE)
		return (struct filter_end){ filter_default, XWAY_DEFAULT };
	return filter_decided(ctx, packet, rule);
}

/*
 * Whether a verdict overrides that of an outer packet: a drop overrides all others, and any other
 * verdict overrides a pass.
 */
xway_inline int filter_is_stronger(__u32 fresh, __u32 old)
{
	return fresh == XDP_DROP ? old != XDP_DROP : fresh != XDP_PASS && old == XDP_PASS;
}

/* Applies the policy for an anomaly after all layers to an end; true if it decides. */
xway_inline int filter_ends_beyond(struct filter_end *end, __u8 anomaly)
{
	enum filter_policy policy;

	if (anomaly >= FILTER_ANOMALIES)
		return 0;
	policy = filter_policies[anomaly];
	if (policy != FILTER_DROP && (policy != FILTER_PASS || end->verdict != XDP_PASS))
		return 0;
	*end = filter_anomaly_end(policy, anomaly);
	return 1;
}

xway_inline struct filter_end filter_judge(struct xdp_md *ctx, struct filter_packet *packet)
{
	__u32 at = 0, limit = packet->length, what = FILTER_OUTERMOST, cut = 0;
	struct filter_fragment_key key;
	struct filter_end end = {};
	/* A policy decided, which ends the search. */
	int is_over = 0;

	key.family = 0;
#pragma clang loop unroll(disable)
	for (int layer = 0; layer < FILTER_LAYERS; layer++) {
		__u64 read = filter_read(ctx, packet, at, limit, what | cut);
		__u32 decided_by = packet->decided_by;
		struct filter_end one;
		__u64 inside;

		if (xway_asks_device && !layer)
			filter_add_tag(packet, xway_stripped_tag(ctx));
		limit = read >> 32;
		packet->decided_by = FILTER_NO_RULE;
		one = filter_judge_one(ctx, packet, read, &is_over);
		/* A packet that a policy passes is counted for that policy. */
		if (!layer || filter_is_stronger(one.verdict, end.verdict) ||
		    (is_over && end.verdict == XDP_PASS))
			end = one;
		else
			packet->decided_by = decided_by;
		if (filter_tracks() && packet->fragment == FILTER_FIRST && !key.family)
			filter_fragment_key_of(packet, &key);
		if (end.verdict == XDP_DROP || is_over || !(packet->known & FILTER_INNER))
			break;
		if (packet->fragment == FILTER_FIRST)
			cut = FILTER_CUT;
		inside = layer + 1 < FILTER_LAYERS ? filter_open(ctx, packet, limit, cut != 0) :
						     FILTER_UNREACHABLE | XWAY_TUNNEL;
		if (inside & FILTER_NOTHING_INSIDE)
			break;
		if (inside & FILTER_UNREACHABLE) {
			if (filter_ends_beyond(&end, inside))
				packet->decided_by = FILTER_NO_RULE;
			break;
		}
		at = inside >> 16;
		what = inside & 0xffff;
	}
	if (filter_tracks() && key.family)
		filter_keep_first(&key, end.verdict, packet->decided_by);
	return end;
}

/*
 * Restores a stripped tag in a packet that does not go to the stack. It is read from the device
 * again, because keeping it would take stack of the whole program.
 */
xway_inline void filter_keep_tag(struct xdp_md *ctx, struct filter_end *end)
{
	__u64 tag;

	if (filter_is_trial() || (end->verdict != XDP_TX && end->verdict != XDP_REDIRECT))
		return;
	tag = xway_stripped_tag(ctx);
	if (tag && xway_restore_tag(ctx, tag)) {
		filter_count_event(FILTER_MARK_REFUSED);
		end->verdict = XDP_DROP;
	}
}

xway_inline int filter_run(struct xdp_md *ctx, int frags)
{
	struct filter_packet packet = {
		.length = xway_frame_bytes(ctx, frags),
		.sampled_by = FILTER_NO_RULE,
		.decided_by = FILTER_NO_RULE,
	};
	struct filter_end end;

	if (filter_part == FILTER_TAP && !filter_selects_packet())
		return XDP_PASS;
	if (filter_needs_some(FILTER_NEED_ARRIVAL)) {
		packet.interface = ctx->ingress_ifindex;
		packet.queue = ctx->rx_queue_index;
	}
	end = filter_judge(ctx, &packet);
	if (filter_does_redirect() && end.verdict == XDP_REDIRECT &&
	    packet.known & FILTER_INSIDE && !filter_is_trial())
		end.verdict = filter_redirect_again(ctx, &packet);
	if (xway_asks_device)
		filter_keep_tag(ctx, &end);
	filter_end_with(ctx, &packet, &end);
	xway_decided(packet.decided_by, end.verdict, end.reason);
	return xway_done(ctx, frags, end.verdict, end.reason);
}

SEC("xdp")
int xway_filter(struct xdp_md *ctx)
{
	return filter_run(ctx, 0);
}

SEC("?xdp.frags")
int xway_filter_frags(struct xdp_md *ctx)
{
	return filter_run(ctx, 1);
}

char xway_license[] SEC("license") = "Dual MIT/GPL";
