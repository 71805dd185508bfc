/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Declarations shared by the program that receives the answers of a scan and its Rust half: reasons
 * and records.
 */
#ifndef XWAY_ANSWER_ABI_H
#define XWAY_ANSWER_ABI_H

#include <linux/types.h>

#include <xway/reason.h>

enum xway_reason {
	XWAY_COMMON_REASONS,
	/* Not an answer to a probe of this scan's protocol, address and ports. */
	XWAY_OTHER,
	/* The target accepts connections, or answered. */
	XWAY_OPEN,
	/* The target refuses connections, or has no such port. */
	XWAY_CLOSED,
	/* A router or the target reports why the probe was not delivered. */
	XWAY_UNREACHABLE,
	/* Has the form of an answer, but not the cookie. */
	XWAY_FALSE,
	/* Another answer of the same target. */
	XWAY_DOUBLED,
	/* User space was too slow to read the record. */
	XWAY_RING_FULL,
};
#define XWAY_REASONS (XWAY_RING_FULL + 1)

/* What an answer shows. */
enum answer_state {
	ANSWER_OPEN = 1,
	ANSWER_CLOSED = 2,
	ANSWER_UNREACHABLE = 3,
};

/* A genuine answer, the first one of its target. Addresses are as in packets. */
struct answer_record {
	__u64 time_ns;
	/* The target; IPv4 is mapped into IPv6. */
	__be32 target[4];
	/* Sender of the answer: the target, or a router. */
	__be32 from[4];
	/* The target's port; 0 where the protocol has none. */
	__be16 port;
	/* enum answer_state */
	__u8 state;
	/* TTL or hop limit of the answer. */
	__u8 ttl;
	/* Of an ICMP error. */
	__u8 icmp_type;
	__u8 icmp_code;
	__u16 zero;
};
_Static_assert(sizeof(struct answer_record) == 48, "no hidden padding");

/* Which answers are expected. */
struct answer_expected {
	/* The source address of all probes. */
	__be32 source[4];
	__u32 port_count;
	__u16 first_port;
	/* Of the probes: TCP, UDP, ICMP or ICMPv6. */
	__u8 protocol;
	__u8 is_ipv6;
	/* Whether an open TCP port is reset by this program. */
	__u8 resets;
	__u8 zero[3];
	/* Number of lines of `answer_seen` less one; a power of two less one. */
	__u32 seen_mask;
};
_Static_assert(sizeof(struct answer_expected) == 32, "no hidden padding");

/* Entry of `answer_seen`: tags of targets that answered. One cache line. */
#define ANSWER_TAGS 16

#endif
