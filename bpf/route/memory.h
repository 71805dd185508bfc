/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The memory of routes: results of the kernel's lookups, for each processor.
 *
 * A lookup takes over 100 ns, a remembered one a few. Each processor has a table of sets of two
 * entries; the seeded hash of what a lookup is by selects the set, so that no sender can choose
 * addresses that share one. An entry is valid for a generation of its processor, which ends when
 * user space, which follows the kernel's changes, requests it, and at each tick of the kernel's
 * clock while there is no such process: then a change of routes takes effect a tick late at most.
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

/* Index: the processor times the number of sets, and the set. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct route_set);
} route_sets SEC(".maps");

/* Whether there is a memory at all. */
const volatile __u32 route_remembers = 1;
/* Number of sets of each processor less one, of a power of two. */
const volatile __u32 route_set_mask = 0;
/* Random numbers of the hash; user space sets others. */
const volatile __u64 route_seed[6] = {
	0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9, 0x94d049bb133111eb,
	0xd6e8feb86659fd93, 0xa0761d6478bd642f, 0xe7037ed1a0b428db,
};

/* The state according to user space; NULL never happens. */
xway_inline const struct route_control *route_state(void)
{
	__u32 only = 0;

	return bpf_map_lookup_elem(&route_control, &only);
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
	own->followed = followed;
	own->generation++;
	if (followed)
		own->fields = control->fields;
	else
		own->fields = (struct route_fields){ ~0ULL, ~0U, ~0U, ~0U, ~0U };
}

/* What the entry of a flow is by: its fields that matter. */
xway_inline struct route_flow route_key(const struct route_flow *flow,
					const struct route_fields *fields)
{
	int is_ipv4 = flow->family == ROUTE_AF_INET;
	struct route_flow key = *flow;

	key.source[0] &= fields->source;
	key.source[1] &= fields->source;
	key.ports &= fields->ports;
	key.label &= is_ipv4 ? fields->tos & ROUTE_DSCP4 : fields->label & ROUTE_LABEL6;
	key.protocol &= fields->protocol;
	return key;
}

xway_inline __u32 route_hash(const struct route_flow *flow)
{
	__u64 rest = flow->ports | (__u64)flow->label << 32;
	__u64 few = flow->ingress | (__u64)flow->protocol << 32 | (__u64)flow->family << 40;
	__u64 sum = (flow->dest[0] + route_seed[0]) * (flow->dest[1] + route_seed[1]) +
		    (flow->source[0] + route_seed[2]) * (flow->source[1] + route_seed[3]) +
		    (rest + route_seed[4]) * (few + route_seed[5]);

	return sum >> 40;
}

/* Without branches, which would be predicted by what other packets were. */
xway_inline int route_matches(const struct route_entry *entry, const struct route_flow *flow,
			      __u32 generation)
{
	__u64 differs = (entry->dest[0] ^ flow->dest[0]) | (entry->dest[1] ^ flow->dest[1]) |
			(entry->source[0] ^ flow->source[0]) |
			(entry->source[1] ^ flow->source[1]) | (entry->ports ^ flow->ports) |
			(entry->label ^ flow->label) | (entry->ingress ^ flow->ingress) |
			(entry->generation ^ generation) | (entry->protocol ^ flow->protocol) |
			(entry->family ^ flow->family);

	return !differs;
}

/* The set in which the flow is remembered, or NULL if this processor has no memory. */
xway_inline struct route_set *route_set(const struct route_flow *key, __u32 processor)
{
	__u32 index = processor * (route_set_mask + 1) + (route_hash(key) & route_set_mask);

	return bpf_map_lookup_elem(&route_sets, &index);
}

/* The entry to replace: one that is not valid, or else each in turn. */
xway_inline struct route_entry *route_victim(struct route_set *set,
					     const struct route_processor *own)
{
	if (set->entries[0].generation != own->generation)
		return &set->entries[0];
	if (set->entries[1].generation != own->generation)
		return &set->entries[1];
	return &set->entries[own->misses & 1];
}

xway_inline void route_name(struct route_entry *entry, const struct route_flow *key,
			    __u32 generation)
{
	entry->generation = generation;
	entry->ingress = key->ingress;
	entry->ports = key->ports;
	entry->label = key->label;
	entry->dest[0] = key->dest[0];
	entry->dest[1] = key->dest[1];
	entry->source[0] = key->source[0];
	entry->source[1] = key->source[1];
	entry->protocol = key->protocol;
	entry->family = key->family;
}

#endif
