/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A program that uses 504 of the 512 bytes of its stack: it cannot become part of another one. */
#include <xway/bpf.h>

#define WORDS 63

SEC("xdp")
int deep(struct xdp_md *ctx __attribute__((unused)))
{
	volatile __u64 words[WORDS];
	__u64 sum = 0;

	for (int i = 0; i < WORDS; i++)
		words[i] = i;
	for (int i = 0; i < WORDS; i++)
		sum += words[i];
	return sum == WORDS * (WORDS - 1) / 2 ? XDP_PASS : XDP_ABORTED;
}

char _license[] SEC("license") = "Dual MIT/GPL";
