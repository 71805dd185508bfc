/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Entries of the memory of routes for IPv4: see memory.h. */
#ifndef ROUTE_MEMORY4_H
#define ROUTE_MEMORY4_H

#include "route.abi.h"

#include <xway/bpf.h>

#include "memory.h"

/* Index: the processor times the number of sets, and the set. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct route_set4);
} route_sets4 SEC(".maps");

/* What the entry of a flow is by: its fields that matter. */
struct route_name4 {
	__u64 head;
	__u64 addresses;
	__be32 ports;
};

xway_inline struct route_name4 route_name4(const struct route_flow *flow,
					   const struct route_processor *own)
{
	const struct route_fields *fields = &own->fields;
	__u32 tos = flow->label & fields->tos & ROUTE_DSCP4;
	__u32 protocol = flow->protocol & fields->protocol;

	return (struct route_name4){
		.head = route_head(own->generation, flow->ingress, protocol, tos),
		.addresses = flow->dest[1] | (flow->source[1] & fields->source) << 32,
		.ports = flow->ports & fields->ports,
	};
}

/* Selects the first set. */
xway_inline __u64 route_hash4(const struct route_name4 *name)
{
	return route_product(name->addresses, route_seed[0], route_seed[1]) +
	       (name->ports + route_seed[2]) * ((name->head >> 32) + route_seed[3]);
}

/* The set that a hash selects; NULL if this processor has no memory. */
xway_inline struct route_set4 *route_set4(__u64 hash, __u32 processor)
{
	__u32 index = route_set_index(processor, hash);

	return bpf_map_lookup_elem(&route_sets4, &index);
}

/* 0 if the entry is of this name. */
xway_inline __u64 route_differs4(const struct route_entry4 *entry, const struct route_name4 *name)
{
	return (entry->head ^ name->head) | (entry->addresses ^ name->addresses) |
	       (entry->ports ^ name->ports);
}

/* Where a flow is or can be remembered. */
struct route_place4 {
	struct route_name4 name;
	/* NULL if this processor has no memory. */
	struct route_set4 *sets[2];
};

/* Finds the places of a name, and the way if it is remembered; 1 if it is. */
xway_inline int route_recall4(struct route_name4 name, __u32 processor,
			      struct route_place4 *place, struct route_way *way)
{
	__u64 hash = route_hash4(&name);

	place->name = name;
	xway_unroll
	for (int i = 0; i < 2; i++) {
		struct route_set4 *set = route_set4(hash, processor);
		const struct route_entry4 *entry;
		__u64 first, second;

		place->sets[i] = set;
		if (!set)
			return 0;
		first = route_differs4(&set->entries[0], &name);
		second = route_differs4(&set->entries[1], &name);
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

xway_inline void route_remember4(const struct route_place4 *place,
				  const struct route_processor *own, const struct route_way *way)
{
	struct route_set4 *first = place->sets[0], *second = place->sets[1];
	const struct route_name4 *name = &place->name;
	struct route_entry4 *entry;
	__u32 victim;

	if (!first || !second)
		return;
	victim = route_victim((__u64[]){ first->entries[0].head, first->entries[1].head,
				       second->entries[0].head, second->entries[1].head }, own);
	if (victim >= ROUTE_WAYS)
		first = second;
	entry = &first->entries[victim & (ROUTE_WAYS - 1)];
	entry->head = name->head;
	entry->addresses = name->addresses;
	entry->ports = name->ports;
	entry->mtu = way->mtu < ROUTE_MOST_MTU ? way->mtu : ROUTE_MOST_MTU;
	entry->egress = way->egress;
	entry->mac = way->mac;
}

#endif
