/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The route to the sender of a packet that is answered with an ICMP error, and its memory.
 *
 * The lookup takes the kernel more time than all else of an error, because it includes the search
 * for a source address. So each processor keeps a few results, with all that the lookup was by.
 * They are valid as long as those of the memory of routes (memory.h).
 *
 * Rule: the query is in the scratch memory and has no argument that does not decide.
 */
#ifndef ROUTE_SENDER_H
#define ROUTE_SENDER_H

#include "route.abi.h"

#include <xway/bpf.h>

#include "memory.h"
#include "port.h"
#include "scratch.h"

/* Asks the kernel: 1 if it returned a way to the sender. */
xway_inline int route_ask_kernel(struct xdp_md *ctx, struct bpf_fib_lookup *back)
{
	long result;

	back->ifindex = ROUTE_LOOPBACK;
	result = bpf_fib_lookup(ctx, back, sizeof(*back), BPF_FIB_LOOKUP_SRC);
	if (result < 0 || result == BPF_FIB_LKUP_RET_FWD_DISABLED) {
		/* `lo` does not forward, or there is none: nothing was changed. */
		back->ifindex = ctx->ingress_ifindex;
		result = bpf_fib_lookup(ctx, back, sizeof(*back), BPF_FIB_LOOKUP_SRC);
	}
	return result == BPF_FIB_LKUP_RET_SUCCESS;
}

/* Where the result of the present query is kept. */
xway_inline struct icmp_sender *route_sender_of(struct xway_scratch *scratch)
{
	const __u32 *dest = scratch->query.ipv6_dst;
	__u64 low = dest[0] | (__u64)dest[1] << 32, high = dest[2] | (__u64)dest[3] << 32;
	__u64 hash = route_product(low, route_seed[0], route_seed[1]) +
		     route_product(high, route_seed[2], route_seed[3]);

	return &scratch->senders[hash >> 40 & (ROUTE_SENDERS - 1)];
}

/* The state of this processor, in which the generation is valid; NULL without a memory. */
xway_inline struct route_processor *route_present(void)
{
	__u32 processor = bpf_get_smp_processor_id();
	struct route_processor *own;

	if (!route_remembers)
		return NULL;
	own = bpf_map_lookup_elem(&route_processors, &processor);
	if (own)
		route_renew(own);
	return own;
}

/*
 * The route to the sender of the packet, as for packets that the kernel sends, and the source
 * address of the error, by the query in the scratch memory. 0 if the stack has to send it: also if
 * it is larger than the MTU, and before Linux 6.7, which cannot return the source address.
 */
xway_global int route_find_sender(struct xdp_md *ctx)
{
	struct route_processor *own = route_present();
	struct xway_scratch *scratch = route_scratch();
	struct icmp_sender *known;
	__u64 *words, differs = 0;
	__u32 generation;

	if (!scratch)
		return 0;
	scratch->query.ifindex = ctx->ingress_ifindex;
	known = route_sender_of(scratch);
	if (!own)
		return route_ask_kernel(ctx, &scratch->query);
	generation = own->generation;
	words = (__u64 *)&scratch->query;
	xway_unroll
	for (__u32 i = 0; i < ROUTE_QUERY_WORDS; i++)
		differs |= words[i] ^ known->query[i];
	if (known->generation == generation && !differs) {
		xway_memcpy(words, known->result, sizeof(known->result));
		return 1;
	}
	xway_memcpy(known->query, words, sizeof(known->query));
	if (!route_ask_kernel(ctx, &scratch->query)) {
		/* No query: the family is in this word. */
		known->query[0] = 0;
		return 0;
	}
	xway_memcpy(known->result, words, sizeof(known->result));
	known->generation = generation;
	return 1;
}

#endif
