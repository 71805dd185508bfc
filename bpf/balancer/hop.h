/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The way to each backend: the kernel's, asked once in some ticks of its clock by each processor.
 *
 * A lookup costs as much as the rest of the program. There are as few destinations as backends, so
 * the number of the backend selects the entry, and a change of routes or neighbours takes effect a
 * few ticks later without anyone to follow it.
 */
#ifndef BALANCER_HOP_H
#define BALANCER_HOP_H

#include "balancer.abi.h"

#include <xway/bpf.h>
#include <xway/frame.h>

#include "service.h"

/* Index: the number of a backend. User space sets the size of this and of the next two. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct balancer_backend);
} balancer_backends SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct balancer_hop);
} balancer_hops SEC(".maps");

/* What was sent to each backend. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct xway_count);
} balancer_counts SEC(".maps");

/* Interfaces that packets may leave by, keyed by ifindex. */
struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP_HASH);
	__uint(max_entries, 256);
	__type(key, __u32);
	__type(value, __u32);
} xway_tx SEC(".maps");

/* VLAN devices on these interfaces, keyed by ifindex. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, __u32);
	__type(value, struct xway_port);
} balancer_vlans SEC(".maps");

/* Number of ticks for which a way is used. */
const volatile __u32 balancer_hop_ticks = 4;

xway_inline int balancer_protocol(const struct balancer_backend *backend, int is_ipv6)
{
	if (backend->delivery != BALANCER_IPIP)
		return IPPROTO_UDP;
	return is_ipv6 ? IPPROTO_IPV6 : IPPROTO_IPIP;
}

/*
 * Sets by which interface frames leave that the kernel routes by this one; -1 if they may not. The
 * tags of a VLAN device are added when a frame is sent.
 */
xway_inline int balancer_leave_by(struct balancer_hop *hop, __u32 ifindex)
{
	const struct xway_port *vlan = bpf_map_lookup_elem(&balancer_vlans, &ifindex);
	/* Linux 6.1 accepts no argument of a global function as a key. */
	__u32 device = vlan ? vlan->device : ifindex;

	hop->vlan = vlan ? ifindex : 0;
	hop->ifindex = device;
	return bpf_map_lookup_elem(&xway_tx, &device) ? 0 : -1;
}

/* Asks the kernel for the way to a backend. */
xway_global int balancer_ask(struct xdp_md *ctx, const struct balancer_backend *backend,
			     struct balancer_hop *hop)
{
	struct bpf_fib_lookup fib = {};
	long result;

	if (!backend || !hop)
		return 0;
	fib.ifindex = ctx->ingress_ifindex;
	fib.l4_protocol = balancer_protocol(backend, 0);
	fib.dport = backend->port;
	fib.tot_len = 1;
	if (backend->is_ipv6) {
		fib.family = XWAY_AF_INET6;
		xway_memcpy(fib.ipv6_src, backend->source, sizeof(fib.ipv6_src));
		xway_memcpy(fib.ipv6_dst, backend->address, sizeof(fib.ipv6_dst));
	} else {
		fib.family = XWAY_AF_INET;
		fib.ipv4_src = backend->source[3];
		fib.ipv4_dst = backend->address[3];
	}
	result = bpf_fib_lookup(ctx, &fib, sizeof(fib), 0);
	hop->mtu = fib.mtu_result < 0xffff ? fib.mtu_result : 0xffff;
	hop->reason = XWAY_NO_ROUTE;
	if (result == BPF_FIB_LKUP_RET_NO_NEIGH)
		hop->reason = XWAY_NO_NEIGHBOUR;
	if (result != BPF_FIB_LKUP_RET_SUCCESS)
		return 0;
	hop->reason = XWAY_NO_EGRESS;
	if (balancer_leave_by(hop, fib.ifindex) < 0)
		return 0;
	hop->reason = XWAY_BALANCED;
	hop->dest = xway_mac(fib.dmac);
	hop->source = xway_mac(fib.smac);
	return 0;
}

/* The way to a backend; NULL never happens. */
xway_inline struct balancer_hop *balancer_hop(struct xdp_md *ctx,
					      const struct balancer_backend *backend, __u32 number)
{
	struct balancer_hop *hop = bpf_map_lookup_elem(&balancer_hops, &number);
	__u32 tick = bpf_jiffies64();

	if (!hop)
		return NULL;
	if (tick - hop->tick >= balancer_hop_ticks) {
		hop->tick = tick;
		balancer_ask(ctx, backend, hop);
	}
	return hop;
}

#endif
