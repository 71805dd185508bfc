// SPDX-License-Identifier: Dual MIT/GPL
/*
 * filter: rules decide what becomes of a packet.
 *
 * Path of a packet: read what some rule asks for → what is odd has a policy → the rules, as code
 * generated from them → act → the same for a packet inside of it → count, leave. filter_match() is
 * the place of the generated code.
 */
#include "filter.abi.h"

#include <xway/bpf.h>
#include <xway/parse.h>
#include <xway/stats.h>
#include <xway/tag.h>

#include "act.h"
#include "fragment.h"
#include "inner.h"
#include "read.h"
#include "try.h"
#include "watch.h"

/*
 * The number of the first rule that matches and decides, or FILTER_NO_RULE. The loader puts code
 * generated from the rules in the place of this body; a rule that does not decide is given to
 * filter_effect() when it matches.
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

xway_inline struct filter_end filter_odd_end(enum filter_policy policy, enum xway_reason oddity)
{
	return (struct filter_end){ policy == FILTER_PASS ? XDP_PASS : XDP_DROP, oddity };
}

/* The end of a later fragment; reason XWAY_DEFAULT if the rules are to judge it. */
xway_inline struct filter_end filter_follow_end(struct xdp_md *ctx, struct filter_packet *packet)
{
	struct filter_end end = { filter_follow(packet), XWAY_LATER_FRAGMENT };

	if (!end.verdict) {
		enum filter_policy policy = filter_policies[XWAY_UNKNOWN_FRAGMENT];

		if (policy == FILTER_JUDGE)
			return (struct filter_end){ filter_default, XWAY_DEFAULT };
		return filter_odd_end(policy, XWAY_UNKNOWN_FRAGMENT);
	}
	if (end.verdict == XDP_REDIRECT)
		end.verdict = filter_decided(ctx, packet, packet->decided_by).verdict;
	return end;
}

/* The end by policy; reason XWAY_DEFAULT if the rules are to judge. */
xway_inline struct filter_end filter_policy_end(struct xdp_md *ctx, struct filter_packet *packet,
						enum xway_reason oddity)
{
	enum filter_policy policy = FILTER_JUDGE;

	if (oddity < FILTER_ODDITIES)
		policy = filter_policies[oddity];
	if (policy == FILTER_JUDGE)
		return (struct filter_end){ filter_default, XWAY_DEFAULT };
	if (policy == FILTER_TRACK)
		return filter_follow_end(ctx, packet);
	return filter_odd_end(policy, oddity);
}

/* Judges the packet that was read. */
xway_inline struct filter_end filter_judge_one(struct xdp_md *ctx, struct filter_packet *packet,
					       __u32 oddity, int *is_over)
{
	__u32 rule;

	/* Nothing that is odd about a packet helps a banned source. */
	if (filter_is_banned(packet))
		return (struct filter_end){ XDP_DROP, XWAY_BANNED };
	if (oddity != FILTER_SOUND) {
		struct filter_end end = filter_policy_end(ctx, packet, oddity);

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

/* Among packets inside of each other a drop wins, then what is more than passing. */
xway_inline int filter_is_stronger(__u32 fresh, __u32 old)
{
	return fresh == XDP_DROP ? old != XDP_DROP : fresh != XDP_PASS && old == XDP_PASS;
}

/* What an oddity behind all layers makes of an end; true if it decides. */
xway_inline int filter_ends_beyond(struct filter_end *end, __u8 oddity)
{
	enum filter_policy policy;

	if (oddity >= FILTER_ODDITIES)
		return 0;
	policy = filter_policies[oddity];
	if (policy != FILTER_DROP && (policy != FILTER_PASS || end->verdict != XDP_PASS))
		return 0;
	*end = filter_odd_end(policy, oddity);
	return 1;
}

xway_inline struct filter_end filter_judge(struct xdp_md *ctx, struct filter_packet *packet)
{
	__u32 at = 0, limit = packet->length, what = FILTER_OUTERMOST, cut = 0;
	struct filter_siblings siblings;
	struct filter_end end = {};
	/* A policy decided: nothing further is looked at. */
	int is_over = 0;

	siblings.family = 0;
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
		/* What a policy passes is counted under its name, too. */
		if (!layer || filter_is_stronger(one.verdict, end.verdict) ||
		    (is_over && end.verdict == XDP_PASS))
			end = one;
		else
			packet->decided_by = decided_by;
		if (filter_tracks() && packet->fragment == FILTER_FIRST && !siblings.family)
			filter_siblings_of(packet, &siblings);
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
	if (filter_tracks() && siblings.family)
		filter_keep(&siblings, end.verdict, packet->decided_by);
	return end;
}

/*
 * A tag that is not in the frame goes with a packet that the stack does not get. The device is
 * asked once more: a tag that is kept from the reading on costs the frame of the whole program.
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

	if (filter_part == FILTER_DRAWS && !filter_draw())
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
