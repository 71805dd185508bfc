/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Counts of what is sent to each next hop.
 *
 * A next hop is a port and a MAC address. It has a number, which is found with the route and
 * remembered with it, so that a packet whose route is remembered costs one more counter. Numbers
 * are given where the address first appears; those that have no place, because the table is full
 * around theirs, are counted together as number 0.
 */
#ifndef ROUTE_HOP_H
#define ROUTE_HOP_H

#include "route.abi.h"

#include <xway/bpf.h>
#include <xway/stats.h>

/*
 * Next hops by number: the MAC address as in `struct xway_port`, the port plus one above, and the
 * port's epoch, so that a port that gets the number of another one has next hops of its own.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ROUTE_HOPS);
	__type(key, __u32);
	__type(value, __u64);
} route_hops SEC(".maps");

/* Index: the number of a next hop. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, ROUTE_HOPS);
	__type(key, __u32);
	__type(value, struct xway_count);
} route_hop_counts SEC(".maps");

/* The number of a next hop, which it gets if it has none yet; 0 if there is no place for it. */
xway_inline __u32 route_hop_of(__u32 egress, __u32 epoch, __u64 mac)
{
	__u64 port = (egress + 1) | epoch << ROUTE_HOP_PORT_BITS;
	__u64 hop = mac | port << ROUTE_MAC_BITS;
	__u32 first = hop * 0x9e3779b97f4a7c15 >> 32;

	for (__u32 i = 0; i < ROUTE_HOP_PROBES; i++) {
		__u32 number = (first + i) & (ROUTE_HOPS - 1);
		__u64 *known, found;

		if (!number)
			continue;
		known = bpf_map_lookup_elem(&route_hops, &number);
		if (!known)
			return 0;
		found = *(volatile __u64 *)known;
		/* Another processor may be first, perhaps with the same next hop. */
		if (!found)
			found = __sync_val_compare_and_swap(known, 0, hop);
		if (!found || found == hop)
			return number;
	}
	return 0;
}

/* Counts a frame of this length that is sent. */
xway_inline void route_count_hop(__u32 hop, __u64 length)
{
	struct xway_count *count = bpf_map_lookup_elem(&route_hop_counts, &hop);

	if (!count)
		return;
	count->packets++;
	count->bytes += length;
}

#endif
