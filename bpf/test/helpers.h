/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Shared by the programs that test helpers: a map that keeps every result at its own index.
 *
 * Rule: the results are equal in all runs, so that two runtimes can be compared. A case has one
 * number, which is unique in its program.
 */
#ifndef XWAY_TEST_HELPERS_H
#define XWAY_TEST_HELPERS_H

#include "test.h"

#define KFUNC extern __attribute__((section(".ksyms")))
#define KPTR __attribute__((btf_type_tag("kptr")))
#define PERCPU_KPTR __attribute__((btf_type_tag("percpu_kptr")))
#define CONTAINS(type, field) __attribute__((btf_decl_tag("contains:" #type ":" #field)))
#define PRIVATE(name) __attribute__((section(".data." #name), aligned(8)))

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, 512);
} answers SEC(".maps");

/* Room for what helpers read and write: one value, so that bounds are plain. */
struct room {
	__u8 bytes[512];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct room);
	__uint(max_entries, 4);
} rooms SEC(".maps");

static __noinline int put(__u32 place, __u64 answer)
{
	__u64 *kept = bpf_map_lookup_elem(&answers, &place);

	if (kept)
		*kept = answer;
	return 0;
}

xway_inline struct room *room(__u32 number)
{
	return bpf_map_lookup_elem(&rooms, &number);
}

#endif
