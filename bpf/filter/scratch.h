/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Memory of this processor for one packet at a time, because the stack is small: in one map,
 * because a program can have 64, and a trial has each map of the filter twice.
 */
#ifndef FILTER_SCRATCH_H
#define FILTER_SCRATCH_H

#include "filter.abi.h"

#include <xway/bpf.h>
#include <xway/parse.h>

/* Buckets of a packet's levels, before and after. */
struct filter_found {
	__u32 line;
	__u32 number;
	__u64 tag;
	__u64 old;
	__u64 next;
};

struct filter_levels {
	struct filter_found found[FILTER_LEVELS];
};

/* Bytes of a segment that are loaded and summed together. */
#define FILTER_CHUNK 512
/* A request may carry data (TCP Fast Open); this holds the largest of a 9000-byte MTU. */
#define FILTER_CHUNKS 18

/* The options of a request. Names without filter_ are not shared with user space. */
struct syn_request {
	__u32 time;
	__u32 has_time;
	__u32 has_sack;
	/* FILTER_TIME_NO_SCALE for none. */
	__u32 scale;
};

/* An answer's TCP header, options in whole words. */
struct syn_answer {
	struct tcphdr header;
	__u32 options[5];
};
_Static_assert(sizeof(struct syn_answer) == 40, "no hidden padding");

/* An IP header, in IPv4 with its options. */
union syn_ip {
	struct iphdr v4;
	struct ipv6hdr v6;
	__u8 bytes[64];
};

/* A segment with its TCP header, or a part of it. */
union syn_segment {
	struct tcphdr header;
	__u8 bytes[FILTER_CHUNK];
	__u32 words[FILTER_CHUNK / 4];
};

/* Memory to check a request and make its answer, because the stack is too small. */
struct syn_desk {
	union syn_ip ip;
	union syn_segment segment;
	struct syn_answer answer;
	struct syn_request request;
	struct bpf_sock_tuple tuple;
	struct bpf_fib_lookup fib;
	__u8 macs[12];
	__u32 cookie;
	/* Bytes of TCP's header. */
	__u32 length;
};

/* What is for a limit, and what is for the SYN proxy. */
struct xway_scratch {
	struct filter_levels levels;
	struct syn_desk desk;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct xway_scratch);
} filter_scratches SEC(".maps");

xway_inline struct xway_scratch *filter_scratch(void)
{
	__u32 only = 0;

	return bpf_map_lookup_elem(&filter_scratches, &only);
}

xway_inline struct syn_desk *filter_find_desk(void)
{
	struct xway_scratch *scratch = filter_scratch();

	return scratch ? &scratch->desk : NULL;
}

#endif
