/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Functions: static and global, called, passed and shared by programs. */
#include "test.h"

__u32 sum;

static __noinline int leaf(int x)
{
	sum += x;
	return x + 1;
}

static __noinline int middle(int x)
{
	return leaf(x) * leaf(x + 2);
}

__noinline int shared(int x)
{
	return middle(x) + leaf(x);
}

__weak __noinline int replaceable(int x)
{
	return x > 3 ? sum : 4;
}

__hidden __noinline int hidden(int x)
{
	return x > 5 ? sum : 6;
}

static __noinline int each(__u32 index, void *ctx)
{
	sum += leaf(index);
	return 0;
}

SEC("xdp")
int calls_all(struct xdp_md *ctx)
{
	int x = ctx->rx_queue_index;

	return shared(x) + replaceable(x) + hidden(x) == leaf(x) ? XDP_DROP : XDP_PASS;
}

SEC("xdp.frags")
int calls_back(struct xdp_md *ctx)
{
	bpf_loop(4, each, NULL, 0);
	return XDP_PASS;
}

SEC("?xdp")
int calls_late(struct xdp_md *ctx)
{
	return shared(ctx->rx_queue_index) ? XDP_DROP : XDP_PASS;
}

SEC("xdp/devmap")
int calls_none(struct xdp_md *ctx)
{
	return XDP_PASS;
}

char _license[] SEC("license") = "Dual MIT/GPL";
