/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What the redirect program and its Rust half both know: rules, groups of them, the socket map's
 * layout, and what may stand in front of a packet that goes to a socket.
 *
 * The socket map holds, for `queues` receive queues of the interface:
 *
 *     group 0, by queue | group 1, by queue | ... | claims, by group
 *
 * A packet that a group's rule matches goes to the socket in the group's slot for the queue that
 * it came in at. When that is empty the next group is asked, and in the end the stack. The kernel
 * empties the slots of a socket that is closed, so the rules of a dead process match nothing for
 * long; a claim is a socket that its owner holds for nothing else than to be gone with it.
 * With REDIRECT_WORK_RULES unset there is one group without rules, and no claims.
 * Addresses are in network order, all else in that of the machine.
 */
#ifndef XWAY_REDIRECT_ABI_H
#define XWAY_REDIRECT_ABI_H

#include <linux/types.h>

#include <xway/reason.h>

enum xway_reason {
	XWAY_COMMON_REASONS,
};
#define XWAY_REASONS XWAY_FIRST_REASON

/* What is done besides looking up the queue; set before the program is loaded. */
enum redirect_work {
	REDIRECT_WORK_NONE = 0,
	REDIRECT_WORK_RULES = 1,
	REDIRECT_WORK_METADATA = 2,
	REDIRECT_WORK_BOTH = 3,
};

/* Owners of rules on one interface, and rules of each. */
#define REDIRECT_GROUPS 16
#define REDIRECT_RULES 16

/* Changes with anything in this file: other versions do not share an interface. */
#define REDIRECT_VERSION 1

/* Bits of redirect_facts.known. */
#define REDIRECT_KNOWN_IP 1
#define REDIRECT_KNOWN_PORTS 2

/* A packet as rules see it; what is not known of it is zero. */
struct redirect_facts {
	/* IPv4 in the first word, the others zero. */
	__be32 source[4];
	__be32 destination[4];
	/* Behind all VLAN tags. */
	__u16 ethertype;
	/* Behind all IPv6 extension headers. */
	__u8 protocol;
	__u8 known;
	__u16 source_port;
	__u16 port;
} __attribute__((aligned(8)));
_Static_assert(sizeof(struct redirect_facts) == 40, "five 64-bit words");

/* Matches when (facts & mask) == value, and both ports lie in their ranges. */
struct redirect_rule {
	struct redirect_facts mask;
	struct redirect_facts value;
	/* A range as its first port and how many follow: 0 and 0xffff for all. */
	__u16 source_first;
	__u16 source_more;
	__u16 first;
	__u16 more;
};
_Static_assert(sizeof(struct redirect_rule) == 88, "eleven 64-bit words");

struct redirect_group {
	struct redirect_rule rules[REDIRECT_RULES];
};
_Static_assert(sizeof(struct redirect_group) == REDIRECT_RULES * 88, "no hidden padding");

/* The one element of `redirect_state`. */
struct redirect_state {
	/* What whoever joins must know; never changes. */
	__u64 version;
	__u64 work;
	__u64 queues;
	/* Of each group; 0 turns it off. */
	__u64 rules[REDIRECT_GROUPS];
	struct redirect_group groups[REDIRECT_GROUPS];
};
_Static_assert(sizeof(struct redirect_state) == 152 + REDIRECT_GROUPS * REDIRECT_RULES * 88,
	       "no hidden padding");

/* Bits of redirect_metadata.valid: which fields say something. */
#define REDIRECT_METADATA_HASH 1
#define REDIRECT_METADATA_TIMESTAMP 2
#define REDIRECT_METADATA_VLAN 4
/* With REDIRECT_METADATA_TIMESTAMP: the program's clock (CLOCK_MONOTONIC), not the device's. */
#define REDIRECT_METADATA_SOFTWARE_TIMESTAMP 8
/* With REDIRECT_METADATA_VLAN: read from a tag that is still in the packet, not taken off it. */
#define REDIRECT_METADATA_VLAN_INSIDE 16

#define REDIRECT_METADATA_MAGIC 0x6d796178

/*
 * With REDIRECT_WORK_METADATA: the 32 bytes right in front of the packet's first. All other
 * fields count only if `magic` is REDIRECT_METADATA_MAGIC: where there is no room the packet goes
 * without. Frames are used again, so a reader clears `magic` before it gives a frame back.
 */
struct redirect_metadata {
	/* Nanoseconds. */
	__u64 timestamp_ns;
	__u32 hash;
	/* `enum xdp_rss_hash_type`: what the hash covers. */
	__u32 hash_type;
	/* Priority and number of the outermost tag. */
	__u16 vlan_tci;
	/* 0x8100 or 0x88a8. */
	__u16 vlan_proto;
	__u32 valid;
	__u32 zero;
	__u32 magic;
};
_Static_assert(sizeof(struct redirect_metadata) == 32, "as much as every kernel takes");

#endif
