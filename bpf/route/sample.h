/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Where packets go: samples of forwarded packets by destination network, for a live view.
 *
 * One of ROUTE_SAMPLED packets is counted, so all others cost a multiplication. The networks that
 * were not seen for the longest time are forgotten.
 */
#ifndef ROUTE_SAMPLE_H
#define ROUTE_SAMPLE_H

#include "route.abi.h"

#include <xway/bpf.h>
#include <xway/stats.h>

#include "memory.h"

struct {
	__uint(type, BPF_MAP_TYPE_LRU_PERCPU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct route_network);
	__type(value, struct xway_count);
} route_networks SEC(".maps");

/*
 * Whether a packet is sampled, by a number that increases with each: multiples of the golden ratio
 * are spread evenly, and do not fall into step with packets that repeat.
 */
xway_inline int route_is_sampled(__u32 turn)
{
	return turn * 0x9e3779b1 < (1ULL << 32) / ROUTE_SAMPLED;
}

xway_inline void route_sample(const struct route_flow *flow, __u32 length)
{
	struct xway_count *count, first = { .packets = 1, .bytes = length };
	struct route_network network = { .family = flow->family };

	if (flow->family == XWAY_AF_INET) {
		network.address[0] = flow->dest[1] & xway_htonl(0xffffff00);
	} else {
		network.address[0] = flow->dest[0];
		network.address[1] = (flow->dest[0] >> 32) & xway_htonl(0xffff0000);
	}
	count = bpf_map_lookup_elem(&route_networks, &network);
	if (!count) {
		bpf_map_update_elem(&route_networks, &network, &first, BPF_NOEXIST);
		return;
	}
	count->packets++;
	count->bytes += length;
}

#endif
