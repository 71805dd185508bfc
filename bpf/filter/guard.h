/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Guards: connection requests counted by destination, for the SYN proxy.
 *
 * A guard belongs to one destination at a time, which it keeps as a 64-bit hash under the random
 * numbers of filter_seed, so no sender can choose destinations that share one. A destination takes
 * a guard of its set that has been idle. Where all of a set are busy, it shares one, which only
 * starts the proxy earlier: a proxied destination accepts connections like any other.
 * Rule: a guard decides when requests are answered with cookies, never whether a client connects.
 */
#ifndef FILTER_GUARD_H
#define FILTER_GUARD_H

#include "filter.abi.h"

#include <xway/bpf.h>

#include "limit.h"

/* Guards that a destination can choose from. */
#define FILTER_GUARD_WAYS 4

/* Requests to one destination, on the monotonic clock. Not for user space: no filter_. */
struct syn_guard {
	/* The destination, as a hash with a random key; 0 for none. */
	__u64 owner;
	/* When the second began in which `requests` came. */
	__u64 second;
	/* Until when requests are answered by the proxy. */
	__u64 until;
	__u32 requests;
	__u32 zero;
};
_Static_assert(sizeof(struct syn_guard) == 32, "no hidden padding");

/* Sets of FILTER_GUARD_WAYS guards. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FILTER_GUARD_WAYS);
	__type(key, __u32);
	__type(value, struct syn_guard);
} filter_guards SEC(".maps");

/* Entries of filter_guards, less one: a power of two less one. */
const volatile __u32 filter_guard_mask = FILTER_GUARD_WAYS - 1;

#define FILTER_SECOND 1000000000ULL
/* The proxy continues for this time after the last second with too many requests. */
#define FILTER_GUARD_HOLD (10 * FILTER_SECOND)

/* Multilinear as filter_hash(), of the destination alone. */
xway_inline __u64 filter_hash_destination(const struct filter_packet *packet,
					  const struct filter_seed *seed)
{
	__u64 low = packet->dest[1], high = packet->dest[0];

	if (packet->known & FILTER_IPV4)
		low |= FILTER_IPV4_SOURCE;
	return seed->words[0] + packet->dest_port * seed->words[1] + (__u32)low * seed->words[7] +
	       (low >> 32) * seed->words[8] + (__u32)high * seed->words[11] +
	       (high >> 32) * seed->words[12];
}

/* Clocks of processors differ a little: an end that was just written may lie ahead. */
xway_inline int filter_has_passed(__u64 begin, __u64 now, __u64 time)
{
	return (__s64)(now - begin) >= (__s64)time;
}

xway_inline int filter_is_idle(const struct syn_guard *guard, __u64 now)
{
	return now >= guard->until && filter_has_passed(guard->second, now, FILTER_SECOND);
}

/*
 * The guard of a destination. With `claims`, an idle one of its set becomes its own if it has none.
 * NULL only where the maps are not as the loader makes them.
 */
xway_inline struct syn_guard *filter_guard_of(const struct filter_packet *packet, __u64 now,
						 int claims)
{
	struct syn_guard *guard, *idle = NULL;
	__u32 zero = 0, first, slot;
	const struct filter_seed *seed = bpf_map_lookup_elem(&filter_seed, &zero);
	__u64 owner, old;

	if (!seed)
		return NULL;
	owner = filter_hash_destination(packet, seed);
	first = owner >> 40 & filter_guard_mask & ~(__u32)(FILTER_GUARD_WAYS - 1);
	owner |= 1;
	for (__u32 i = 0; i < FILTER_GUARD_WAYS; i++) {
		slot = first + i;
		guard = bpf_map_lookup_elem(&filter_guards, &slot);
		if (!guard || guard->owner == owner)
			return guard;
		if (!idle && filter_is_idle(guard, now))
			idle = guard;
	}
	if (claims && idle) {
		old = idle->owner;
		if (__sync_val_compare_and_swap(&idle->owner, old, owner) == old)
			return idle;
	}
	slot = first + (owner >> 32 & (FILTER_GUARD_WAYS - 1));
	return bpf_map_lookup_elem(&filter_guards, &slot);
}

/*
 * Counts a request; whether the proxy has to answer it. Processors that begin a second at the same
 * time lose a few counts, which starts the proxy a little later.
 */
xway_inline int filter_count_request(struct syn_guard *guard, __u32 above, __u64 now)
{
	if (filter_has_passed(guard->second, now, FILTER_SECOND)) {
		guard->second = now;
		guard->requests = 0;
	}
	__sync_fetch_and_add(&guard->requests, 1);
	if (guard->requests > above)
		guard->until = now + FILTER_GUARD_HOLD;
	return now < guard->until;
}

#endif
