/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Programs whose results differ between runs: clocks, random numbers, addresses; and programs for
 * the entries of devmaps and cpumaps. */
#include "test.h"

struct kept {
	__u64 packets;
	__u64 time;
	__u64 random;
	__u64 address;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct kept);
	__uint(max_entries, 1);
} kept SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, 64);
} drawn SEC(".maps");

/* Only `packets` is equal in all runs. */
SEC("xdp")
int nature_values(struct xdp_md *ctx)
{
	__u32 key = 0;
	struct kept *value = bpf_map_lookup_elem(&kept, &key);

	if (!value)
		return XDP_ABORTED;
	value->packets++;
	value->time = bpf_ktime_get_ns() / 3 + 5;
	value->random = bpf_get_prandom_u32() ^ 0x55;
	value->address = (__u64)value;
	return XDP_PASS;
}

/* The last byte of the destination address is random. */
SEC("xdp")
int nature_bytes(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u8 *byte = data + 5;

	if (data + 14 > end)
		return XDP_ABORTED;
	*byte = bpf_get_prandom_u32();
	return XDP_TX;
}

/* Half of the packets are dropped at random, and counted by a random key. */
SEC("xdp")
int nature_verdict(struct xdp_md *ctx)
{
	__u32 key = bpf_get_prandom_u32() % 16;
	__u64 one = 1;

	bpf_map_update_elem(&drawn, &key, &one, BPF_ANY);
	return key & 1 ? XDP_DROP : XDP_PASS;
}

/* Values that are equal in all runs are still compared, whatever else the program reads. */
SEC("xdp")
int nature_plain(struct xdp_md *ctx)
{
	__u64 started = bpf_ktime_get_ns();
	__u32 key = ctx->ingress_ifindex;
	__u64 bytes = ctx->data_end - ctx->data;

	bpf_map_update_elem(&drawn, &key, &bytes, BPF_ANY);
	asm volatile("" : "+r"(started));
	return XDP_PASS;
}

SEC("xdp/devmap")
int nature_devmap(struct xdp_md *ctx)
{
	return ctx->data_end - ctx->data > 40 ? XDP_PASS : XDP_DROP;
}

SEC("xdp/cpumap")
int nature_cpumap(struct xdp_md *ctx)
{
	return ctx->data_end - ctx->data > 40 ? XDP_PASS : XDP_DROP;
}

SEC("xdp/devmap")
int nature_egress(struct xdp_md *ctx)
{
	return ctx->egress_ifindex ? XDP_PASS : XDP_DROP;
}

/* A may_goto that jumps back over itself, which no compiler generates: it never ends. */
SEC("?xdp")
int nature_endless(struct xdp_md *ctx)
{
	asm volatile(".8byte 0x00000000ffff00e5\n"
		     "goto -2\n" ::: "memory");
	return XDP_PASS;
}

char _license[] SEC("license") = "Dual MIT/GPL";
