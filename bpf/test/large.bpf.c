/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Maps of tens of millions of elements, of which a program touches a few; one is not used. */
#include "test.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u32);
	__uint(max_entries, 50000000);
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, 50000000);
} unused SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, __u64);
	__type(value, __u64);
	__uint(max_entries, 1000000);
} flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u32);
	__uint(max_entries, 2000000);
} medium SEC(".maps");

/* Writes three elements of the largest array, the last one among them. */
SEC("xdp")
int large_ring(struct xdp_md *ctx)
{
	const __u32 places[] = {0, 12345678, 49999999};
	__u64 flow = 7, one = 1;

	for (int i = 0; i < 3; i++) {
		__u32 key = places[i];
		__u32 *value = bpf_map_lookup_elem(&ring, &key);

		if (value)
			*value += i + 1;
	}
	bpf_map_update_elem(&flows, &flow, &one, BPF_ANY);
	return XDP_PASS;
}

SEC("xdp")
int large_medium(struct xdp_md *ctx)
{
	__u32 key = 1999999;
	__u32 *value = bpf_map_lookup_elem(&medium, &key);

	if (value)
		*value += 1;
	return XDP_PASS;
}

SEC("xdp")
int large_unused(struct xdp_md *ctx)
{
	__u32 key = 1;
	__u32 *value = bpf_map_lookup_elem(&unused, &key);

	return value ? XDP_PASS : XDP_DROP;
}

char _license[] SEC("license") = "Dual MIT/GPL";
