/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Bans: sources whose packets are dropped for a time.
 *
 * Rule: new bans never displace others; if the map is full, they fail and are counted. An expired
 * ban is removed by the next packet of its source, or by user space.
 */
#ifndef FILTER_BAN_H
#define FILTER_BAN_H

#include "filter.abi.h"

#include <xway/bpf.h>

#include "clock.h"
#include "event.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct filter_source);
	__type(value, struct filter_ban);
} filter_bans SEC(".maps");

/* Whether there can be bans, by rules or by user space. */
const volatile __u32 filter_may_ban;

/* False for a packet that has no addresses. */
xway_inline int filter_source_of(const struct filter_packet *packet, struct filter_source *source)
{
	source->high = packet->source[0];
	source->low = packet->source[1];
	if (packet->known & FILTER_IPV4)
		source->low |= FILTER_IPV4_SOURCE;
	return packet->known & (FILTER_IPV4 | FILTER_IPV6);
}

/* Bans last at least 100 ms, so the time of ticks suffices. */
xway_inline int filter_is_banned(struct filter_packet *packet)
{
	struct filter_source source;
	struct filter_ban *ban;

	if (!filter_may_ban || !filter_source_of(packet, &source))
		return 0;
	ban = bpf_map_lookup_elem(&filter_bans, &source);
	if (!ban)
		return 0;
	if (ban->until <= filter_coarse_ns()) {
		bpf_map_delete_elem(&filter_bans, &source);
		return 0;
	}
	/* Processors share the value, so the addition must be atomic. */
	__sync_fetch_and_add(&ban->packets, 1);
	return 1;
}

xway_inline __u64 filter_ban_ns(__u32 time)
{
	if (time & FILTER_BAN_MS)
		return (time & ~FILTER_BAN_MS) * 1000000ULL;
	return time * 1000000000ULL;
}

xway_inline void filter_make_ban(struct filter_packet *packet, __u32 time)
{
	struct filter_ban ban = {};
	struct filter_source source;

	if (!filter_source_of(packet, &source))
		return;
	ban.until = filter_coarse_ns() + filter_ban_ns(time);
	if (bpf_map_update_elem(&filter_bans, &source, &ban, BPF_ANY))
		filter_count_event(FILTER_BANS_FULL);
}

#endif
