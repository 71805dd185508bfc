/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The target with a number: scan/target/space.rs in crates/traffic is its model. */
#ifndef SCAN_TARGET_H
#define SCAN_TARGET_H

#include "scan.abi.h"

#include <xway/bpf.h>

#include "number.h"

const volatile struct scan_space scan_space;

/* User space sets the sizes. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scan_block);
} scan_blocks SEC(".maps");

/* The block that a part of the numbers begins in. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} scan_parts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u16);
} scan_ports SEC(".maps");

/* Steps that find one of 2^32 blocks. */
#define SCAN_SEARCH 32

struct scan_target {
	struct scan_number address;
	/* As a number. */
	__u32 port;
};

xway_inline int scan_is_ipv4(struct scan_number address)
{
	return !address.high && address.low >> 32 == 0xffff;
}

/* The block that a part begins in; the number of blocks after the last part. */
xway_inline __u32 scan_part(__u32 part)
{
	__u32 *block;

	if (part >= scan_space.parts)
		return scan_space.blocks;
	block = bpf_map_lookup_elem(&scan_parts, &part);
	return block ? *block : 0;
}

/* The last block whose first number is not above `rank`. */
xway_inline const struct scan_block *scan_block(struct scan_number rank)
{
	__u32 part = scan_right(rank, scan_space.part_bits).low;
	__u32 begin = scan_part(part), end = scan_part(part + 1) + 1;

	if (end > scan_space.blocks)
		end = scan_space.blocks;
	for (int step = 0; step < SCAN_SEARCH && end - begin > 1; step++) {
		__u32 middle = begin + (end - begin) / 2;
		const struct scan_block *block = bpf_map_lookup_elem(&scan_blocks, &middle);

		if (!block)
			return NULL;
		if (scan_is_above(scan_number(block->rank), rank))
			end = middle;
		else
			begin = middle;
	}
	return bpf_map_lookup_elem(&scan_blocks, &begin);
}

xway_inline struct scan_number scan_address(const struct scan_block *block,
					    struct scan_number offset)
{
	struct scan_number first = scan_number(block->first), subnet = {};

	if (!block->hosts)
		return scan_add(first, offset);
	/* Such a block has at most 2^64 addresses. */
	subnet.low = offset.low / block->hosts;
	offset.low %= block->hosts;
	return scan_add(scan_add(first, scan_left(subnet, block->shift & 127)), offset);
}

/* Returns 0 if there is no such target: a defect. */
xway_inline int scan_target(struct scan_number number, struct scan_target *target)
{
	__u32 ports = scan_space.ports, place = 0;
	const struct scan_block *block;
	__u16 *port;

	if (ports > 1)
		number = scan_divide(number, ports, &place);
	block = scan_block(number);
	port = bpf_map_lookup_elem(&scan_ports, &place);
	if (!block || !port)
		return 0;
	number = scan_subtract(number, scan_number(block->rank));
	target->address = scan_address(block, number);
	target->port = *port;
	return 1;
}

#endif
