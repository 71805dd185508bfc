/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Packets and bytes for each pair of verdict and reason, with counters for each CPU.
 *
 * Rule: a program returns only through xway_done() or xway_done_bytes(), so that every packet is
 * counted once. User space adds the CPUs, then the pairs: by verdict or by reason.
 * Include the program's x.abi.h first: it declares `enum xway_reason`.
 */
#ifndef XWAY_STATS_H
#define XWAY_STATS_H

#ifndef XWAY_REASONS
#error "include the program's x.abi.h before xway/stats.h"
#endif

#include <xway/bpf.h>
#include <xway/frame.h>

/* XDP_ABORTED to XDP_REDIRECT. */
#define XWAY_VERDICTS 5

struct xway_count {
	__u64 packets;
	__u64 bytes;
};
_Static_assert(sizeof(struct xway_count) == 16, "counters are read as two 64-bit words");

/* Index: reason * XWAY_VERDICTS + verdict. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, XWAY_REASONS * XWAY_VERDICTS);
	__type(key, __u32);
	__type(value, struct xway_count);
} xway_stats SEC(".maps");

/* The highest reason. Its type adds the names of all reasons to the object's BTF. */
const volatile enum xway_reason xway_last_reason = XWAY_REASONS - 1;

/* As the next one, for a packet whose length was changed after it was received. */
xway_inline int xway_done_bytes(__u64 bytes, __u32 verdict, enum xway_reason reason)
{
	__u32 index = reason * XWAY_VERDICTS + verdict;
	struct xway_count *count = bpf_map_lookup_elem(&xway_stats, &index);

	if (count) {
		count->packets++;
		count->bytes += bytes;
	}
	return verdict;
}

/* Counts the packet and returns the verdict: the only exit of a program. */
xway_inline int xway_done(struct xdp_md *ctx, int frags, __u32 verdict, enum xway_reason reason)
{
	return xway_done_bytes(xway_frame_bytes(ctx, frags), verdict, reason);
}

#endif
