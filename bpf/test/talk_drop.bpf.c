/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The first talk's drop program: UDP to 10.1.0.2 port 1234 is dropped, all else passes. */
#include "old.h"

SEC("xdp1")
int drop_udp(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	struct iphdr *ip = data + sizeof(*eth);
	struct udphdr *udp = (void *)ip + sizeof(*ip);

	if ((void *)(eth + 1) > end)
		return XDP_DROP;
	if (eth->h_proto != htons(ETH_P_IP))
		return XDP_PASS;
	if ((void *)(ip + 1) > end)
		return XDP_DROP;
	if (ip->protocol != IPPROTO_UDP || ip->daddr != htonl(0x0a010002))
		return XDP_PASS;
	if ((void *)(udp + 1) > end)
		return XDP_DROP;
	return udp->dest == htons(1234) ? XDP_DROP : XDP_PASS;
}

char _license[] SEC("license") = "GPL";
