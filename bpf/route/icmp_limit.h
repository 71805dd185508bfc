/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Limits of ICMP errors: token buckets for the networks of their receivers, and one for all.
 *
 * A bucket is the time at which it will be full again. A seeded hash selects the bucket of a
 * network, so that no sender can choose a network that shares the bucket of another one. A message
 * is sent if both buckets have a token, and takes one from each: a network over its limit takes
 * nothing from the others, and messages over a limit write nothing.
 */
#ifndef ROUTE_ICMP_LIMIT_H
#define ROUTE_ICMP_LIMIT_H

#include "route.abi.h"

#include <xway/bpf.h>

#include "memory.h"

/* The time that a message costs, and the time that a full bucket has, in nanoseconds. */
const volatile __u64 route_icmp_prefix_cost = 10000000;
const volatile __u64 route_icmp_prefix_burst = 1000000000;
const volatile __u64 route_icmp_total_cost = 100000;
const volatile __u64 route_icmp_total_burst = 100000000;

/* The buckets of networks, and that of all messages after them. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ROUTE_BUCKETS + 1);
	__type(key, __u32);
	__type(value, __u64);
} route_buckets SEC(".maps");

/* Attempts to write a bucket that other processors write as well. */
#define ROUTE_ATTEMPTS 4

/* The bucket after a message, or 0 if a token is missing. */
xway_inline __u64 route_next_token(__u64 bucket, __u64 now, __u64 cost, __u64 burst)
{
	__u64 next = (bucket > now ? bucket : now) + cost;

	return next - now <= burst ? next : 0;
}

/* 0 if there is no token, or another processor always wrote first. */
xway_inline int route_take_token(__u64 *bucket, __u64 now, __u64 cost, __u64 burst)
{
	if (!cost)
		return 1;
	for (int i = 0; i < ROUTE_ATTEMPTS; i++) {
		__u64 old = *(volatile __u64 *)bucket;
		__u64 next = route_next_token(old, now, cost, burst);

		if (!next)
			return 0;
		if (__sync_val_compare_and_swap(bucket, old, next) == old)
			return 1;
	}
	return 0;
}

/* The bucket of all messages, and that of a network; NULL never happens. */
xway_inline __u64 *route_total_bucket(void)
{
	__u32 index = ROUTE_BUCKETS;

	return bpf_map_lookup_elem(&route_buckets, &index);
}

xway_inline __u64 *route_prefix_bucket(__u64 network)
{
	__u32 index = (network + route_seed[0]) * route_seed[5] >> (64 - ROUTE_BUCKET_BITS);

	return bpf_map_lookup_elem(&route_buckets, &index);
}

/* Whether a bucket has no token; one without a limit has. */
xway_inline int route_is_empty(const __u64 *bucket, __u64 now, __u64 cost, __u64 burst)
{
	return cost && !route_next_token(*(const volatile __u64 *)bucket, now, cost, burst);
}

/*
 * Whether a message to a network would exceed a limit, as route_is_over_limit() states; nothing is
 * counted.
 */
xway_inline int route_is_exhausted(__u64 network)
{
	const __u64 *prefix = route_prefix_bucket(network), *total = route_total_bucket();
	__u64 now = bpf_ktime_get_coarse_ns();

	return prefix && total &&
	       (route_is_empty(prefix, now, route_icmp_prefix_cost, route_icmp_prefix_burst) ||
		route_is_empty(total, now, route_icmp_total_cost, route_icmp_total_burst));
}

/* Whether a message to a network would exceed a limit; if not, it is counted. */
xway_inline int route_is_over_limit(__u64 network)
{
	__u64 *prefix = route_prefix_bucket(network), *total = route_total_bucket(), now;

	if (!total || !prefix)
		return 1;
	now = bpf_ktime_get_coarse_ns();
	if (route_is_empty(total, now, route_icmp_total_cost, route_icmp_total_burst))
		return 1;
	return !route_take_token(prefix, now, route_icmp_prefix_cost, route_icmp_prefix_burst) ||
	       !route_take_token(total, now, route_icmp_total_cost, route_icmp_total_burst);
}

#endif
