/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The first talk's forward program: UDP to 10.1.0.2 port 1234 goes to 10.1.1.2 instead, by the
 * kernel's routes. Unlike the talk's it leaves IP and UDP checksums right.
 */
#include "old.h"

#define AF_INET 2

static __attribute__((always_inline)) inline __u16 fold(__u32 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

static __attribute__((always_inline)) inline __u16 moved(__u16 check, __u32 from, __u32 to)
{
	__u32 sum = (__u16)~check;

	sum += (__u16)~from + (__u16) ~(from >> 16);
	sum += (__u16)to + (__u16)(to >> 16);
	return fold(sum);
}

static __attribute__((always_inline)) inline void readdress(struct iphdr *ip, struct udphdr *udp)
{
	__be32 to = htonl(0x0a010102);

	ip->check = moved(ip->check, ip->daddr, to);
	if (udp->check) {
		udp->check = moved(udp->check, ip->daddr, to);
		if (!udp->check)
			udp->check = 0xffff;
	}
	ip->daddr = to;
}

static __attribute__((always_inline)) inline void hop(struct iphdr *ip)
{
	__u32 sum = ip->check + htons(0x0100);

	ip->check = sum + (sum >= 0xffff);
	ip->ttl--;
}

SEC("xdp_fwd")
int forward_udp(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	struct bpf_fib_lookup fib = {};
	struct ethhdr *eth = data;
	struct iphdr *ip = data + sizeof(*eth);
	struct udphdr *udp = (void *)ip + sizeof(*ip);

	if ((void *)(udp + 1) > end)
		return XDP_PASS;
	if (eth->h_proto != htons(ETH_P_IP) || ip->ihl != 5 || ip->protocol != IPPROTO_UDP)
		return XDP_PASS;
	if (ip->daddr != htonl(0x0a010002) || udp->dest != htons(1234) || ip->ttl <= 1)
		return XDP_PASS;
	fib.family = AF_INET;
	fib.tos = ip->tos;
	fib.l4_protocol = ip->protocol;
	fib.tot_len = htons(ip->tot_len);
	fib.ipv4_src = ip->saddr;
	fib.ipv4_dst = htonl(0x0a010102);
	fib.ifindex = ctx->ingress_ifindex;
	if (bpf_fib_lookup(ctx, &fib, sizeof(fib), 0) != BPF_FIB_LKUP_RET_SUCCESS)
		return XDP_PASS;
	readdress(ip, udp);
	hop(ip);
	__builtin_memcpy(eth->h_dest, fib.dmac, ETH_ALEN);
	__builtin_memcpy(eth->h_source, fib.smac, ETH_ALEN);
	return bpf_redirect(fib.ifindex, 0);
}

char _license[] SEC("license") = "GPL";
