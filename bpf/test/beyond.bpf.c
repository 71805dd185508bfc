/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What libbpf refuses and other loaders take: static maps, functions outside .text. */
#include "test.h"

static struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, 5);
} counters SEC(".maps");

static struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u32);
	__uint(max_entries, 1);
} settings SEC(".maps");

static __noinline int add(int x)
{
	__u64 *counter = bpf_map_lookup_elem(&counters, &x);

	if (counter)
		*counter += x;
	return x + 1;
}

SEC("library") __noinline int elsewhere(int x)
{
	return add(x) + 7;
}

SEC("library") static __noinline int beside(int x)
{
	return elsewhere(x) * x;
}

SEC("xdp")
int calls_library(struct xdp_md *ctx)
{
	int zero = 0;
	__u32 *setting = bpf_map_lookup_elem(&settings, &zero);

	if (!setting)
		return XDP_ABORTED;
	return beside(*setting) + elsewhere(ctx->rx_queue_index) ? XDP_DROP : XDP_PASS;
}

char _license[] SEC("license") = "Dual MIT/GPL";
