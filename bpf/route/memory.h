/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The memory of routes: results of the kernel's lookups, for each processor.
 *
 * A lookup takes over 100 ns, a remembered one a few. Each processor has a table of sets of two
 * entries. A seeded hash of what a lookup is by selects two sets, so that no sender can choose
 * addresses that share them; the second one is used where the first is full, so that nearly all
 * places are. An entry is valid for a generation of its processor, which ends when
 * user space, which follows the kernel's changes, requests it, and at each tick of the kernel's
 * clock while there is no such process: then a change of routes takes effect a tick late at most.
 * memory4.h and memory6.h have the entries of the two families.
 *
 * Rule: the generation is read before the lookup, so a change during it makes its result invalid.
 * Rule: nothing is remembered by less than what decided it, see `struct route_fields`.
 * Not here: next hops that are unknown, for which each packet has a lookup.
 */
#ifndef ROUTE_MEMORY_H
#define ROUTE_MEMORY_H

#include "route.abi.h"

#include <xway/bpf.h>

#include "port.h"

/* Without the bits of ECN, which decide nothing. */
#define ROUTE_DSCP4 0xfc
#define ROUTE_LABEL6 xway_htonl(0x0fcfffff)

/* Places that an entry may have: those of both sets. */
#define ROUTE_PLACES (2 * ROUTE_WAYS)

/* The greatest MTU of an entry: no packet is longer. */
#define ROUTE_MOST_MTU 0xffff

/* What a lookup is by. IPv4 addresses are in the low half of the second word. */
struct route_flow {
	__u64 dest[2];
	__u64 source[2];
	__be32 ports;
	/* Type of service, or traffic class and flow label as in the first word of the header. */
	__be32 label;
	__u32 ingress;
	__u8 protocol;
	__u8 family;
	__u16 zero;
};

/* Where a packet goes to. */
struct route_way {
	/* Number of the port, or the reason not to send, above ROUTE_PORTS. */
	__u32 egress;
	__u32 mtu;
	/* As in `struct route_entry`. */
	__u64 mac;
	/* Selects samples. */
	__u32 turn;
	/* How a frame with tags came in: see route_tagged_as(); and ROUTE_TRANSLATED. */
	__u32 arrival;
};

/* Mappable only because such arrays begin on a page: entries must not lie on two cache lines. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct route_control);
} route_control SEC(".maps");

/* Index: the processor. User space sets the size of this and of the next. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct route_processor);
} route_processors SEC(".maps");

/* Whether there is a memory at all. */
const volatile __u32 route_remembers = 1;
/* Number of sets of each processor less one, of a power of two. */
const volatile __u32 route_set_mask = 0;
/* Random numbers of the hash; user space sets others. */
const volatile __u64 route_seed[11] = {
	0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9, 0x94d049bb133111eb, 0xd6e8feb86659fd93,
	0xa0761d6478bd642f, 0xe7037ed1a0b428db, 0x8ebc6af09c88c6e3, 0x589965cc75374cc3,
	0x1d8e4e27c47d124f, 0xeb44accab455d165, 0x2127599bf4325c37,
};

/* The state according to user space; NULL never happens. */
xway_inline const struct route_control *route_state(void)
{
	__u32 only = 0;

	return bpf_map_lookup_elem(&route_control, &only);
}

/* Whether user space vouches that no rule or route with several next hops inspects the source. */
xway_inline int route_ignores_source(void)
{
	const struct route_control *control = route_state();

	return control && !control->fields.source &&
	       bpf_ktime_get_coarse_ns() < control->valid_until;
}

/* Whether the destination alone decides. */
xway_inline int route_is_by_destination(const struct route_fields *fields)
{
	return !(fields->source | fields->ports | fields->label | fields->protocol | fields->tos);
}

/* Ends the validity of the entries if it may have ended. */
xway_inline void route_renew(struct route_processor *own)
{
	const struct route_control *control = route_state();
	__u64 tick = bpf_jiffies64(), generation;
	__u32 followed;

	if (!control)
		return;
	generation = *(const volatile __u64 *)&control->generation;
	if (own->tick == tick && own->seen == generation)
		return;
	followed = bpf_ktime_get_coarse_ns() < control->valid_until;
	own->tick = tick;
	if (own->followed && followed && own->seen == generation)
		return;
	own->seen = generation;
	own->generation++;
	if (followed)
		own->fields = control->fields;
	else
		own->fields = (struct route_fields){ ~0ULL, ~0U, ~0U, ~0U, ~0U };
	own->followed = followed + route_is_by_destination(&own->fields);
}

/* The first word of an entry: see `struct route_entry4`. */
xway_inline __u64 route_head(__u32 generation, __u32 ingress, __u32 protocol, __u32 tos)
{
	return generation | (__u64)(ingress | protocol << 16 | tos << 24) << 32;
}

/* Whether an entry with this first word is of a generation. */
xway_inline int route_is_valid(__u64 head, const struct route_processor *own)
{
	return (__u32)head == own->generation;
}

/*
 * The entry that does not differ, or else the second one. Without a branch, which would be
 * predicted by what other packets were.
 */
xway_inline __u32 route_selected(__u64 differs)
{
	__u64 second = (differs | -differs) >> 63;

	xway_opaque(second);
	return second & 1;
}

/*
 * The entry to replace, of those with these first words: the first one that is not valid, or else
 * each in turn.
 */
xway_inline __u32 route_victim(const __u64 *heads, const struct route_processor *own)
{
	xway_unroll
	for (__u32 i = 0; i < ROUTE_PLACES; i++) {
		if (!route_is_valid(heads[i], own))
			return i;
	}
	return own->misses & (ROUTE_PLACES - 1);
}

/*
 * A part of a hash: both halves of 64 bits, times each other. Factors are of 32 bits and a seed,
 * because the highest bits of a factor would only be in the highest bits of the product, which
 * select nothing.
 */
xway_inline __u64 route_product(__u64 word, __u64 first, __u64 second)
{
	return ((__u32)word + first) * ((word >> 32) + second);
}

/* The hash that selects the second set, from that which selects the first. */
xway_inline __u64 route_second_hash(__u64 hash)
{
	return hash * 0xbf58476d1ce4e5b9;
}

/* Index of a set in the maps, in which each processor has the same number of sets. */
xway_inline __u32 route_set_index(__u32 processor, __u64 hash)
{
	return processor * (route_set_mask + 1) + ((__u32)(hash >> 40) & route_set_mask);
}

#endif
