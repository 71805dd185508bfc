/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A program to step through: local variables in registers and on the stack, calls, a callback that
 * runs several times, a tail call, writes to maps and to the packet. It keeps its DWARF.
 */
#include "test.h"

struct endpoint {
	__be32 address;
	__be16 port;
	__u8 tags[2];
};

struct count {
	__u64 packets;
	__u64 bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8);
	__type(key, __u32);
	__type(value, struct count);
} counts SEC(".maps");

int locals_last(struct xdp_md *ctx);

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(key_size, 4);
	__uint(max_entries, 1);
	__array(values, int(struct xdp_md *));
} next SEC(".maps") = {
	.values = {[0] = &locals_last},
};

__u64 total;
__u32 runs;

static __noinline int weigh(struct endpoint *endpoint, int factor)
{
	int weight = endpoint->tags[0] * factor;

	endpoint->tags[1] = weight;
	return weight + 1;
}

static __noinline int count(__u32 key, __u32 bytes)
{
	struct count fresh = {.packets = 1, .bytes = bytes};
	struct count *known = bpf_map_lookup_elem(&counts, &key);

	if (!known)
		return bpf_map_update_elem(&counts, &key, &fresh, 0);
	known->packets += 1;
	known->bytes += bytes;
	return 1;
}

static int add(__u32 index, void *sum)
{
	*(__u64 *)sum += index * 10;
	return 0;
}

SEC("xdp")
int locals_first(struct xdp_md *ctx)
{
	__u8 *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	struct endpoint endpoint = {.address = 0x0100000a, .port = 7};
	__u64 sum = 0;
	int weight;

	if ((void *)(data + 14) > end)
		return XDP_DROP;
	endpoint.tags[0] = data[5];
	weight = weigh(&endpoint, 3);
	bpf_loop(3, add, &sum, 0);
	total += sum + weight;
	data[11] ^= 0x55;
	count(endpoint.tags[1], end - (void *)data);
	bpf_tail_call(ctx, &next, 0);
	return XDP_ABORTED;
}

SEC("xdp")
int locals_last(struct xdp_md *ctx)
{
	__u8 *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;

	if ((void *)(data + 14) > end)
		return XDP_DROP;
	runs += 1;
	if (data[5] & 1)
		return XDP_PASS;
	return XDP_TX;
}

char _license[] SEC("license") = "Dual MIT/GPL";
