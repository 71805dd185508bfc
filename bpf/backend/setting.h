/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What user space sets, and may change while the programs run.
 */
#ifndef BACKEND_SETTING_H
#define BACKEND_SETTING_H

#include "backend.abi.h"

#include <xway/bpf.h>

/* User space sets the size. */
struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, struct backend_prefix);
	__type(value, __u32);
} backend_prefixes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct backend_settings);
} backend_settings SEC(".maps");

/* Its type brings names into the object's BTF. */
const volatile enum backend_role backend_last_role = BACKEND_SERVICE;

#define BACKEND_MAPPED xway_htonl(0xffff)
/* The length of a key in which all bits count. */
#define BACKEND_WHOLE (8 * (sizeof(struct backend_prefix) - sizeof(__u32)))

xway_inline const struct backend_settings *backend_find_settings(void)
{
	__u32 only = 0;

	return bpf_map_lookup_elem(&backend_settings, &only);
}

/* Whether an address is in a prefix of this role. */
xway_inline int backend_has(enum backend_role role, const __be32 address[4])
{
	struct backend_prefix key = { .length = BACKEND_WHOLE, .role = role };

	xway_memcpy(key.address, address, sizeof(key.address));
	return bpf_map_lookup_elem(&backend_prefixes, &key) != NULL;
}

#endif
