/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The dialect of programs from before libbpf 1.0: numbered sections, map definitions as plain
 * numbers, helpers declared in the program itself.
 */
#ifndef XWAY_TEST_OLD_H
#define XWAY_TEST_OLD_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>

#define SEC(name) __attribute__((section(name), used))
#define htons(x) __builtin_bswap16(x)
#define htonl(x) __builtin_bswap32(x)

struct bpf_map_def {
	unsigned int type;
	unsigned int key_size;
	unsigned int value_size;
	unsigned int max_entries;
	unsigned int map_flags;
};

/* Begins like the above, so that objects could serve both loaders. */
struct bpf_elf_map {
	struct bpf_map_def map;
	__u32 id;
	__u32 pinning;
	__u32 inner_id;
	__u32 inner_idx;
};

static void *(*bpf_map_lookup_elem)(void *map, const void *key)
	__attribute__((unused)) = (void *)BPF_FUNC_map_lookup_elem;
static int (*bpf_redirect)(unsigned int ifindex, unsigned long long flags)
	__attribute__((unused)) = (void *)BPF_FUNC_redirect;
static int (*bpf_fib_lookup)(void *ctx, void *params, int size, unsigned int flags)
	__attribute__((unused)) = (void *)BPF_FUNC_fib_lookup;

#endif
