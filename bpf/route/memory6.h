/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Entries of the memory of routes for IPv6: see memory.h. */
#ifndef ROUTE_MEMORY6_H
#define ROUTE_MEMORY6_H

#include "route.abi.h"

#include <xway/bpf.h>

#include "memory.h"

/* Index: the processor times the number of sets, and the set. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct route_set6);
} route_sets6 SEC(".maps");

/* What the entry of a flow is by: its fields that matter. */
struct route_name6 {
	__u64 head;
	__u64 rest;
	__u64 dest[2];
	__u64 source[2];
};

xway_inline struct route_name6 route_name6(const struct route_flow *flow,
					   const struct route_processor *own)
{
	const struct route_fields *fields = &own->fields;
	__u32 label = flow->label & fields->label & ROUTE_LABEL6;
	__u32 protocol = flow->protocol & fields->protocol;

	return (struct route_name6){
		.head = route_head(own->generation, flow->ingress, protocol, 0),
		.rest = (flow->ports & fields->ports) | (__u64)label << 32,
		.dest = { flow->dest[0], flow->dest[1] },
		.source = { flow->source[0] & fields->source, flow->source[1] & fields->source },
	};
}

/* Selects the first set. */
xway_inline __u64 route_hash6(const struct route_name6 *name)
{
	return route_product(name->dest[0], route_seed[0], route_seed[1]) +
	       route_product(name->dest[1], route_seed[2], route_seed[3]) +
	       route_product(name->source[0], route_seed[4], route_seed[5]) +
	       route_product(name->source[1], route_seed[6], route_seed[7]) +
	       route_product(name->rest, route_seed[8], route_seed[9]) +
	       (name->head >> 32) * route_seed[10];
}

/* The set that a hash selects; NULL if this processor has no memory. */
xway_inline struct route_set6 *route_set6(__u64 hash, __u32 processor)
{
	__u32 index = route_set_index(processor, hash);

	return bpf_map_lookup_elem(&route_sets6, &index);
}

/* 0 if the entry is of this name. */
xway_inline __u64 route_differs6(const struct route_entry6 *entry, const struct route_name6 *name)
{
	return (entry->head ^ name->head) | (entry->rest ^ name->rest) |
	       (entry->dest[0] ^ name->dest[0]) | (entry->dest[1] ^ name->dest[1]) |
	       (entry->source[0] ^ name->source[0]) | (entry->source[1] ^ name->source[1]);
}

/* Where a flow is or can be remembered. */
struct route_place6 {
	struct route_name6 name;
	/* NULL if this processor has no memory. */
	struct route_set6 *sets[2];
};

/* Finds the places of a name, and the way if it is remembered; 1 if it is. */
xway_inline int route_recall6(struct route_name6 name, __u32 processor,
			      struct route_place6 *place, struct route_way *way)
{
	__u64 hash = route_hash6(&name);

	place->name = name;
	xway_unroll
	for (int i = 0; i < 2; i++) {
		struct route_set6 *set = route_set6(hash, processor);
		const struct route_entry6 *entry;
		__u64 first, second;

		place->sets[i] = set;
		if (!set)
			return 0;
		first = route_differs6(&set->entries[0], &name);
		second = route_differs6(&set->entries[1], &name);
		/* Else the compiler makes branches of the parts: more work for the verifier. */
		xway_opaque(first);
		xway_opaque(second);
		if (!first || !second) {
			entry = &set->entries[route_selected(first)];
			way->egress = entry->egress;
			way->mtu = entry->mtu;
			way->mac = entry->mac;
			return 1;
		}
		hash = route_second_hash(hash);
	}
	return 0;
}

xway_inline void route_remember6(const struct route_place6 *place,
				  const struct route_processor *own, const struct route_way *way)
{
	struct route_set6 *first = place->sets[0], *second = place->sets[1];
	const struct route_name6 *name = &place->name;
	struct route_entry6 *entry;
	__u32 victim;

	if (!first || !second)
		return;
	victim = route_victim((__u64[]){ first->entries[0].head, first->entries[1].head,
				       second->entries[0].head, second->entries[1].head }, own);
	if (victim >= ROUTE_WAYS)
		first = second;
	entry = &first->entries[victim & (ROUTE_WAYS - 1)];
	entry->head = name->head;
	entry->rest = name->rest;
	xway_memcpy(entry->dest, name->dest, sizeof(entry->dest));
	xway_memcpy(entry->source, name->source, sizeof(entry->source));
	entry->mtu = way->mtu < ROUTE_MOST_MTU ? way->mtu : ROUTE_MOST_MTU;
	entry->egress = way->egress;
	entry->mac = way->mac;
}

#endif
