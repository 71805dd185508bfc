/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A target for core.bpf.c that holds two different structs of one name, as modules may. */
#include "test.h"

struct packet___a {
	__u32 length;
};

struct packet___b {
	__u32 pad;
	__u32 length;
};

struct packet___a a;
struct packet___b b;

SEC("xdp")
int nothing(struct xdp_md *ctx)
{
	return a.length + b.length ? XDP_PASS : XDP_DROP;
}

char _license[] SEC("license") = "Dual MIT/GPL";
