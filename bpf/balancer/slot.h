/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The tables of services: which backend a slot has. */
#ifndef BALANCER_SLOT_H
#define BALANCER_SLOT_H

#include "balancer.abi.h"

#include <xway/bpf.h>

/*
 * Index: number of the table times BALANCER_LINES, and the line. User space sets the size;
 * mappable to begin on a page.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct balancer_line);
} balancer_tables SEC(".maps");

/* The backend of a slot in a table, or BALANCER_NONE. */
xway_inline __u32 balancer_slot(__u32 table, __u64 hash)
{
	__u32 slot = hash >> (64 - BALANCER_SLOT_BITS);
	__u32 index = table * BALANCER_LINES + (slot >> BALANCER_LINE_BITS);
	const struct balancer_line *line = bpf_map_lookup_elem(&balancer_tables, &index);

	if (!line)
		return BALANCER_NONE;
	return *(const volatile __u16 *)&line->slots[slot & (BALANCER_LINE_SLOTS - 1)];
}

#endif
