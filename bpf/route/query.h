/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The arguments of bpf_fib_lookup(). They are in a map, because functions that call each other, and
 * programs of a chain, share a stack of 512 bytes.
 *
 * Rule: a query ends before the next one begins.
 */
#ifndef ROUTE_QUERY_H
#define ROUTE_QUERY_H

#include <xway/bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct bpf_fib_lookup);
} route_queries SEC(".maps");

/* A query of this processor without any argument; NULL never happens. */
xway_inline struct bpf_fib_lookup *route_query(void)
{
	__u32 only = 0;
	struct bpf_fib_lookup *query = bpf_map_lookup_elem(&route_queries, &only);

	if (query)
		__builtin_memset(query, 0, sizeof(*query));
	return query;
}

#endif
