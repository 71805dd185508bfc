/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Full translation of addresses: packets for a service are sent on to the address of a backend,
 * from an address and a port of the balancer, and the answers come back here.
 *
 * TCP, UDP, echo, and ICMP errors about them, in both directions; later fragments follow their
 * first. A flow keeps its backend when slots move, and has another one when the backend is dead.
 * As a router does, the balancer lowers the TTL; what arrives with its last one is dropped.
 * Packets to an address of the balancer that belong to no flow are for the stack.
 */
#ifndef NAT_H
#define NAT_H

#include "balancer.abi.h"

#include <xway/bpf.h>
#include <xway/parse.h>

#include "flow.h"
#include "fragment.h"
#include "hop.h"
#include "nat_packet.h"
#include "nat_table.h"
#include "nat_write.h"
#include "outer.h"
#include "service.h"
#include "slot.h"
#include "too_big.h"

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct fragment_key);
	__type(value, struct nat_fragment);
} nat_fragments SEC(".maps");

/* The number of an address of the pool of its family; NAT_NONE if it is not in it. */
xway_inline __u32 nat_address_number(const __be32 *address, int is_ipv6)
{
	const volatile struct nat_pool *pool = &nat_pools[is_ipv6];
	__u32 number = xway_ntohl(address[3]) - pool->last;

	if (is_ipv6 && (address[0] != pool->address[0] || address[1] != pool->address[1] ||
			address[2] != pool->address[2]))
		return NAT_NONE;
	return number < pool->count ? number : NAT_NONE;
}

xway_inline __u64 nat_hash(const struct nat_packet *packet)
{
	const struct nat_ends *ends = &packet->from;
	__u64 ports = ends->source_port | (__u64)ends->dest_port << 16 |
		      (__u64)packet->protocol << 32;
	__u64 hash = (balancer_pair(ends->source) + balancer_seed[1]) *
		     (balancer_pair(ends->source + 2) + balancer_seed[2]);

	hash += (balancer_pair(ends->dest) + balancer_seed[3]) *
		(balancer_pair(ends->dest + 2) + balancer_seed[4]);
	hash += (ports + balancer_seed[5]) * balancer_seed[0];
	hash ^= hash >> 32;
	hash *= 0xd6e8feb86659fd93;
	return hash ^ hash >> 32;
}

/* The index of the first entry of one of the two groups of a hash. */
xway_inline __u32 nat_group_of(__u64 hash, int is_ipv6, int second)
{
	const volatile struct nat_pool *pool = &nat_pools[is_ipv6];
	__u64 groups = pool->count * NAT_GROUPS;
	__u32 bits = second ? hash * 0x9e3779b97f4a7c15 >> 32 : hash >> 32;

	return (pool->group + (__u32)(bits * groups >> 32)) * NAT_WAYS;
}

xway_inline __u64 nat_differs(const __be32 *one, const __be32 *other)
{
	return (balancer_pair(one) ^ balancer_pair(other)) |
	       (balancer_pair(one + 2) ^ balancer_pair(other + 2));
}

/* The address and port of an entry, as the source of packets to the backend. */
xway_inline void nat_own_end(struct nat_packet *packet, __u32 index)
{
	const volatile struct nat_pool *pool = &nat_pools[!!packet->is_ipv6];
	__u32 number = index - pool->group * NAT_WAYS;
	__be16 port = xway_htons((__u16)(NAT_FIRST_PORT + number % NAT_PORTS));

	for (int i = 0; i < 3; i++)
		packet->to.source[i] = pool->address[i];
	packet->to.source[3] = xway_htonl(pool->last + number / NAT_PORTS);
	packet->to.source_port = port;
	packet->identifier = port;
}

/* Whether the entry is of the packet's flow, to its service; if so, with where it goes. */
xway_global int nat_is_of_service(__u32 index)
{
	__u32 number = index / NAT_WAYS;
	const struct nat_group *group = bpf_map_lookup_elem(&nat_groups, &number);
	const struct nat_entry *entry = bpf_map_lookup_elem(&nat_entries, &index);
	struct nat_packet *packet = nat_packet();
	__u64 cell, differs, all;

	if (!group || !entry || !packet)
		return 0;
	cell = nat_read_cell(group, index);
	entry = nat_after(cell, entry);
	differs = nat_differs(entry->client, packet->from.source) |
		  nat_differs(entry->service, packet->from.dest) |
		  (entry->client_port ^ packet->from.source_port) |
		  (entry->service_port ^ packet->from.dest_port) |
		  (entry->protocol ^ packet->protocol);
	xway_memcpy(packet->to.dest, entry->backend, sizeof(packet->to.dest));
	packet->to.dest_port = entry->backend_port;
	all = differs | balancer_pair(packet->to.dest) | balancer_pair(packet->to.dest + 2) |
	      packet->to.dest_port;
	group = nat_after(all, group);
	packet->cell = cell;
	packet->number = nat_backend_of(cell);
	return !differs && !((nat_read_cell(group, index) ^ cell) & NAT_FLOW_BITS) &&
	       nat_kind_of(cell) > NAT_BUSY;
}

/* The index of the entry of a packet to a service; NAT_NONE if there is none. */
xway_global __u32 nat_find(__u64 hash, __u32 is_ipv6, __u32 now)
{
	for (__u32 second = 0; second < 2; second++) {
		__u32 first = nat_group_of(hash, !!is_ipv6, second), number = first / NAT_WAYS;
		const struct nat_group *group = bpf_map_lookup_elem(&nat_groups, &number);
		__u32 found = nat_matches(group, (__u32)hash & 0xffffff, now);

		for (__u32 i = 0; i < NAT_WAYS && found; i++) {
			if (found & 1 && nat_is_of_service(first + i))
				return first + i;
			found >>= 1;
		}
	}
	return NAT_NONE;
}

/* Whether the entry of the packet, which came from a backend, is of its flow; if so, with it. */
xway_global int nat_is_of_backend(__u32 index, __u32 now)
{
	__u32 number = index / NAT_WAYS;
	const struct nat_group *group = bpf_map_lookup_elem(&nat_groups, &number);
	const struct nat_entry *entry = bpf_map_lookup_elem(&nat_entries, &index);
	struct nat_packet *packet = nat_packet();
	__u64 cell, differs, all;

	if (!group || !entry || !packet)
		return 0;
	cell = nat_read_cell(group, index);
	entry = nat_after(cell, entry);
	differs = nat_differs(entry->backend, packet->from.source) |
		  (entry->backend_port ^ packet->from.source_port) |
		  (entry->protocol ^ packet->protocol);
	xway_memcpy(packet->to.source, entry->service, sizeof(packet->to.source));
	xway_memcpy(packet->to.dest, entry->client, sizeof(packet->to.dest));
	packet->to.source_port = entry->service_port;
	packet->to.dest_port = entry->client_port;
	packet->identifier = entry->client_port;
	all = differs | balancer_pair(packet->to.source) | balancer_pair(packet->to.source + 2) |
	      balancer_pair(packet->to.dest) | balancer_pair(packet->to.dest + 2) |
	      packet->to.source_port | packet->to.dest_port;
	group = nat_after(all, group);
	packet->cell = cell;
	return !differs && !((nat_read_cell(group, index) ^ cell) & NAT_FLOW_BITS) &&
	       nat_kind_of(cell) > NAT_BUSY && !nat_expired(cell, now);
}

/* Sets where a new flow goes: XWAY_BALANCED, or XWAY_NO_BACKEND. */
xway_inline enum xway_reason nat_choose(struct nat_packet *packet)
{
	__u32 number = balancer_slot(packet->table, packet->hash);
	const struct balancer_backend *backend = bpf_map_lookup_elem(&balancer_backends, &number);

	if (number == BALANCER_NONE || !backend)
		return XWAY_NO_BACKEND;
	packet->number = number;
	xway_memcpy(packet->to.dest, backend->address, sizeof(packet->to.dest));
	packet->to.dest_port = packet->from.dest_port;
	if (backend->port && packet->protocol != IPPROTO_ICMP)
		packet->to.dest_port = backend->port;
	return XWAY_BALANCED;
}

/* The cell of one of a flow's groups that is used for it, with its rank as of nat_victim(). */
struct nat_candidate {
	__u64 rank;
	__u64 old;
	__u32 index;
	__u32 zero;
};

xway_inline void nat_candidate(struct nat_candidate *found, __u64 hash, int is_ipv6, int second,
			       __u32 now)
{
	__u32 first = nat_group_of(hash, is_ipv6, second), number = first / NAT_WAYS, victim;
	const struct nat_group *group = bpf_map_lookup_elem(&nat_groups, &number);

	victim = nat_victim(group, now);
	found->rank = victim >> 4;
	found->index = first + (victim & (NAT_WAYS - 1));
	found->old = group ? nat_read_cell(group, victim) : 0;
}

/*
 * Gives the flow of the packet an entry: its index, NAT_NONE if there is no space, or NAT_LOST if
 * another processor took it first.
 */
xway_global __u32 nat_try(__u64 hash, __u32 is_ipv6, __u32 now)
{
	struct nat_candidate one, other;

	nat_candidate(&one, hash, !!is_ipv6, 0, now);
	if (one.rank < NAT_RANK_EXPIRED) {
		nat_candidate(&other, hash, !!is_ipv6, 1, now);
		if (other.rank > one.rank)
			one = other;
	}
	if (!one.rank)
		return NAT_NONE;
	if (!nat_claim(one.index, one.old, (__u32)hash & 0xffffff, now))
		return NAT_LOST;
	balancer_count_event(BALANCER_NAT_BEGAN);
	if (!nat_expired(one.old, now))
		balancer_count_event(BALANCER_NAT_REPLACED);
	return one.index;
}

xway_inline __u32 nat_begin(__u64 hash, __u32 is_ipv6, __u32 now)
{
	__u32 index = nat_try(hash, is_ipv6, now);

	if (index == NAT_LOST)
		index = nat_try(hash, is_ipv6, now);
	return index == NAT_LOST ? NAT_NONE : index;
}

/* The key of the packet's fragments. */
xway_inline struct fragment_key *nat_fragment_key(struct nat_packet *packet)
{
	struct fragment_key *key = &packet->fragment_key;

	xway_memcpy(key->source, packet->from.source, sizeof(key->source));
	xway_memcpy(key->dest, packet->from.dest, sizeof(key->dest));
	key->identification = packet->identification;
	return key;
}

/* Remembers what later fragments of the packet become. Of few packets. */
xway_global int nat_keep_fragment(void)
{
	struct nat_packet *packet = nat_packet();
	struct nat_fragment *value;

	if (!packet)
		return 0;
	value = &packet->fragment;
	value->until = bpf_ktime_get_ns() + BALANCER_FRAGMENTS_NS;
	value->to = packet->to;
	value->number = packet->number;
	bpf_map_update_elem(&nat_fragments, nat_fragment_key(packet), value, BPF_ANY);
	return 0;
}

/* Finds what the first fragment of a later one became; 0 if it is not known. */
xway_global int nat_find_fragment(void)
{
	struct nat_packet *packet = nat_packet();
	const struct nat_fragment *value;

	if (!packet)
		return 0;
	value = bpf_map_lookup_elem(&nat_fragments, nat_fragment_key(packet));
	if (!value || bpf_ktime_get_ns() >= value->until)
		return 0;
	packet->to = value->to;
	packet->number = value->number;
	return 1;
}

/* The way to the packet's backend: XWAY_BALANCED, or why there is none. */
xway_global int nat_way_to_backend(struct xdp_md *ctx)
{
	struct nat_packet *packet = nat_packet();
	const struct balancer_backend *backend;
	const struct balancer_hop *hop;
	__u32 number;

	if (!packet)
		return XWAY_NO_BACKEND;
	number = packet->number;
	backend = bpf_map_lookup_elem(&balancer_backends, &number);
	if (!backend)
		return XWAY_NO_BACKEND;
	hop = balancer_hop(ctx, backend, number);
	if (!hop)
		return XWAY_NO_ROUTE;
	packet->hop = *hop;
	return hop->reason;
}

/* The way to the client of a reply, by the kernel's routes. */
xway_global int nat_way_to_client(struct xdp_md *ctx)
{
	struct nat_packet *packet = nat_packet();
	struct bpf_fib_lookup *fib;
	struct balancer_hop *hop;
	long result;

	if (!packet)
		return XWAY_NO_ROUTE;
	hop = &packet->hop;
	fib = &packet->fib;
	__builtin_memset(fib, 0, sizeof(*fib));
	fib->ifindex = ctx->ingress_ifindex;
	fib->tot_len = 1;
	fib->l4_protocol = packet->protocol;
	fib->sport = packet->to.source_port;
	fib->dport = packet->to.dest_port;
	if (packet->is_ipv6) {
		fib->family = XWAY_AF_INET6;
		xway_memcpy(fib->ipv6_src, packet->to.source, sizeof(fib->ipv6_src));
		xway_memcpy(fib->ipv6_dst, packet->to.dest, sizeof(fib->ipv6_dst));
	} else {
		fib->family = XWAY_AF_INET;
		fib->ipv4_src = packet->to.source[3];
		fib->ipv4_dst = packet->to.dest[3];
	}
	result = bpf_fib_lookup(ctx, fib, sizeof(*fib), 0);
	if (result == BPF_FIB_LKUP_RET_NO_NEIGH)
		return XWAY_NO_NEIGHBOUR;
	if (result != BPF_FIB_LKUP_RET_SUCCESS)
		return XWAY_NO_ROUTE;
	if (balancer_leave_by(hop, fib->ifindex) < 0)
		return XWAY_NO_EGRESS;
	hop->mtu = fib->mtu_result < 0xffff ? fib->mtu_result : 0xffff;
	hop->dest = xway_mac(fib->dmac);
	hop->source = xway_mac(fib->smac);
	return XWAY_BALANCED;
}

/* The kind of a flow after a packet to its service. */
xway_inline __u32 nat_next_to_service(struct nat_entry *entry, const struct nat_packet *packet,
				      __u32 kind)
{
	__u32 ahead = packet->ack - entry->expected;

	if (packet->signal == NAT_DATAGRAM)
		return kind == NAT_ANSWERED ? NAT_DATAGRAMS : kind;
	if (packet->signal == NAT_RESET)
		return kind == NAT_OPEN ? NAT_DOUBTED : kind;
	if (packet->signal != NAT_SEGMENT && packet->signal != NAT_FIN)
		return kind;
	if (kind == NAT_ANSWERED && ahead >> BALANCER_WINDOW_BITS == 0)
		kind = NAT_OPEN;
	if (kind == NAT_DOUBTED)
		kind = NAT_OPEN;
	if (packet->signal == NAT_SEGMENT || kind != NAT_OPEN)
		return kind;
	entry->client_ended = 1;
	return *(volatile __u8 *)&entry->backend_ended ? NAT_CLOSED : kind;
}

/* The kind of a flow after a packet from its backend. */
xway_inline __u32 nat_next_to_client(struct nat_entry *entry, const struct nat_packet *packet,
				     __u32 kind)
{
	if (packet->signal == NAT_DATAGRAM)
		return kind == NAT_NEW ? NAT_ANSWERED : kind;
	if (packet->signal == NAT_RESET)
		return NAT_CLOSED;
	if (packet->signal == NAT_SYN_ACK && kind <= NAT_ANSWERED) {
		entry->expected = packet->sequence + 1;
		return NAT_ANSWERED;
	}
	if (packet->signal != NAT_FIN || kind != NAT_OPEN)
		return kind;
	entry->backend_ended = 1;
	return *(volatile __u8 *)&entry->client_ended ? NAT_CLOSED : kind;
}

/* Follows the state of the packet's flow. */
xway_global int nat_follow(__u32 index, __u32 now)
{
	struct nat_entry *entry = bpf_map_lookup_elem(&nat_entries, &index);
	struct nat_packet *packet = nat_packet();
	__u32 kind, next;

	if (!entry || !packet || packet->signal == NAT_ERROR)
		return 0;
	kind = nat_kind_of(packet->cell);
	next = packet->is_reply ? nat_next_to_client(entry, packet, kind) :
				  nat_next_to_service(entry, packet, kind);
	if (next != kind || nat_age(packet->cell, now))
		nat_touch(index, next, now);
	return 0;
}

/* Whether the flow of a packet needs another backend: its own is dead, or it begins again. */
xway_inline int nat_begins_again(const struct nat_packet *packet)
{
	__u32 number = packet->number;
	const struct balancer_backend *backend = bpf_map_lookup_elem(&balancer_backends, &number);

	if (!backend || backend->flags & BALANCER_DEAD ||
	    nat_differs(backend->address, packet->to.dest))
		return 1;
	return packet->signal == NAT_SYN && nat_kind_of(packet->cell) == NAT_CLOSED;
}

/* Finds or makes the entry of a packet to a service: XWAY_BALANCED, or why there is none. */
xway_global int nat_enter(void)
{
	struct nat_packet *packet = nat_packet();
	__u32 now = nat_now(), index;
	__u64 hash;

	if (!packet)
		return XWAY_NO_FLOW;
	hash = nat_hash(packet);
	index = nat_find(hash, packet->is_ipv6, now);
	if (index != NAT_NONE && !nat_begins_again(packet)) {
		nat_follow(index, now);
		nat_own_end(packet, index);
		return XWAY_BALANCED;
	}
	if (packet->signal != NAT_SYN && packet->signal != NAT_SEGMENT &&
	    packet->signal != NAT_DATAGRAM)
		return XWAY_NO_FLOW;
	if (nat_choose(packet) != XWAY_BALANCED)
		return XWAY_NO_BACKEND;
	if (index != NAT_NONE) {
		balancer_count_event(BALANCER_NAT_MOVED);
		if (!nat_claim(index, packet->cell, (__u32)hash & 0xffffff, now))
			return XWAY_NAT_FULL;
	} else {
		index = nat_begin(hash, packet->is_ipv6, now);
		if (index == NAT_NONE)
			return XWAY_NAT_FULL;
	}
	nat_own_end(packet, index);
	return XWAY_BALANCED;
}

/* Finds what a packet to a service becomes and its way: XWAY_BALANCED, or why there is none. */
xway_inline int nat_to_backend(struct xdp_md *ctx)
{
	struct nat_packet *packet = nat_packet();
	int reason;

	if (!packet)
		return XWAY_NO_FLOW;
	if (!packet->is_later) {
		reason = nat_enter();
		if (reason != XWAY_BALANCED)
			return reason;
	} else if (!nat_find_fragment()) {
		return XWAY_UNKNOWN_FRAGMENT;
	}
	return nat_way_to_backend(ctx);
}

/* Finds the flow of a packet to an address of the pool; 0 if there is none. */
xway_global int nat_enter_reply(void)
{
	struct nat_packet *packet = nat_packet();
	__u32 now = nat_now(), address, port, index;

	if (!packet)
		return 0;
	if (packet->is_later)
		return nat_find_fragment();
	address = nat_address_number(packet->from.dest, !!packet->is_ipv6);
	port = xway_ntohs(packet->from.dest_port);
	if (address == NAT_NONE || port < NAT_FIRST_PORT)
		return 0;
	index = nat_pools[!!packet->is_ipv6].group * NAT_WAYS + address * NAT_PORTS + port -
		NAT_FIRST_PORT;
	if (!nat_is_of_backend(index, now))
		return 0;
	nat_follow(index, now);
	return 1;
}

/* The same of a packet to an address of the pool. */
xway_inline int nat_to_client(struct xdp_md *ctx)
{
	return nat_enter_reply() ? nat_way_to_client(ctx) : XWAY_NO_SERVICE;
}

/* The packet is larger than the MTU of its way. */
xway_inline int nat_refuse(struct xdp_md *ctx, const struct nat_packet *packet)
{
	if (packet->place.ip != sizeof(struct ethhdr) || packet->may_fragment ||
	    packet->is_later || packet->signal == NAT_ERROR)
		return XWAY_TOO_BIG;
	return balancer_refuse_packet(ctx, packet->length, packet->frame, packet->hop.mtu,
				      packet->is_ipv6);
}

/*
 * Reads, translates and sends a packet whose IP header is at a position of the frame, with this
 * number of bytes of transport at another: XWAY_BALANCED, XWAY_RETURNED, or why not.
 */
xway_global int nat_run(struct xdp_md *ctx, __u32 at, __u32 transport, __u32 left, __u32 known)
{
	struct nat_packet *packet = nat_packet();
	int reason = nat_read(ctx, at, transport, left, known);

	if (!packet || reason != XWAY_BALANCED)
		return reason;
	reason = known & NAT_IS_REPLY ? nat_to_client(ctx) : nat_to_backend(ctx);
	if (reason != XWAY_BALANCED)
		return reason;
	if (packet->ttl <= 1)
		return XWAY_TTL;
	if (packet->length > packet->hop.mtu)
		return nat_refuse(ctx, packet);
	if (packet->is_fragment && !packet->is_later)
		nat_keep_fragment();
	reason = nat_write(ctx);
	if (reason == XWAY_BALANCED)
		reason = nat_send(ctx);
	return reason == XWAY_BALANCED && known & NAT_IS_REPLY ? XWAY_RETURNED : reason;
}

#endif
