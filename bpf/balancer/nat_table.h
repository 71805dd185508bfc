/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The table of translated flows. The index of an entry is the address and the port that the flow
 * has towards its backend, so one entry serves both directions.
 *
 * Eight consecutive ports are a group, whose cells share a cache line. A keyed hash of the flow
 * selects two groups; the flow is in one of them. A cell has what finding a flow needs, and an
 * entry the flow itself.
 *
 * Rule: an entry is written while its cell is busy, and a reader compares the cell before and after
 * it read the entry, so it never uses parts of two flows.
 * Rule: a flow begins while its lock is held, in the entry that it has, if it has one, also if that
 * expired. So it never has two, whichever processors have its packets.
 * Rule: only a flow that is not answered, or not confirmed by its client, is replaced before it
 * expires. So a flood of packets that begin flows replaces none that is in use.
 */
#ifndef NAT_TABLE_H
#define NAT_TABLE_H

#include "balancer.abi.h"

#include <xway/bpf.h>

#include "flow.h"
#include "nat_packet.h"

#define NAT_WAYS 8
/* Ports below belong to services of the host. */
#define NAT_FIRST_PORT 1024
#define NAT_PORTS (0x10000 - NAT_FIRST_PORT)
#define NAT_GROUPS (NAT_PORTS / NAT_WAYS)
#define NAT_NONE 0xffffffff
#define NAT_LOST 0xfffffffe
/* Flows whose hash selects the same lock begin one after another. */
#define NAT_LOCKS 8192
/* How often a lock is tried: longer than it is held, unless its holder lost its processor. */
#define NAT_LOCK_TRIES 256
/* How often what another processor changed first is tried again. */
#define NAT_TRIES 4
/* Clocks of processors that read an entry differ by less than this, in units of its time. */
#define NAT_SKEW 8

/*
 * From above: 24 bits of the hash, the number of the backend, the kind, four bits that are others
 * in each use of the cell, and the time of the last use in units of 2^30 nanoseconds.
 */
#define NAT_TAG_SHIFT 40
#define NAT_BACKEND_SHIFT 24
#define NAT_KIND_SHIFT 20
#define NAT_USE_SHIFT 16
#define NAT_TIME_MASK 0xffff
#define NAT_TIME_SHIFT 30
/* All but the time and the kind: what a flow keeps. */
#define NAT_FLOW_BITS (~0ULL << NAT_BACKEND_SHIFT | 0xf << NAT_USE_SHIFT)

enum nat_kind {
	NAT_FREE = 0,
	/* The entry is being written. */
	NAT_BUSY = 1,
	/* There was no answer yet. */
	NAT_NEW = 2,
	/* The client did not confirm the answer yet. */
	NAT_ANSWERED = 3,
	/* A TCP connection. */
	NAT_OPEN = 4,
	/* Datagrams in both directions. */
	NAT_DATAGRAMS = 5,
	/* A connection that a segment of the client's side reset: it may be forged. */
	NAT_DOUBTED = 6,
	/* A connection that both sides ended, or that the backend reset. */
	NAT_CLOSED = 7,
};
#define NAT_KINDS 8

struct nat_group {
	__u64 cells[NAT_WAYS];
};
_Static_assert(sizeof(struct nat_group) == 64, "one cache line");

/* Index: the number of the address, and the group. User space sets the size of both. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct nat_group);
} nat_groups SEC(".maps");

/* Index: that of the group, times NAT_WAYS, and the cell. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct nat_entry);
} nat_entries SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NAT_LOCKS);
	__type(key, __u32);
	__type(value, __u64);
} nat_locks SEC(".maps");

/* Translated flows of a family: the first address, and how many there are. */
struct nat_pool {
	__be32 address[4];
	/* The last word as a number. */
	__u32 last;
	__u32 count;
	/* Number of the first group. */
	__u32 group;
};

/* IPv4, IPv6. */
const volatile struct nat_pool nat_pools[2] = {};
/*
 * After which time each kind expires, in its units. An entry that is being written never does: its
 * writer completes it, however long it has no processor.
 */
const volatile __u32 nat_life[NAT_KINDS] = {
	[NAT_BUSY] = NAT_TIME_MASK, [NAT_NEW] = 10,   [NAT_ANSWERED] = 30, [NAT_OPEN] = 839,
	[NAT_DATAGRAMS] = 112,	    [NAT_DOUBTED] = 56, [NAT_CLOSED] = 56,
};
/* What is replaced first of what did not expire, by the higher number; 0 for what is not. */
static const __u32 nat_worth[NAT_KINDS] = {
	[NAT_NEW] = 2 * NAT_TIME_MASK,
	[NAT_ANSWERED] = 1,
};
/* Above all others. */
#define NAT_RANK_EXPIRED (4 * NAT_TIME_MASK)

xway_inline __u32 nat_now(void)
{
	return bpf_ktime_get_coarse_ns() >> NAT_TIME_SHIFT & NAT_TIME_MASK;
}

xway_inline __u32 nat_kind_of(__u64 cell)
{
	return cell >> NAT_KIND_SHIFT & 7;
}

xway_inline __u32 nat_backend_of(__u64 cell)
{
	return cell >> NAT_BACKEND_SHIFT & 0xffff;
}

xway_inline __u32 nat_tag_of(__u64 cell)
{
	return cell >> NAT_TAG_SHIFT;
}

/* Zero for a cell that a processor used whose clock was read later. */
xway_inline __u32 nat_age(__u64 cell, __u32 now)
{
	__u64 age = now - (__u32)cell + NAT_SKEW & NAT_TIME_MASK;

	return (age - NAT_SKEW) & ~balancer_mask((age - NAT_SKEW) >> 63);
}

/* All ones if the cell has no flow, or one that expired. */
xway_inline __u64 nat_expired(__u64 cell, __u32 now)
{
	__u64 left = (__u64)nat_life[nat_kind_of(cell)] - nat_age(cell, now);

	xway_opaque(left);
	return ~balancer_mask(nat_kind_of(cell)) | balancer_mask(left >> 63);
}

xway_inline __u64 nat_read_cell(const struct nat_group *group, __u32 number)
{
	return *(const volatile __u64 *)&group->cells[number & (NAT_WAYS - 1)];
}

/* Replaces a cell unless another processor did. */
xway_inline int nat_replace(struct nat_group *group, __u32 number, __u64 old, __u64 cell)
{
	return __sync_val_compare_and_swap(&group->cells[number & (NAT_WAYS - 1)], old, cell) ==
	       old;
}

/*
 * The pointer, which the processor uses only after it has read the value: where loads can be
 * reordered, an address that depends on an earlier one keeps their order.
 */
#define nat_after(value, pointer)                                                                  \
	({                                                                                         \
		__u64 zero = (value);                                                              \
		asm volatile("%0 &= 0" : "+r"(zero));                                              \
		(pointer) + zero;                                                                  \
	})

/* The cells of a group that have a flow with this tag, as bits. */
xway_global __u32 nat_matches(const struct nat_group *group, __u32 tag)
{
	__u32 found = 0;

	if (!group)
		return 0;
	xway_unroll
	for (__u32 i = 0; i < NAT_WAYS; i++) {
		__u64 cell = nat_read_cell(group, i), kind = nat_kind_of(cell);
		__u64 differs = (nat_tag_of(cell) ^ tag) | ~balancer_mask(kind & ~NAT_BUSY);

		found |= ~balancer_mask(differs) & 1 << i;
	}
	return found;
}

/* What is used first for a new flow, by the higher number; 0 for a flow that is in use. */
xway_inline __u64 nat_rank(__u64 cell, __u32 now)
{
	__u64 worth = nat_worth[nat_kind_of(cell)], old = nat_expired(cell, now);
	__u64 rank = (worth + nat_age(cell, now)) & balancer_mask(worth);

	return (rank & ~old) | (NAT_RANK_EXPIRED & old);
}

/*
 * The cell to use for a new flow, and above four bits its rank: 0 for none. One that expired, or
 * else a flow without an answer, or else one that was not confirmed, of which the oldest.
 */
xway_global __u32 nat_victim(const struct nat_group *group, __u32 now)
{
	__u64 most = 0;

	if (!group)
		return 0;
	xway_unroll
	for (__u64 i = 0; i < NAT_WAYS; i++) {
		__u64 rank = nat_rank(nat_read_cell(group, i), now), own = rank << 4 | i, less;

		less = balancer_mask((own - most) >> 63) | ~balancer_mask(rank);
		most = (most & less) | (own & ~less);
	}
	return most;
}

/* Keeps other processors from beginning flows of this hash; 0 if one does so for too long. */
xway_global int nat_lock(__u64 hash)
{
	__u32 number = hash & (NAT_LOCKS - 1);
	__u64 *lock = bpf_map_lookup_elem(&nat_locks, &number);

	if (!lock)
		return 0;
	for (__u32 i = 0; i < NAT_LOCK_TRIES; i++)
		if (!__sync_val_compare_and_swap(lock, 0, 1))
			return 1;
	return 0;
}

xway_global int nat_unlock(__u64 hash)
{
	__u32 number = hash & (NAT_LOCKS - 1);
	__u64 *lock = bpf_map_lookup_elem(&nat_locks, &number);

	if (lock)
		__sync_val_compare_and_swap(lock, 1, 0);
	return 0;
}

/* Writes the flow of a packet that was chosen a backend into an entry. */
xway_inline void nat_fill(struct nat_entry *entry, const struct nat_packet *packet)
{
	xway_memcpy(entry->client, packet->from.source, sizeof(entry->client));
	xway_memcpy(entry->service, packet->from.dest, sizeof(entry->service));
	xway_memcpy(entry->backend, packet->to.dest, sizeof(entry->backend));
	entry->client_port = packet->from.source_port;
	entry->service_port = packet->from.dest_port;
	entry->backend_port = packet->to.dest_port;
	entry->protocol = packet->protocol;
	entry->client_ended = 0;
	entry->backend_ended = 0;
	entry->expected = 0;
}

/* Writes the flow of the packet in place of what a cell had; 0 if another processor was first. */
xway_global int nat_claim(__u32 index, __u64 old, __u32 tag, __u32 now)
{
	__u32 number = index / NAT_WAYS;
	struct nat_group *group = bpf_map_lookup_elem(&nat_groups, &number);
	struct nat_entry *entry = bpf_map_lookup_elem(&nat_entries, &index);
	struct nat_packet *packet = nat_packet();
	__u64 busy, cell, use = (old >> NAT_USE_SHIFT) + 1 & 0xf;

	if (!group || !entry || !packet)
		return 0;
	cell = (__u64)tag << NAT_TAG_SHIFT | (__u64)packet->number << NAT_BACKEND_SHIFT |
	       use << NAT_USE_SHIFT | now;
	busy = cell | NAT_BUSY << NAT_KIND_SHIFT;
	if (!nat_replace(group, index, old, busy))
		return 0;
	nat_fill(entry, packet);
	cell |= NAT_NEW << NAT_KIND_SHIFT;
	packet->cell = cell;
	nat_replace(group, index, busy, cell);
	return 1;
}

/*
 * Changes the kind of the packet's flow, or the time of its last use. Returns 0 if another
 * processor changed the cell first, and the flow still has it.
 */
xway_global int nat_touch(__u32 index, __u32 kind, __u32 now)
{
	__u32 number = index / NAT_WAYS;
	struct nat_group *group = bpf_map_lookup_elem(&nat_groups, &number);
	struct nat_packet *packet = nat_packet();
	__u64 old, cell;

	if (!group || !packet)
		return 1;
	old = packet->cell;
	cell = (old & NAT_FLOW_BITS) | (__u64)kind << NAT_KIND_SHIFT | now;
	if (nat_replace(group, index, old, cell))
		return 1;
	packet->cell = nat_read_cell(group, index);
	return (packet->cell ^ old) & NAT_FLOW_BITS || nat_kind_of(packet->cell) <= NAT_BUSY;
}

#endif
