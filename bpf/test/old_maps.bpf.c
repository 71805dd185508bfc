/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Old map definitions in the dialects of the kernel's samples and of iproute2. */
#include "old.h"

struct samples_map_def {
	struct bpf_map_def map;
	unsigned int inner_map_idx;
	unsigned int numa_node;
};

/* Types for a map that has none, as BPF_ANNOTATE_KV_PAIR gave them. */
struct ____btf_map_flows {
	__u64 key;
	struct {
		__u32 packets, bytes;
	} value;
};
struct ____btf_map_flows SEC(".maps.flows") ____btf_map_flows = {};

struct samples_map_def SEC("maps") flows = {
	.map = {BPF_MAP_TYPE_HASH, 8, 8, 1024, BPF_F_NO_PREALLOC | BPF_F_NUMA_NODE},
	.numa_node = 0,
};

struct samples_map_def SEC("maps") tables = {
	.map = {BPF_MAP_TYPE_ARRAY_OF_MAPS, 4, 4, 8, 0},
	.inner_map_idx = 0,
};

struct bpf_elf_map SEC("maps") pinned = {
	.map = {BPF_MAP_TYPE_ARRAY, 4, 16, 2, 0},
	.id = 7,
	.pinning = 2,
};

SEC("xdp2_old")
int look_up(struct xdp_md *ctx)
{
	__u64 key = ctx->ingress_ifindex;
	__u32 index = 1;
	void *inner = bpf_map_lookup_elem(&tables, &index);

	if (inner)
		bpf_map_lookup_elem(inner, &key);
	if (bpf_map_lookup_elem(&flows, &key))
		return XDP_DROP;
	return bpf_map_lookup_elem(&pinned, &index) ? XDP_DROP : XDP_PASS;
}

char _license[] SEC("license") = "GPL";
