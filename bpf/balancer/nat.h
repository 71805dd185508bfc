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

/*
 * Reads an entry and its cell into the packet's memory; 0 if it has no flow, or if another
 * processor wrote it meanwhile.
 */
xway_inline int nat_read_entry(struct nat_packet *packet, __u32 index)
{
	__u32 number = index / NAT_WAYS;
	const struct nat_group *group = bpf_map_lookup_elem(&nat_groups, &number);
	const struct nat_entry *entry = bpf_map_lookup_elem(&nat_entries, &index);
	__u64 cell, all = 0;

	if (!group || !entry)
		return 0;
	cell = nat_read_cell(group, index);
	entry = nat_after(cell, entry);
	xway_unroll
	for (__u32 i = 0; i < sizeof(*entry) / sizeof(__u64); i++) {
		__u64 word = ((const volatile __u64 *)entry)[i];

		((__u64 *)&packet->entry)[i] = word;
		all |= word;
	}
	group = nat_after(all, group);
	packet->cell = cell;
	return !((nat_read_cell(group, index) ^ cell) & NAT_FLOW_BITS) &&
	       nat_kind_of(cell) > NAT_BUSY;
}

/* Whether the entry is of the packet's flow, to its service; if so, with where it goes. */
xway_global int nat_is_of_service(__u32 index)
{
	struct nat_packet *packet = nat_packet();
	const struct nat_entry *entry;

	if (!packet || !nat_read_entry(packet, index))
		return 0;
	entry = &packet->entry;
	if (nat_differs(entry->client, packet->from.source) |
	    nat_differs(entry->service, packet->from.dest) |
	    (entry->client_port ^ packet->from.source_port) |
	    (entry->service_port ^ packet->from.dest_port) | (entry->protocol ^ packet->protocol))
		return 0;
	xway_memcpy(packet->to.dest, entry->backend, sizeof(packet->to.dest));
	packet->to.dest_port = entry->backend_port;
	packet->number = nat_backend_of(packet->cell);
	return 1;
}

/* The index of the entry of a packet to a service, also if it expired; NAT_NONE if it has none. */
xway_global __u32 nat_find(__u64 hash, __u32 is_ipv6)
{
	for (__u32 second = 0; second < 2; second++) {
		__u32 first = nat_group_of(hash, !!is_ipv6, second), number = first / NAT_WAYS;
		const struct nat_group *group = bpf_map_lookup_elem(&nat_groups, &number);
		__u32 found = nat_matches(group, (__u32)hash & 0xffffff);

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
	struct nat_packet *packet = nat_packet();
	const struct nat_entry *entry;

	if (!packet || !nat_read_entry(packet, index))
		return 0;
	entry = &packet->entry;
	if (nat_differs(entry->backend, packet->from.source) |
	    (entry->backend_port ^ packet->from.source_port) | (entry->protocol ^ packet->protocol))
		return 0;
	xway_memcpy(packet->to.source, entry->service, sizeof(packet->to.source));
	xway_memcpy(packet->to.dest, entry->client, sizeof(packet->to.dest));
	packet->to.source_port = entry->service_port;
	packet->to.dest_port = entry->client_port;
	packet->identifier = entry->client_port;
	return !nat_expired(packet->cell, now);
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
	/* Whether the cell has another rank by now. */
	__u32 lost;
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
	/* Another processor may have used the cell since. */
	found->lost = nat_rank(found->old, now) < found->rank;
}

/*
 * Gives the flow of the packet, which has none, an entry: its index, NAT_NONE if there is no space,
 * or NAT_LOST if another processor took it first.
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
	if (one.lost || !nat_claim(one.index, one.old, (__u32)hash & 0xffffff, now))
		return NAT_LOST;
	balancer_count_event(BALANCER_NAT_BEGAN);
	if (!nat_expired(one.old, now))
		balancer_count_event(BALANCER_NAT_REPLACED);
	return one.index;
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

/*
 * The way to the client of a reply, by the kernel's routes. Where the MAC address of the next hop
 * is not known, the stack sends the translated packet: it forwards it, queues it, and resolves.
 */
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
	packet->is_unresolved = result == BPF_FIB_LKUP_RET_NO_NEIGH;
	if (!packet->is_unresolved && result != BPF_FIB_LKUP_RET_SUCCESS)
		return XWAY_NO_ROUTE;
	if (balancer_leave_by(hop, fib->ifindex) < 0)
		return XWAY_NO_EGRESS;
	if (packet->is_unresolved) {
		hop->mtu = 0xffff;
		return XWAY_BALANCED;
	}
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

	if (!entry || !packet || packet->signal == NAT_ERROR)
		return 0;
	for (__u32 i = 0; i < NAT_TRIES; i++) {
		__u32 kind = nat_kind_of(packet->cell), next;

		next = packet->is_reply ? nat_next_to_client(entry, packet, kind) :
					  nat_next_to_service(entry, packet, kind);
		if (next == kind && !nat_age(packet->cell, now))
			return 0;
		if (nat_touch(index, next, now))
			return 0;
	}
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

/*
 * Whether a packet to a service continues a flow that the table has; if so, its entry is that of
 * the packet.
 */
xway_inline int nat_continue(struct nat_packet *packet, __u64 hash, __u32 now)
{
	packet->index = nat_find(hash, packet->is_ipv6);
	if (packet->index == NAT_NONE || nat_expired(packet->cell, now) || nat_begins_again(packet))
		return 0;
	nat_follow(packet->index, now);
	return 1;
}

/* Another processor changed what was to be changed. */
#define NAT_AGAIN -1

/* The same as nat_begin(), once: also NAT_AGAIN. */
xway_global int nat_begin_once(__u64 hash, __u32 now)
{
	struct nat_packet *packet = nat_packet();
	__u32 index, tag = (__u32)hash & 0xffffff;
	__u64 old;

	if (!packet)
		return XWAY_NO_FLOW;
	if (nat_continue(packet, hash, now))
		return XWAY_BALANCED;
	index = packet->index;
	old = packet->cell;
	if (nat_choose(packet) != XWAY_BALANCED)
		return XWAY_NO_BACKEND;
	if (index == NAT_NONE) {
		index = nat_try(hash, packet->is_ipv6, now);
		packet->index = index;
		if (index == NAT_NONE)
			return XWAY_NAT_FULL;
		return index == NAT_LOST ? NAT_AGAIN : XWAY_BALANCED;
	}
	if (!nat_claim(index, old, tag, now))
		return NAT_AGAIN;
	balancer_count_event(nat_expired(old, now) ? BALANCER_NAT_BEGAN : BALANCER_NAT_MOVED);
	return XWAY_BALANCED;
}

/*
 * Gives the flow of a packet an entry, which no other processor does meanwhile: XWAY_BALANCED, or
 * why it has none. Its own entry is used again, if it has one.
 */
xway_inline int nat_begin(__u64 hash, __u32 now)
{
	int reason = NAT_AGAIN;

	if (!nat_lock(hash))
		return XWAY_NAT_BUSY;
	for (__u32 i = 0; i < NAT_TRIES && reason == NAT_AGAIN; i++)
		reason = nat_begin_once(hash, now);
	nat_unlock(hash);
	return reason == NAT_AGAIN ? XWAY_NAT_BUSY : reason;
}

/* Finds or makes the entry of a packet to a service: XWAY_BALANCED, or why there is none. */
xway_global int nat_enter(void)
{
	struct nat_packet *packet = nat_packet();
	__u32 now = nat_now();
	__u64 hash;
	int reason;

	if (!packet)
		return XWAY_NO_FLOW;
	hash = nat_hash(packet);
	if (!nat_continue(packet, hash, now)) {
		if (packet->signal != NAT_SYN && packet->signal != NAT_SEGMENT &&
		    packet->signal != NAT_DATAGRAM)
			return XWAY_NO_FLOW;
		reason = nat_begin(hash, now);
		if (reason != XWAY_BALANCED)
			return reason;
	}
	nat_own_end(packet, packet->index);
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
 * number of bytes of transport at another: XWAY_BALANCED, XWAY_RETURNED, XWAY_RETURNED_BY_STACK, or
 * why not.
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
	if (packet->is_unresolved)
		return reason == XWAY_BALANCED ? XWAY_RETURNED_BY_STACK : reason;
	if (reason == XWAY_BALANCED)
		reason = nat_send(ctx);
	return reason == XWAY_BALANCED && known & NAT_IS_REPLY ? XWAY_RETURNED : reason;
}

#endif
