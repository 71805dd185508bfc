/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Memory of this processor for one packet at a time. It is in a map, because functions that call
 * each other, and programs of a chain, share a stack of 512 bytes; and in one map, because a
 * program can have 64.
 *
 * Rule: a query ends before the next one begins.
 */
#ifndef ROUTE_SCRATCH_H
#define ROUTE_SCRATCH_H

#include "route.abi.h"

#include <xway/bpf.h>

/* An error that is to be sent, and first what it is about. */
struct icmp_error {
	/* Reason why the packet is not forwarded. */
	enum xway_reason reason;
	__u32 mtu;
	/* As in `struct route_way`. */
	__u32 arrival;
	/* Bytes of the frame. */
	__u32 length;
	__u8 kind;
	__u8 code;
	/* Bytes of the packet that are quoted. */
	__u16 quote;
	/* Bytes after the ICMP header: the quote, or with an extension more. */
	__u32 body;
	/* The second word of the ICMP header. */
	__be32 rest;
	/* The port by which it leaves. */
	__u32 exit;
	/* The reason under which it is counted. */
	enum xway_reason sent;
};

/* Names without route_ are not shared with user space. */
struct xway_scratch {
	/* The arguments of bpf_fib_lookup(). */
	struct bpf_fib_lookup query;
	/*
	 * The error to send. What it is about is in it, too, so that the verifier follows all
	 * reasons together.
	 */
	struct icmp_error error;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct xway_scratch);
} route_scratches SEC(".maps");

/* NULL never happens. */
xway_inline struct xway_scratch *route_scratch(void)
{
	__u32 only = 0;

	return bpf_map_lookup_elem(&route_scratches, &only);
}

/* A query of this processor without any argument; NULL never happens. */
xway_inline struct bpf_fib_lookup *route_query(void)
{
	struct xway_scratch *scratch = route_scratch();

	if (!scratch)
		return NULL;
	__builtin_memset(&scratch->query, 0, sizeof(scratch->query));
	return &scratch->query;
}

#endif
