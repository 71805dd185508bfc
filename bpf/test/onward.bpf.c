/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Programs that a generated frame may encounter: one that redirects every other frame through a
 * device map and drops the rest, and one with a stack so deep that no program can be composed
 * before it.
 */
#include <xway/bpf.h>

#define ONWARD_DEEP 480

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} onward_ports SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} onward_seen SEC(".maps");

xway_inline int onward_every_other(struct xdp_md *ctx)
{
	__u32 only = 0;
	__u64 *seen = bpf_map_lookup_elem(&onward_seen, &only);

	if (!seen || !ctx->ingress_ifindex)
		return XDP_ABORTED;
	*seen += 1;
	return *seen & 1 ? bpf_redirect_map(&onward_ports, 0, 0) : XDP_DROP;
}

SEC("xdp")
int onward(struct xdp_md *ctx)
{
	return onward_every_other(ctx);
}

SEC("xdp")
int onward_deep(struct xdp_md *ctx)
{
	volatile __u64 stack[ONWARD_DEEP / 8];

	stack[0] = ctx->rx_queue_index;
	stack[ONWARD_DEEP / 8 - 1] = ctx->rx_queue_index;
	if (stack[0] != stack[ONWARD_DEEP / 8 - 1])
		return XDP_ABORTED;
	return onward_every_other(ctx);
}

char xway_license[] SEC("license") = "Dual MIT/GPL";
