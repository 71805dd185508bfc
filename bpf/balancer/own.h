/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The MAC addresses of the balancer, because frames to others are not balanced.
 *
 * An interface in promiscuous mode, or next to a switch that floods, receives frames for other
 * hosts. The stack drops them (PACKET_OTHERHOST), so they go there. User space writes the
 * addresses. One that changes later is learned from the kernel: a route that leaves by the
 * interface names the address that the interface has now.
 */
#ifndef BALANCER_OWN_H
#define BALANCER_OWN_H

#include "balancer.abi.h"

#include <xway/bpf.h>
#include <xway/frame.h>
#include <xway/parse.h>

#include "outer.h"

/* Index: the lower bits of an ifindex. Interfaces that share one share their addresses. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, BALANCER_OWN_PLACES);
	__type(key, __u32);
	__type(value, struct balancer_own);
} balancer_own SEC(".maps");

xway_inline struct balancer_own *balancer_own_at(const struct xdp_md *ctx)
{
	__u32 place = ctx->ingress_ifindex & (BALANCER_OWN_PLACES - 1);

	return bpf_map_lookup_elem(&balancer_own, &place);
}

/*
 * The address that the interface has now, according to the route back to the sender of the IP
 * packet after `link` bytes; 0 if that leaves by another interface.
 */
xway_inline __u64 balancer_mac_now(struct xdp_md *ctx, __u32 link)
{
	void *at = xway_data(ctx) + (link & BALANCER_LINK_MASK);
	const struct ipv6hdr *v6 = at;
	const struct iphdr *v4 = at;
	struct bpf_fib_lookup fib = { .ifindex = ctx->ingress_ifindex };

	if ((void *)(v4 + 1) > xway_data_end(ctx))
		return 0;
	if (v4->version == 4) {
		fib.family = XWAY_AF_INET;
		fib.ipv4_src = v4->daddr;
		fib.ipv4_dst = v4->saddr;
	} else {
		if ((void *)(v6 + 1) > xway_data_end(ctx))
			return 0;
		fib.family = XWAY_AF_INET6;
		xway_memcpy(fib.ipv6_src, &v6->daddr, sizeof(fib.ipv6_src));
		xway_memcpy(fib.ipv6_dst, &v6->saddr, sizeof(fib.ipv6_dst));
	}
	if (bpf_fib_lookup(ctx, &fib, sizeof(fib), 0) != BPF_FIB_LKUP_RET_SUCCESS ||
	    fib.ifindex != ctx->ingress_ifindex)
		return 0;
	return xway_mac(fib.smac);
}

/*
 * Whether an address that is not the first one is the interface's, of a device on it, or the one
 * that it has now. The kernel is queried once in a tick. Verified once, for few packets.
 */
xway_global int balancer_is_other_own(struct xdp_md *ctx, __u64 mac, __u32 link)
{
	struct balancer_own *own = balancer_own_at(ctx);
	__u32 tick = bpf_jiffies64();
	__u64 now;

	if (!own)
		return 0;
	for (int i = 1; i < BALANCER_OWN_MACS; i++)
		if (own->macs[i] && own->macs[i] == mac)
			return 1;
	if (own->tick == tick)
		return 0;
	own->tick = tick;
	now = balancer_mac_now(ctx, link);
	if (!now)
		return 0;
	own->macs[0] = now;
	return now == mac;
}

/* Whether a frame is sent to this host; its IP packet begins after `link` bytes. */
xway_inline int balancer_is_own(struct xdp_md *ctx, const struct ethhdr *eth, __u32 link)
{
	const struct balancer_own *own = balancer_own_at(ctx);
	__u64 mac = xway_mac(eth->h_dest);

	if (!own || !own->macs[0] || own->macs[0] == mac)
		return 1;
	return balancer_is_other_own(ctx, mac, link);
}

#endif
