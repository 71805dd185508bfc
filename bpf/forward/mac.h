/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The MAC addresses of the router's own interfaces: frames to others are not routed.
 *
 * An interface in promiscuous mode, or next to a switch that floods, receives frames for other
 * hosts. The stack drops them (PACKET_OTHERHOST), so they go there, as do frames for a macvlan.
 * User space writes the addresses. One that changes later is learned from the kernel: a route back
 * to the sender that leaves by the interface names the address that the interface has now.
 */
#ifndef FORWARD_MAC_H
#define FORWARD_MAC_H

#include <xway/bpf.h>
#include <xway/parse.h>

#define FORWARD_AF_INET 2
#define FORWARD_AF_INET6 10

/* Whether frames to any address are routed: those of a capture are of another host. */
const volatile __u32 forward_any_mac = 0;

/* Six bytes of address and two zeros, keyed by ifindex. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, __u32);
	__type(value, __u64);
} forward_macs SEC(".maps");

xway_inline __u64 forward_mac(const __u8 *mac)
{
	return *(const __u32 *)mac | (__u64) * (const __u16 *)(mac + 4) << 32;
}

/* The frame is sent to the address that the interface is known to have. */
xway_inline int forward_is_own_mac(struct xdp_md *ctx, const struct ethhdr *eth)
{
	__u32 ingress = ctx->ingress_ifindex;
	__u64 *own;

	if (forward_any_mac)
		return 1;
	own = bpf_map_lookup_elem(&forward_macs, &ingress);
	return own && *own == forward_mac(eth->h_dest);
}

/*
 * The frame is sent to the address that the interface has now, according to the route back to the
 * sender in `back`. The address is kept.
 */
xway_inline int forward_is_new_mac(struct xdp_md *ctx, const struct ethhdr *eth,
				   struct bpf_fib_lookup *back)
{
	__u32 ingress = ctx->ingress_ifindex;
	__u64 *own = bpf_map_lookup_elem(&forward_macs, &ingress);
	__u64 now;

	if (!own)
		return 0;
	back->ifindex = ingress;
	if (bpf_fib_lookup(ctx, back, sizeof(*back), 0) != BPF_FIB_LKUP_RET_SUCCESS ||
	    back->ifindex != ingress)
		return 0;
	now = forward_mac(back->smac);
	*own = now;
	return now == forward_mac(eth->h_dest);
}

xway_inline int forward_is_new_mac4(struct xdp_md *ctx, const struct ethhdr *eth,
				    const struct iphdr *ip)
{
	struct bpf_fib_lookup back = {
		.family = FORWARD_AF_INET,
		.ipv4_src = ip->daddr,
		.ipv4_dst = ip->saddr,
	};

	return forward_is_new_mac(ctx, eth, &back);
}

xway_inline int forward_is_new_mac6(struct xdp_md *ctx, const struct ethhdr *eth,
				    const struct ipv6hdr *ip)
{
	struct bpf_fib_lookup back = { .family = FORWARD_AF_INET6 };

	xway_memcpy(back.ipv6_src, &ip->daddr, sizeof(back.ipv6_src));
	xway_memcpy(back.ipv6_dst, &ip->saddr, sizeof(back.ipv6_dst));
	return forward_is_new_mac(ctx, eth, &back);
}

#endif
