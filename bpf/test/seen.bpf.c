/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A member of a chain: counts each packet in a map of its own, and returns the verdict that its
 * loader sets.
 */
#include "test.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} seen SEC(".maps");

const volatile __u32 verdict = XDP_PASS;

SEC("xdp")
int count_seen(struct xdp_md *ctx)
{
	__u32 key = 0;
	__u64 *packets = bpf_map_lookup_elem(&seen, &key);

	if (packets)
		*packets += 1;
	return verdict;
}

char _license[] SEC("license") = "Dual MIT/GPL";
