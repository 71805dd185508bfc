/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The memory of flows: which backend has a flow whose slot moved.
 *
 * A slot names the backend of its flows, so nothing is remembered while no slot moves. When one
 * does, its flows are either older than the change, and belong to the former backend, or younger.
 * Only the younger ones are remembered, so the memory is needed only after a change and only for
 * the share of the flows that is on slots which moved.
 *
 * Whether a connection is younger is seen by its SYN, which leaves a note. The note is for the
 * segment that continues the SYN: it is found by the hash and the sequence number. That segment
 * makes it a connection. So a flood of SYNs leaves notes only, which replace each other and no
 * connection; and a forged SYN for an older connection does not move it. The oldest note of a line
 * is replaced first, so each one survives as long as the memory's size and the flood's rate allow:
 * that is why notes have a finer clock than what they become.
 *
 * A connection is young until it is used a few seconds after its beginning. Young ones can be
 * replaced, so a flood of forged SYNs with segments that continue them replaces no older one.
 *
 * Datagrams have no beginning. They belong to the new backend, or, while the service asks for it,
 * to the former one; then they are remembered for it, so that they remain there afterwards.
 */
#ifndef BALANCER_FLOW_H
#define BALANCER_FLOW_H

#include "balancer.abi.h"

#include <xway/bpf.h>

/* Index: what the hash selects. User space sets the size; mappable to begin on a page. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct balancer_cells);
} balancer_flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, BALANCER_EVENTS);
	__type(key, __u32);
	__type(value, __u64);
} balancer_events SEC(".maps");

/* Their types bring names into the object's BTF. */
const volatile enum balancer_event balancer_last_event = BALANCER_EVENTS - 1;
const volatile enum balancer_kind balancer_last_kind = BALANCER_YOUNG;
const volatile enum balancer_delivery balancer_last_delivery = BALANCER_NAT;

/* Number of lines less one, of a power of two. */
const volatile __u32 balancer_line_mask = 0;
/* After which time each kind is forgotten, in the units of its own clock. */
const volatile __u32 balancer_life[4] = {
	[BALANCER_NOTE] = 30 << BALANCER_NOTE_BITS,
	[BALANCER_FLOW] = 1676,
	[BALANCER_DATAGRAMS] = 28,
	[BALANCER_YOUNG] = 30,
};
/* What is replaced first of what is not old, by the higher number; 0 for what is not replaced. */
static const __u32 balancer_worth[4] = {
	[BALANCER_NOTE] = 2 * BALANCER_TIME_MASK,
	[BALANCER_DATAGRAMS] = 1,
	[BALANCER_YOUNG] = 1,
};
/* Above all others. */
#define BALANCER_RANK_OLD (4 * BALANCER_TIME_MASK)

/* What a packet is to its flow. */
enum flow_signal {
	BALANCER_SYN,
	BALANCER_SEGMENT,
	/* Quotes a packet of the flow. */
	BALANCER_ERROR,
	BALANCER_DATAGRAM,
	/* As the former, where unknown flows belong to the former backend. */
	BALANCER_KEPT_DATAGRAM,
};

/* Sequence numbers of this number of bits are the same to a note: a few initial windows. */
#define BALANCER_WINDOW_BITS 17

xway_inline void balancer_count_event(__u32 event)
{
	__u64 *count = bpf_map_lookup_elem(&balancer_events, &event);

	if (count)
		*count += 1;
}

/* In units of the clock of notes. */
xway_inline __u32 balancer_now(void)
{
	return bpf_ktime_get_coarse_ns() >> (BALANCER_TIME_SHIFT - BALANCER_NOTE_BITS);
}

/* The time in units of the clock of this kind, without a branch: only that of notes is 0. */
xway_inline __u32 balancer_time(__u32 kind, __u32 now)
{
	return now >> (((kind | kind >> 1) & 1) * BALANCER_NOTE_BITS);
}

xway_inline __u64 balancer_cell(__u32 tag, __u32 backend, enum balancer_kind kind, __u32 now)
{
	return (__u64)tag << BALANCER_TAG_SHIFT | backend << BALANCER_BACKEND_SHIFT |
	       kind << BALANCER_KIND_SHIFT | (balancer_time(kind, now) & BALANCER_TIME_MASK);
}

xway_inline __u32 balancer_kind_of(__u64 cell)
{
	return cell >> BALANCER_KIND_SHIFT & 3;
}

xway_inline __u32 balancer_backend_of(__u64 cell)
{
	return cell >> BALANCER_BACKEND_SHIFT & 0xffff;
}

xway_inline __u32 balancer_age(__u64 cell, __u32 now)
{
	return balancer_time(balancer_kind_of(cell), now) - (__u32)cell & BALANCER_TIME_MASK;
}

/*
 * All ones if the number is not 0, or else 0. This and what follows have no branches, of which the
 * verifier would follow all combinations.
 */
xway_inline __u64 balancer_mask(__u64 number)
{
	__u64 negative = -number;

	/* The compiler would make a branch of it. */
	xway_opaque(negative);
	negative = (number | negative) >> 63;
	xway_opaque(negative);
	return -negative;
}

/* All ones if the cell is of none or old. */
xway_inline __u64 balancer_old(__u64 cell, __u32 now)
{
	__u64 left = (__u64)balancer_life[balancer_kind_of(cell)] - balancer_age(cell, now);

	xway_opaque(left);
	return ~balancer_mask(cell) | balancer_mask(left >> 63);
}

/* The tag of a note for a segment: of the hash, and of the part of the sequence space. */
xway_inline __u32 balancer_note_tag(__u32 tag, __u32 sequence, __u32 earlier)
{
	return tag ^ ((sequence >> BALANCER_WINDOW_BITS) - earlier) * 0x9e3779b1;
}

xway_inline __u64 balancer_read(const struct balancer_cells *line, __u32 number)
{
	return *(const volatile __u64 *)&line->cells[number & (BALANCER_WAYS - 1)];
}

/*
 * The number of the cell with this tag and kind that is not old, or BALANCER_WAYS; young
 * connections are found as others.
 */
xway_inline __u32 balancer_find(const struct balancer_cells *line, __u32 tag,
				enum balancer_kind kind, __u32 now)
{
	__u64 mask = kind == BALANCER_FLOW ? BALANCER_FLOW : 3, found = BALANCER_WAYS;

	xway_opaque(mask);
	xway_unroll
	for (__u64 i = 0; i < BALANCER_WAYS; i++) {
		__u64 cell = balancer_read(line, i);
		__u64 differs = (cell >> BALANCER_TAG_SHIFT ^ tag) |
				((balancer_kind_of(cell) ^ kind) & mask) | balancer_old(cell, now);
		__u64 other = balancer_mask(differs);

		found = (found & other) | (i & ~other);
	}
	return found;
}

/*
 * The number of the note for a segment, or BALANCER_WAYS: of its part of the sequence space, or
 * else of the one before.
 */
xway_inline __u32 balancer_find_note(const struct balancer_cells *line, __u32 tag, __u32 sequence,
				     __u32 now)
{
	__u32 own = balancer_note_tag(tag, sequence, 0);
	__u32 earlier = balancer_note_tag(tag, sequence, 1);
	__u64 found = BALANCER_WAYS, second = BALANCER_WAYS;

	xway_unroll
	for (__u64 i = 0; i < BALANCER_WAYS; i++) {
		__u64 cell = balancer_read(line, i), it = cell >> BALANCER_TAG_SHIFT;
		__u64 no = (balancer_kind_of(cell) ^ BALANCER_NOTE) | balancer_old(cell, now);
		__u64 differs = balancer_mask(no | (it ^ own));

		found = (found & differs) | (i & ~differs);
		differs = balancer_mask(no | (it ^ earlier));
		second = (second & differs) | (i & ~differs);
	}
	return found < BALANCER_WAYS ? found : second;
}

/*
 * The number of the cell to replace: one that is old, or else a note, or else a flow of datagrams
 * or a young connection, of which the one that was used least recently; BALANCER_WAYS if all are of
 * other connections.
 */
xway_global __u32 balancer_victim(const struct balancer_cells *line, __u32 now)
{
	/* The rank, and the number below it. */
	__u64 most = BALANCER_WAYS;

	if (!line)
		return BALANCER_WAYS;
	xway_unroll
	for (__u64 i = 0; i < BALANCER_WAYS; i++) {
		__u64 cell = balancer_read(line, i), old = balancer_old(cell, now);
		__u64 worth = balancer_worth[balancer_kind_of(cell)];
		__u64 rank = (worth + balancer_age(cell, now)) & balancer_mask(worth);
		__u64 own, less;

		rank = (rank & ~old) | (BALANCER_RANK_OLD & old);
		own = rank << 4 | i;
		less = balancer_mask((own - most) >> 63) | ~balancer_mask(rank);
		most = (most & less) | (own & ~less);
	}
	return most & 0xf;
}

/* Replaces a cell unless another processor did. */
xway_inline void balancer_replace(struct balancer_cells *line, __u32 number, __u64 old, __u64 cell)
{
	__sync_val_compare_and_swap(&line->cells[number & (BALANCER_WAYS - 1)], old, cell);
}

/* Remembers something for later, in place of what is worth least. */
xway_inline void balancer_insert(struct balancer_cells *line, __u64 cell, __u32 now)
{
	__u32 victim = balancer_victim(line, now);
	__u64 old;

	if (victim >= BALANCER_WAYS) {
		balancer_count_event(BALANCER_NO_CELL);
		return;
	}
	old = balancer_read(line, victim);
	if (!balancer_old(old, now))
		balancer_count_event(balancer_kind_of(old) == BALANCER_NOTE ?
					     BALANCER_NOTE_REPLACED :
					     BALANCER_EVICTED);
	balancer_replace(line, victim, old, cell);
}

/* Keeps a cell that is used; written once in a unit of time. */
xway_inline void balancer_refresh(struct balancer_cells *line, __u32 number, __u64 cell, __u32 now)
{
	__u32 kind = balancer_kind_of(cell);

	if (!balancer_age(cell, now))
		return;
	if (kind == BALANCER_YOUNG)
		kind = BALANCER_FLOW;
	balancer_replace(line, number, cell,
			 balancer_cell(cell >> BALANCER_TAG_SHIFT, balancer_backend_of(cell), kind,
				       now));
}

/* A note for a SYN. One that is sent again renews its own. */
xway_inline void balancer_note(struct balancer_cells *line, __u32 tag, __u32 backend, __u32 now)
{
	__u64 cell = balancer_cell(tag, backend, BALANCER_NOTE, now);
	__u32 known = balancer_find(line, tag, BALANCER_NOTE, now);

	balancer_count_event(BALANCER_NOTED);
	if (known < BALANCER_WAYS)
		balancer_replace(line, known, balancer_read(line, known), cell);
	else
		balancer_insert(line, cell, now);
}

/* Adds the number of the other backend that may have the segment, see `struct packet_choice`. */
xway_inline __u32 balancer_with_other(__u32 number, __u32 other)
{
	return number | (other + 1) << 16;
}

/*
 * The backend of a packet whose slot moved. `backends` has the slot's backend below, and the former
 * one above 16 bits. Verified once, and of few packets. A segment of which nothing is known belongs
 * to the former backend, and to the slot's if that of a younger connection was forgotten.
 */
xway_global __u32 balancer_recall(__u64 hash, __u32 sequence, enum flow_signal signal,
				  __u32 backends)
{
	__u32 index = (__u32)hash & balancer_line_mask, now = balancer_now();
	struct balancer_cells *line = bpf_map_lookup_elem(&balancer_flows, &index);
	__u32 current = backends & 0xffff, former = backends >> 16, tag = hash >> 32, known;
	enum balancer_kind kind = BALANCER_FLOW;
	__u64 cell;

	if (!line)
		return former;
	if (signal >= BALANCER_DATAGRAM)
		kind = BALANCER_DATAGRAMS;
	known = balancer_find(line, tag, kind, now);
	if (known < BALANCER_WAYS) {
		cell = balancer_read(line, known);
		balancer_refresh(line, known, cell, now);
		balancer_count_event(BALANCER_BY_FLOW);
		return balancer_backend_of(cell);
	}
	if (signal == BALANCER_SYN) {
		balancer_note(line, balancer_note_tag(tag, sequence + 1, 0), current, now);
		return current;
	}
	if (signal == BALANCER_DATAGRAM)
		return current;
	if (signal == BALANCER_KEPT_DATAGRAM) {
		balancer_insert(line, balancer_cell(tag, former, BALANCER_DATAGRAMS, now), now);
		balancer_count_event(BALANCER_BY_FORMER);
		return former;
	}
	if (signal == BALANCER_SEGMENT)
		known = balancer_find_note(line, tag, sequence, now);
	if (known < BALANCER_WAYS) {
		cell = balancer_read(line, known);
		current = balancer_backend_of(cell);
		balancer_replace(line, known, cell,
				 balancer_cell(tag, current, BALANCER_YOUNG, now));
		balancer_count_event(BALANCER_REMEMBERED);
		return current;
	}
	balancer_count_event(BALANCER_BY_FORMER);
	return signal == BALANCER_SEGMENT ? balancer_with_other(former, current) : former;
}

#endif
