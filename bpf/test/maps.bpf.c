/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Map definitions of the new style: every field, inner maps, programs and maps as values. */
#include "test.h"

static long (*const bpf_map_push_elem)(void *map, const void *value, __u64 flags) =
	(void *)BPF_FUNC_map_push_elem;

struct flow {
	__be32 source, destination;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, struct flow);
	__type(value, __u64);
	__uint(max_entries, 4096);
	__uint(map_flags, BPF_F_NUMA_NODE);
	__uint(numa_node, 0);
	__uint(pinning, 1);
} flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(key_size, 8);
	__uint(value_size, 4);
	__uint(max_entries, 16);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} routes SEC(".maps");

struct {
	__uint(type, 30); /* bloom filter: newer than some headers */
	__type(value, __u32);
	__uint(max_entries, 100);
	__ulong(map_extra, 3);
} seen SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, 5);
} counters SEC(".maps");

struct inner {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, 2);
} first SEC(".maps"), second SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__type(key, __u32);
	__uint(max_entries, 4);
	__map_of(values, struct inner);
} tables SEC(".maps") = {
	.values = {[0] = &first, [2] = &second},
};

int count(struct xdp_md *ctx);
int drop(struct xdp_md *ctx);

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(key_size, 4);
	__uint(max_entries, 3);
	__array(values, int(struct xdp_md *));
} programs SEC(".maps") = {
	.values = {[0] = &drop, [2] = &count},
};

SEC("xdp")
int count(struct xdp_md *ctx)
{
	__u32 zero = 0;
	__u64 *counter = bpf_map_lookup_elem(&counters, &zero);

	if (counter)
		*counter += 1;
	return XDP_PASS;
}

SEC("xdp")
int drop(struct xdp_md *ctx)
{
	return XDP_DROP;
}

SEC("xdp")
int use_all(struct xdp_md *ctx)
{
	struct flow flow = {.source = ctx->ingress_ifindex};
	__u64 prefix = 32;
	__u32 two = 2;
	void *inner;

	bpf_map_lookup_elem(&flows, &flow);
	bpf_map_lookup_elem(&routes, &prefix);
	bpf_map_push_elem(&seen, &two, 0);
	bpf_ringbuf_output(&events, &two, sizeof(two), 0);
	inner = bpf_map_lookup_elem(&tables, &two);
	if (inner)
		bpf_map_lookup_elem(inner, &two);
	bpf_tail_call(ctx, &programs, two);
	return XDP_PASS;
}

char _license[] SEC("license") = "Dual MIT/GPL";
