/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The actions of rules.
 *
 * A rule that does not decide acts in filter_effect() when it matches: it counts, limits, or
 * selects the packet for a sample or a mark. Actions that need the verdict or move the start of the
 * packet are stored in `struct filter_packet` for filter_finish(). A rule that decides acts in
 * filter_decided(). Rule: the verifier removes the code of actions that no rule has
 * (filter_actions).
 */
#ifndef FILTER_ACT_H
#define FILTER_ACT_H

#include "filter.abi.h"

#include <xway/bpf.h>
#include <xway/frame.h>
#include <xway/stats.h>

#include "ban.h"
#include "clock.h"
#include "event.h"
#include "limit.h"
#include "part.h"
#include "sample.h"
#include "syn.h"

/* A bit for each enum filter_action that some rule has. */
const volatile __u32 filter_actions;
/* The verdict if no rule decides. */
const volatile __u32 filter_default = XDP_PASS;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct filter_rule);
} filter_rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct filter_count);
} filter_counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} filter_interfaces SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_CPUMAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} filter_cpus SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} filter_sockets SEC(".maps");

/* The end of a packet. */
struct filter_end {
	__u32 verdict;
	enum xway_reason reason;
};

xway_inline int filter_does(enum filter_action action)
{
	return filter_actions >> action & 1;
}

/* True if the packet is for the SYN proxy of the rule. */
xway_inline __u32 filter_guard(struct xdp_md *ctx, struct filter_packet *packet,
			       const struct filter_rule *rule)
{
	packet->guarded = filter_guard_request(ctx, packet, rule->argument);
	return packet->guarded != FILTER_CONTINUE;
}

/* Whether the time of a rule is over: then it does not match. */
xway_inline int filter_is_over(const struct filter_rule *rule)
{
	if (!filter_does(FILTER_ACTION_DROP_FOR) || rule->action != FILTER_ACTION_DROP_FOR)
		return 0;
	return filter_coarse_ns() >> FILTER_TIME_SHIFT >= rule->argument;
}

/*
 * Counts the match of a rule that does not decide, and performs its action. True if the action
 * decides after all, which ends the search. The generated code calls this function, which is
 * verified once for any number of rules.
 */
xway_global __u32 filter_effect(struct xdp_md *ctx, struct filter_packet *packet, __u32 number)
{
	struct filter_rule *rule = bpf_map_lookup_elem(&filter_rules, &number);
	struct filter_count *count = bpf_map_lookup_elem(&filter_counts, &number);

	if (!packet || !rule || !count)
		return 0;
	if (filter_is_over(rule))
		return 0;
	count->packets++;
	count->bytes += packet->length;
	if (filter_does(FILTER_ACTION_DROP_FOR) && rule->action == FILTER_ACTION_DROP_FOR) {
		count->taken++;
		return 1;
	}
	if (filter_does(FILTER_ACTION_LIMIT) && rule->action == FILTER_ACTION_LIMIT) {
		if (!filter_over_limit(packet, rule->argument))
			return 0;
		count->taken++;
		return 1;
	}
	if (filter_does(FILTER_ACTION_SAMPLE) && rule->action == FILTER_ACTION_SAMPLE)
		filter_choose_sample(packet, count, number, rule->argument);
	if (filter_does(FILTER_ACTION_MARK) && rule->action == FILTER_ACTION_MARK) {
		packet->marked = 1;
		packet->mark = rule->argument;
	}
	if (filter_does(FILTER_ACTION_SYN_PROXY) && rule->action == FILTER_ACTION_SYN_PROXY)
		return filter_guard(ctx, packet, rule);
	return 0;
}

/* Counts a packet whose redirect has no target. */
xway_inline __u32 filter_redirected(__u32 verdict)
{
	if (verdict != XDP_REDIRECT)
		filter_count_event(FILTER_NO_TARGET);
	return verdict;
}

/*
 * Without a target, a packet for another interface is dropped, because it is not for this host; a
 * packet for a processor or socket of this host is passed.
 */
xway_inline __u32 filter_redirect(struct xdp_md *ctx, const struct filter_rule *rule)
{
	if (filter_does(FILTER_ACTION_TO_INTERFACE) && rule->action == FILTER_ACTION_TO_INTERFACE)
		return filter_redirected(
			bpf_redirect_map(&filter_interfaces, rule->argument, XDP_DROP));
	if (filter_does(FILTER_ACTION_TO_CPU) && rule->action == FILTER_ACTION_TO_CPU)
		return filter_redirected(bpf_redirect_map(&filter_cpus, rule->argument, XDP_PASS));
	if (filter_does(FILTER_ACTION_TO_SOCKET) && rule->action == FILTER_ACTION_TO_SOCKET)
		return filter_redirected(
			bpf_redirect_map(&filter_sockets, ctx->rx_queue_index, XDP_PASS));
	return XDP_DROP;
}

xway_inline __u32 filter_verdict(struct xdp_md *ctx, struct filter_packet *packet,
				 const struct filter_rule *rule)
{
	if (rule->action == FILTER_ACTION_PASS)
		return XDP_PASS;
	if (filter_does(FILTER_ACTION_BAN) && rule->action == FILTER_ACTION_BAN)
		filter_make_ban(packet, rule->argument);
	return filter_redirect(ctx, rule);
}

xway_inline int filter_does_redirect(void)
{
	return filter_does(FILTER_ACTION_TO_INTERFACE) || filter_does(FILTER_ACTION_TO_CPU) ||
	       filter_does(FILTER_ACTION_TO_SOCKET);
}

/*
 * The verdict of the rule that decided in the end. The kernel keeps only the target of the last
 * call of bpf_redirect_map(), and each encapsulated packet may have made one.
 */
static __attribute__((noinline)) __u32 filter_redirect_again(struct xdp_md *ctx,
							     const struct filter_packet *packet)
{
	__u32 number = packet->decided_by;
	struct filter_rule *rule = bpf_map_lookup_elem(&filter_rules, &number);

	return rule ? filter_redirect(ctx, rule) : XDP_DROP;
}

/* The end of a packet by the rule that filter_match() returned. */
xway_inline struct filter_end filter_decided(struct xdp_md *ctx, struct filter_packet *packet,
					     __u32 number)
{
	struct filter_rule *rule = bpf_map_lookup_elem(&filter_rules, &number);
	struct filter_count *count = bpf_map_lookup_elem(&filter_counts, &number);

	if (!rule || !count)
		return (struct filter_end){ filter_default, XWAY_DEFAULT };
	packet->decided_by = number;
	/* Counted when it matched. */
	if (rule->action == FILTER_ACTION_LIMIT)
		return (struct filter_end){ XDP_DROP, XWAY_LIMITED };
	if (filter_does(FILTER_ACTION_DROP_FOR) && rule->action == FILTER_ACTION_DROP_FOR)
		return (struct filter_end){ XDP_DROP, XWAY_RULE };
	if (filter_does(FILTER_ACTION_SYN_PROXY) && rule->action == FILTER_ACTION_SYN_PROXY) {
		count->taken++;
		return (struct filter_end){ filter_proxy_verdict(ctx, packet), XWAY_SYN_PROXY };
	}
	count->packets++;
	count->bytes += packet->length;
	return (struct filter_end){ filter_verdict(ctx, packet, rule), XWAY_RULE };
}

/* Writes four bytes of metadata before the packet, for later programs. */
xway_inline void filter_write_mark(struct xdp_md *ctx, __u32 mark)
{
	if (!bpf_xdp_adjust_meta(ctx, -(int)sizeof(mark))) {
		__u32 *place = (void *)(unsigned long)ctx->data_meta;

		if ((void *)(place + 1) <= xway_data(ctx)) {
			*place = mark;
			return;
		}
	}
	filter_count_event(FILTER_MARK_REFUSED);
}

/* Performs actions that need the verdict. */
xway_inline void filter_finish(struct xdp_md *ctx, struct filter_packet *packet,
			       const struct filter_end *end)
{
	if (filter_does(FILTER_ACTION_SAMPLE) && packet->sampled_by != FILTER_NO_RULE)
		filter_write_sample(ctx, packet, end->verdict, end->reason);
	if (filter_does(FILTER_ACTION_MARK) && packet->marked && end->verdict != XDP_DROP)
		filter_write_mark(ctx, packet->mark);
}

#endif
