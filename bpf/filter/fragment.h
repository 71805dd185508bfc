/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Later fragments are treated as their first one, whose end is stored for them.
 *
 * Rule: memory is fixed; the least recently used entry is replaced. A first fragment allows at most
 * the bytes of the longest packet, so fragments cannot circumvent limits. Drops are stored only if
 * unknown fragments are not dropped anyway, so that a flood of dropped packets does not displace
 * those that pass.
 */
#ifndef FILTER_FRAGMENT_H
#define FILTER_FRAGMENT_H

#include "event.h"
#include "read.h"

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, struct filter_fragment_key);
	__type(value, struct filter_first_fragment);
} filter_fragments SEC(".maps");

xway_inline void filter_fragment_key_of(const struct filter_packet *packet,
				    struct filter_fragment_key *key)
{
	key->source[0] = packet->source[0];
	key->source[1] = packet->source[1];
	key->dest[0] = packet->dest[0];
	key->dest[1] = packet->dest[1];
	key->identification = packet->identification;
	key->family = packet->known & (FILTER_IPV4 | FILTER_IPV6);
}

/*
 * Stores the end of a first fragment; `rule` is the one that decided. This and
 * filter_follow_first() are global functions to save stack; few packets reach them.
 */
xway_global int filter_keep_first(const struct filter_fragment_key *key, __u32 verdict,
				  __u32 rule)
{
	struct filter_first_fragment first = {
		.until = bpf_ktime_get_ns() + FILTER_FOLLOWING_NS,
		.rule = rule,
		.verdict = verdict,
		.left = FILTER_FOLLOWING_BYTES,
	};
	/* Linux before 6.2 takes no key from memory that a global function was given. */
	struct filter_fragment_key own;

	if (!key)
		return 0;
	own = *key;
	/* Other actions, such as an answer, are not repeated for each fragment. */
	if (verdict != XDP_PASS && verdict != XDP_REDIRECT)
		first.verdict = XDP_DROP;
	if (first.verdict == XDP_DROP && filter_policies[XWAY_UNKNOWN_FRAGMENT] == FILTER_DROP)
		return 0;
	if (bpf_map_update_elem(&filter_fragments, &own, &first, BPF_ANY))
		filter_count_event(FILTER_FRAGMENT_LOST);
	return 0;
}

/*
 * The verdict of a later fragment, the rule in packet->decided_by; 0 if the first one is unknown.
 * Two processors may both use the last bytes, which allows a few more.
 */
xway_global __u32 filter_follow_first(struct filter_packet *packet)
{
	struct filter_fragment_key key;
	struct filter_first_fragment *first;

	if (!packet)
		return 0;
	filter_fragment_key_of(packet, &key);
	first = bpf_map_lookup_elem(&filter_fragments, &key);
	if (!first || bpf_ktime_get_ns() >= first->until || packet->length > first->left)
		return 0;
	first->left -= packet->length;
	packet->decided_by = first->rule;
	return first->verdict;
}

#endif
