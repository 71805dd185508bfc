/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Maps of maps as iproute2 defines them: an inner map is found by its id, not by its place. */
#include "old.h"

struct bpf_elf_map SEC("maps") by_flow = {
	.map = {BPF_MAP_TYPE_HASH, 8, 8, 16, 0},
	.id = 4,
	.inner_idx = -1,
};

struct bpf_elf_map SEC("maps") services = {
	.map = {BPF_MAP_TYPE_ARRAY_OF_MAPS, 4, 4, 4, 0},
	.inner_id = 9,
};

struct bpf_elf_map SEC("maps") by_port = {
	.map = {BPF_MAP_TYPE_HASH_OF_MAPS, 2, 4, 8, 0},
	.inner_id = 4,
};

struct bpf_elf_map SEC("maps") backends = {
	.map = {BPF_MAP_TYPE_ARRAY, 4, 8, 2, 0},
	.id = 9,
	.inner_idx = 3,
};

/* Drops if slot 3 of `services` holds a map, sends back if another one does. */
SEC("xdp_inner")
int look_up(struct xdp_md *ctx)
{
	__u16 port = 80;
	__u32 index = 2;
	__u64 flow = ctx->ingress_ifindex;
	void *inner;

	inner = bpf_map_lookup_elem(&services, &index);
	if (inner)
		return XDP_TX;
	inner = bpf_map_lookup_elem(&by_port, &port);
	if (inner && bpf_map_lookup_elem(inner, &flow))
		return XDP_TX;
	index = 3;
	inner = bpf_map_lookup_elem(&services, &index);
	if (!inner)
		return XDP_PASS;
	index = 1;
	return bpf_map_lookup_elem(inner, &index) ? XDP_DROP : XDP_ABORTED;
}

char _license[] SEC("license") = "GPL";
