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

/* What a translation has replaced. */
enum nat_new {
	NAT_NEW_NOTHING = 0,
	NAT_NEW_SOURCE = 1,
	NAT_NEW_DESTINATION = 2,
};

/* Most bytes from an IP header to a checksum: IPv6 with a fragment header, and TCP. */
#define NAT_MOST_OFFSET 0x7f

/* Index of the fields of `struct nat_quote`. */
#define NAT_SOURCE 0
#define NAT_DESTINATION 1

/* What an ICMP error quotes. Offsets are from an IP header; 0 is none. */
struct nat_quote {
	/* What is known at last: whether it is translated. */
	__u32 is_translated;
	__u8 protocol;
	__u8 is_fragment;
	__u8 ports_at;
	__u8 check_at;
	/* Source and destination. */
	__be32 address[2][4];
	__be16 port[2];
	/* The address and the port that are translated, and the address of the error that is. */
	__u8 address_at;
	__u8 port_at;
	__u8 outer_at;
	struct route_target6 target;
};

/* What a translation has written over. */
struct nat_before {
	__be32 address[4];
	__be16 port;
	/* Of the IPv4 header, and of the transport. */
	__sum16 header_check;
	__sum16 check;
	/* Bytes from the IP header to the ports and to the checksum; 0 for none. */
	__u8 ports_at;
	__u8 check_at;
	enum route_side side;
};

/* An error that is to be sent, and first what it is about. */
struct icmp_error {
	/* Reason why the packet is not forwarded. */
	enum xway_reason reason;
	__u32 mtu;
	/* As in `struct route_way`. */
	__u32 arrival;
	/* Bytes of the frame. */
	__u32 length;
	/* An `enum nat_new`. */
	__u32 translated;
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

#define ROUTE_QUERY_WORDS (sizeof(struct bpf_fib_lookup) / sizeof(__u64))

/* Results of the lookup of senders that are kept, a power of two: see sender.h. */
#define ROUTE_SENDERS 64

/* The result of such a lookup. */
struct icmp_sender {
	/* As of the entries of the memory of routes. */
	__u32 generation;
	__u32 zero;
	/* The arguments of bpf_fib_lookup(), before and after it. */
	__u64 query[ROUTE_QUERY_WORDS];
	__u64 result[ROUTE_QUERY_WORDS];
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
	/* The quote of the last ICMP error that came in. */
	struct nat_quote quote;
	/* How the packet that is translated came in; the result: a reason or ROUTE_TRANSLATED. */
	__u32 arrival;
	__u32 translation;
	/* The last packet that was translated. */
	struct nat_before before;
	/* By a hash of the sender. */
	struct icmp_sender senders[ROUTE_SENDERS];
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
