/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The router's ports: their numbers, and their MAC addresses, because frames to others are not
 * routed.
 *
 * An interface in promiscuous mode, or next to a switch that floods, receives frames for other
 * hosts. The stack drops them (PACKET_OTHERHOST), so they go there, as do frames for a macvlan.
 * User space writes the addresses. One that changes later is learned from the kernel: a route that
 * leaves by the interface names the address that the interface has now.
 */
#ifndef ROUTE_PORT_H
#define ROUTE_PORT_H

#include "route.abi.h"

#include <xway/bpf.h>
#include <xway/frame.h>
#include <xway/parse.h>

#include "scratch.h"

/* Whether frames to any address are routed: those of a capture are of another host. */
const volatile __u32 route_any_mac = 0;

#define ROUTE_UNKNOWN_PORT ROUTE_PORTS
/* Instead of the port: packets of this host itself, to the source of a packet. */
#define ROUTE_BACK 0xffff
/* The interface that such packets come from, `lo`. */
#define ROUTE_LOOPBACK 1
/* The port that all packets come in from, where the program is attached to one interface. */
const volatile __u32 route_ingress = ROUTE_UNKNOWN_PORT;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ROUTE_PORTS);
	__type(key, __u32);
	__type(value, struct xway_port);
} route_ports SEC(".maps");

/* Numbers of the ports, keyed by ifindex. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ROUTE_PORTS);
	__type(key, __u32);
	__type(value, __u32);
} route_index SEC(".maps");

/*
 * Interfaces that packets may leave through, keyed by the number of the port. A hash, because the
 * kernel lets programs with and without fragments share no devmap.
 */
struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP_HASH);
	__uint(max_entries, ROUTE_PORTS);
	__type(key, __u32);
	__type(value, __u32);
} xway_tx SEC(".maps");

/* Index: what ROUTE_OWN_HASH selects. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ROUTE_OWN_PLACES);
	__type(key, __u32);
	__type(value, __be32);
} route_own SEC(".maps");

/* Bytes of the tags that are in a frame: 0, 4 or 8. */
#define ROUTE_TAG_BYTES 0xc

/* The packet was translated: an error about it quotes what it was before (see before.h). */
#define ROUTE_TRANSLATED (1 << 30)

/* The IP header after this number of bytes of tags, which the verifier need not know. */
xway_inline void *route_after_tags(struct xdp_md *ctx, __u32 bytes)
{
	xway_opaque(bytes);
	return xway_data(ctx) + sizeof(struct ethhdr) + (bytes & ROUTE_TAG_BYTES);
}

/* The stack may not forward packets from this IPv4 address. */
xway_inline int route_is_own4(__be32 address)
{
	__u32 place = (__u32)(address * ROUTE_OWN_HASH) >> (32 - ROUTE_OWN_BITS);
	const __be32 *own = bpf_map_lookup_elem(&route_own, &place);

	if (!own || !*own)
		return 0;
	return *own == address || *own == ROUTE_OWN_SEVERAL;
}

/* How a frame with tags came in: bytes of those in the frame, and above, the port's number + 1. */
xway_inline __u32 route_tagged_as(__u32 ingress, __u32 bytes)
{
	return (ingress + 1) << 4 | bytes;
}

/* Number of the port of an interface, or ROUTE_UNKNOWN_PORT. */
xway_inline __u32 route_port_of(__u32 ifindex)
{
	__u32 *number = bpf_map_lookup_elem(&route_index, &ifindex);

	return number ? *number : ROUTE_UNKNOWN_PORT;
}

/* Number of the port that a packet without tags came in from. */
xway_inline __u32 route_ingress_port(const struct xdp_md *ctx)
{
	if (route_ingress != ROUTE_UNKNOWN_PORT)
		return route_ingress;
	return route_port_of(ctx->ingress_ifindex);
}

xway_inline struct xway_port *route_port(__u32 number)
{
	return bpf_map_lookup_elem(&route_ports, &number);
}

/* The interface by which rules know a packet that came in from this port. */
xway_inline __u32 route_ifindex(const struct xdp_md *ctx, __u32 ingress)
{
	struct xway_port *port = route_port(ingress);
	__u32 ifindex = ctx->ingress_ifindex;

	/* The compiler would select an address to read from. */
	xway_opaque(ifindex);
	return port ? port->ifindex : ifindex;
}

/* The frame is sent to the address that the interface is known to have. */
xway_inline int route_is_own_mac(const struct ethhdr *eth, __u32 ingress)
{
	struct xway_port *port;

	if (route_any_mac)
		return 1;
	port = route_port(ingress);
	return port && xway_is_to(eth, port->mac);
}

/*
 * The frame is sent to the address that the interface has now, according to the route back to the
 * sender in `back`. The address is kept.
 */
xway_inline int route_is_new_mac(struct xdp_md *ctx, const struct ethhdr *eth,
				 struct bpf_fib_lookup *back, __u32 ingress)
{
	struct xway_port *port = route_port(ingress);
	__u64 now;

	if (!port || !port->mac)
		return 0;
	back->ifindex = port->ifindex;
	if (bpf_fib_lookup(ctx, back, sizeof(*back), 0) != BPF_FIB_LKUP_RET_SUCCESS ||
	    back->ifindex != port->ifindex)
		return 0;
	now = xway_mac(back->smac);
	port->mac = now;
	return now == xway_mac(eth->h_dest);
}

xway_inline int route_is_new_mac4(struct xdp_md *ctx, const struct ethhdr *eth,
				  const struct iphdr *ip, __u32 ingress)
{
	struct bpf_fib_lookup *back = route_query();

	if (!back)
		return 0;
	back->family = XWAY_AF_INET;
	back->ipv4_src = ip->daddr;
	back->ipv4_dst = ip->saddr;
	return route_is_new_mac(ctx, eth, back, ingress);
}

xway_inline int route_is_new_mac6(struct xdp_md *ctx, const struct ethhdr *eth,
				  const struct ipv6hdr *ip, __u32 ingress)
{
	struct bpf_fib_lookup *back = route_query();

	if (!back)
		return 0;
	back->family = XWAY_AF_INET6;
	xway_memcpy(back->ipv6_src, &ip->daddr, sizeof(back->ipv6_src));
	xway_memcpy(back->ipv6_dst, &ip->saddr, sizeof(back->ipv6_dst));
	return route_is_new_mac(ctx, eth, back, ingress);
}

#endif
