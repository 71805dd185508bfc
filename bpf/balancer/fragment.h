/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Later fragments, which have no ports, go where their first one went.
 *
 * Rule: memory is fixed; the least recently used entry is replaced.
 */
#ifndef BALANCER_FRAGMENT_H
#define BALANCER_FRAGMENT_H

#include "balancer.abi.h"

#include <xway/bpf.h>
#include <xway/parse.h>

#include "service.h"

/* Where later fragments of a packet go. */
struct fragment_key {
	__be32 source[4];
	__be32 dest[4];
	__be32 identification;
};
_Static_assert(sizeof(struct fragment_key) == 36, "no hidden padding");

struct fragment_first {
	/* Time in nanoseconds at which it is forgotten. */
	__u64 until;
	/* Hash of the flow, and the backend of the first fragment. */
	__u64 hash;
	__u32 backend;
	__u32 zero;
};
_Static_assert(sizeof(struct fragment_first) == 24, "no hidden padding");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct fragment_key);
	__type(value, struct fragment_first);
} balancer_fragments SEC(".maps");

/* For how long later fragments are expected: as Linux does (net.ipv4.ipfrag_time). */
#define BALANCER_FRAGMENTS_NS 30000000000

xway_inline void balancer_fragment_of(struct fragment_key *key,
				      const struct flow_facts *flow)
{
	xway_memcpy(key->source, flow->source, sizeof(key->source));
	xway_memcpy(key->dest, flow->dest, sizeof(key->dest));
	key->identification = flow->identification;
}

/* Remembers an entry. Verified once, and of few packets. */
xway_global int balancer_keep_first(const struct fragment_key *key, __u64 hash, __u32 backend)
{
	struct fragment_first first = {
		.until = bpf_ktime_get_ns() + BALANCER_FRAGMENTS_NS,
		.hash = hash,
		.backend = backend,
	};
	struct fragment_key own;

	if (!key)
		return 0;
	/* Linux 6.1 accepts no argument of a global function as a key. */
	own = *key;
	bpf_map_update_elem(&balancer_fragments, &own, &first, BPF_ANY);
	return 0;
}

/*
 * Keeps where a first fragment goes. No function has a pointer to the facts of a flow, which would
 * have to be in memory for each packet.
 */
xway_inline void balancer_keep(const struct flow_facts *flow, __u64 hash, __u32 backend)
{
	struct fragment_key key;

	balancer_fragment_of(&key, flow);
	balancer_keep_first(&key, hash, backend);
}

/* What the first fragment of a later one was; NULL if it is not known. */
xway_inline struct fragment_first *balancer_first(const struct flow_facts *flow)
{
	struct fragment_first *first;
	struct fragment_key key;

	balancer_fragment_of(&key, flow);
	first = bpf_map_lookup_elem(&balancer_fragments, &key);
	return first && bpf_ktime_get_ns() < first->until ? first : NULL;
}

#endif
