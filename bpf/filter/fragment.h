/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Later fragments follow their first one: its end is kept for them.
 *
 * Rule: memory is fixed; the entry that was used the longest ago goes first. One first fragment
 * lets no more bytes through than a packet can have, so that limits cannot be passed by fragments.
 * Drops are kept only where unknown fragments would not be dropped anyway, so that a flood of what
 * is dropped does not push out what passes.
 */
#ifndef FILTER_FRAGMENT_H
#define FILTER_FRAGMENT_H

#include "event.h"
#include "read.h"

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, struct filter_siblings);
	__type(value, struct filter_first);
} filter_fragments SEC(".maps");

xway_inline void filter_siblings_of(const struct filter_packet *packet,
				    struct filter_siblings *siblings)
{
	siblings->source[0] = packet->source[0];
	siblings->source[1] = packet->source[1];
	siblings->dest[0] = packet->dest[0];
	siblings->dest[1] = packet->dest[1];
	siblings->identification = packet->identification;
	siblings->family = packet->known & (FILTER_IPV4 | FILTER_IPV6);
}

/*
 * For the fragments that follow; `rule` is the one that decided. This and filter_follow() are
 * functions of their own because of the stack, and few packets come here.
 */
xway_global int filter_keep(const struct filter_siblings *siblings, __u32 verdict, __u32 rule)
{
	struct filter_first first = {
		.until = bpf_ktime_get_ns() + FILTER_FOLLOWING_NS,
		.rule = rule,
		.verdict = verdict,
		.left = FILTER_FOLLOWING_BYTES,
	};

	if (!siblings)
		return 0;
	/* What else was done, such as an answer, is not done for each fragment. */
	if (verdict != XDP_PASS && verdict != XDP_REDIRECT)
		first.verdict = XDP_DROP;
	if (first.verdict == XDP_DROP && filter_policies[XWAY_UNKNOWN_FRAGMENT] == FILTER_DROP)
		return 0;
	if (bpf_map_update_elem(&filter_fragments, siblings, &first, BPF_ANY))
		filter_count_event(FILTER_FRAGMENT_LOST);
	return 0;
}

/*
 * The verdict of a later fragment, the rule in packet->decided_by; 0 if the first one is unknown.
 * Two processors may both take the last bytes: then a few more follow.
 */
xway_global __u32 filter_follow(struct filter_packet *packet)
{
	struct filter_siblings siblings;
	struct filter_first *first;

	if (!packet)
		return 0;
	filter_siblings_of(packet, &siblings);
	first = bpf_map_lookup_elem(&filter_fragments, &siblings);
	if (!first || bpf_ktime_get_ns() >= first->until || packet->length > first->left)
		return 0;
	first->left -= packet->length;
	packet->decided_by = first->rule;
	return first->verdict;
}

#endif
