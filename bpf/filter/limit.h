/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Limits: token buckets for any number of senders in fixed memory.
 *
 * A bucket is the time at which it will be full again: empty buckets are in the future, full ones
 * in the past. So a jump of the clock never yields more than the burst, and full buckets need no
 * memory. A hash selects a line of eight buckets, which is one cache line. The sender's own bucket
 * is found by sixteen further bits of the hash; a sender without one takes the fullest bucket of
 * the line, with the tokens that are missing from it. So no sender exceeds the limit, for any
 * number of senders; docs/filter.md describes what a sender can lose.
 *
 * Rule: a packet costs the same whether or not its sender has a bucket: there is no branch on it.
 */
#ifndef FILTER_LIMIT_H
#define FILTER_LIMIT_H

#include "filter.abi.h"

#include <xway/bpf.h>

#include "clock.h"
#include "event.h"
#include "scratch.h"

/* Times are the high 48 bits of a bucket, and wrap. */
#define FILTER_TIME_MASK 0xffffffffffffULL
#define FILTER_TAG_BITS 16
#define FILTER_TAG_MASK 0xffffULL
/* Attempts to write a bucket that other processors write as well. */
#define FILTER_ATTEMPTS 4

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct filter_limit);
} filter_limits SEC(".maps");

/* Mappable only because such arrays begin on a page: a line must not lie on two cache lines. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct filter_line);
} filter_lines SEC(".maps");

/* Random numbers of the hash; a map, so that they can be carried over when rules change. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct filter_seed);
} filter_seed SEC(".maps");

/*
 * Whether the burst of a limit is too short for the time of ticks. The exact clock costs ten times
 * more.
 */
const volatile __u32 filter_exact_clock;

/* The time of the packet, which is read once. */
xway_inline __u64 filter_now(struct filter_packet *packet)
{
	if (!packet->now)
		packet->now = filter_exact_clock ? bpf_ktime_get_ns() : filter_coarse_ns();
	return packet->now;
}

/*
 * The hash for line and tag: the sum of 32-bit words times random 64-bit numbers. For the high half
 * of the sum, any two keys collide with a probability of 2^-32 (multilinear hashing), so no sender
 * can choose addresses that collide.
 */
xway_inline __u64 filter_hash(const struct filter_packet *packet, const struct filter_level *level,
			      const struct filter_seed *seed)
{
	__u64 ports = ((__u32)packet->source_port << 16 | packet->dest_port) & level->ports;
	__u64 protocol = packet->protocol & level->protocol;
	__u64 source = packet->source[1] & level->source6[1];
	__u64 dest = packet->dest[1] & level->dest6[1];
	__u64 sum = seed->words[0] + ports * seed->words[1] + protocol * seed->words[2];

	if (!(packet->known & FILTER_IPV6))
		return sum + (packet->source[1] & level->source4) * seed->words[3] +
		       (packet->dest[1] & level->dest4) * seed->words[4];
	sum += (__u32)source * seed->words[5] + (source >> 32) * seed->words[6] +
	       (__u32)dest * seed->words[7] + (dest >> 32) * seed->words[8];
	source = packet->source[0] & level->source6[0];
	dest = packet->dest[0] & level->dest6[0];
	return sum + (__u32)source * seed->words[9] + (source >> 32) * seed->words[10] +
	       (__u32)dest * seed->words[11] + (dest >> 32) * seed->words[12];
}

/* All ones for a negative number, otherwise 0. The compiler must not make a branch of it. */
xway_inline __u64 filter_sign(__u64 number)
{
	xway_opaque(number);
	number = (__u64)((__s64)number >> 63);
	xway_opaque(number);
	return number;
}

/* The lower of two numbers below 2^63. */
xway_inline __u64 filter_lower(__u64 a, __u64 b)
{
	return b + (a - b & filter_sign(a - b));
}

/* The rank of a bucket in its line, of which the lowest is used; its number is in the low bits. */
xway_inline __u64 filter_rank(const struct filter_line *line, int number, __u64 tag,
			       __u64 horizon)
{
	__u64 bucket = *(const volatile __u64 *)&line->buckets[number];
	__u64 other = filter_sign(-((bucket ^ tag) & FILTER_TAG_MASK));

	return ((bucket - horizon) >> 13 & ~7ULL & other) | number;
}

/* The bucket of the tag, or else the one that is or will be full first. */
xway_inline __u32 filter_bucket(const struct filter_line *line, __u64 tag, __u64 horizon)
{
	__u64 even = filter_rank(line, 0, tag, horizon);
	__u64 odd = filter_rank(line, 1, tag, horizon);

	xway_unroll
	for (int i = 2; i < FILTER_WAYS; i += 2) {
		even = filter_lower(filter_rank(line, i, tag, horizon), even);
		odd = filter_lower(filter_rank(line, i + 1, tag, horizon), odd);
	}
	return filter_lower(even, odd) & (FILTER_WAYS - 1);
}

/* The demand of a packet on a limit. */
struct filter_demand {
	const struct filter_packet *packet;
	const struct filter_seed *seed;
	__u64 now;
	__u64 tokens;
};

/*
 * Finds the bucket of a level, and its value without the packet's tokens; all ones if there are too
 * few in it, otherwise 0. Times are in the unit of the limit; the tokens that are missing from a
 * bucket are the time that it is ahead.
 */
xway_inline __u64 filter_check_level(struct filter_found *found, const struct filter_level *level,
			      const struct filter_demand *demand)
{
	__u64 hash = filter_hash(demand->packet, level, demand->seed);
	struct filter_line *line;
	__u64 now = demand->now, missing;

	found->line = level->first + (hash >> 48 & level->mask);
	found->tag = hash >> 32 & FILTER_TAG_MASK;
	line = bpf_map_lookup_elem(&filter_lines, &found->line);
	if (!line)
		return 0;
	found->number =
		filter_bucket(line, found->tag, (now + 2 * level->burst + 1) << FILTER_TAG_BITS);
	found->old = *(volatile __u64 *)&line->buckets[found->number & (FILTER_WAYS - 1)];
	missing = (found->old >> FILTER_TAG_BITS) - now & FILTER_TIME_MASK;
	/*
	 * If the time is past, nothing is missing. More than the burst is missing if another
	 * processor with a later clock emptied the bucket: it is empty, not full.
	 */
	missing &= ~filter_sign(2 * level->burst - missing);
	missing += demand->tokens * level->cost;
	found->next = (now + missing & FILTER_TIME_MASK) << FILTER_TAG_BITS | found->tag;
	return filter_sign(level->burst - missing);
}

/* False if another processor changed the bucket meanwhile. */
xway_inline int filter_write(struct filter_found *found)
{
	struct filter_line *line = bpf_map_lookup_elem(&filter_lines, &found->line);
	__u64 *bucket;

	if (!line)
		return 1;
	bucket = &line->buckets[found->number & (FILTER_WAYS - 1)];
	return __sync_val_compare_and_swap(bucket, found->old, found->next) == found->old;
}

/*
 * Whether a packet is over a limit: of its sender, of a prefix of that, or of all senders. All
 * levels are checked before any is written, because only packets that pass count: a sender over its
 * own limit takes no tokens from its prefix, nor a prefix over its limit from its senders. So the
 * order of the checks does not matter, and for most packets of a flood one check suffices: that of
 * the level that the previous packet exceeded.
 */
xway_inline int filter_over_limit(struct filter_packet *packet, __u32 number)
{
	struct filter_limit *limit = bpf_map_lookup_elem(&filter_limits, &number);
	__u32 zero = 0;
	struct filter_seed *seed = bpf_map_lookup_elem(&filter_seed, &zero);
	struct xway_scratch *scratch = filter_scratch();
	struct filter_demand demand = { .packet = packet, .seed = seed, .tokens = 1 };
	struct filter_levels *levels;
	__u32 first;

	if (!limit || !seed || !scratch)
		return 0;
	levels = &scratch->levels;
	demand.now = filter_now(packet) << (limit->finer & 63) >> (limit->coarser & 63);
	if (limit->unit == FILTER_BYTES)
		demand.tokens = packet->length;
	first = limit->ended_by & (FILTER_LEVELS - 1);
	if (filter_check_level(&levels->found[first], &limit->levels[first], &demand))
		return 1;
	xway_unroll
	for (__u32 i = 0; i < FILTER_LEVELS; i++) {
		if (i == first || !limit->levels[i].cost)
			continue;
		if (filter_check_level(&levels->found[i], &limit->levels[i], &demand)) {
			limit->ended_by = i;
			return 1;
		}
	}
	xway_unroll
	for (int i = 0; i < FILTER_LEVELS; i++) {
		struct filter_found *found = &levels->found[i];

		if (!limit->levels[i].cost)
			continue;
		for (int attempt = 0; !filter_write(found); attempt++) {
			if (attempt == FILTER_ATTEMPTS) {
				filter_count_event(FILTER_CONTENDED);
				break;
			}
			if (filter_check_level(found, &limit->levels[i], &demand))
				return 1;
		}
	}
	return 0;
}

#endif
