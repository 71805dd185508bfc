/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Declarations shared by the redirect program and its Rust half: rules, groups of rules, the layout
 * of the socket map, and the metadata that may precede a packet to a socket.
 *
 * The socket map holds, for `queues` receive queues of the interface:
 *
 *     group 0, by queue | group 1, by queue | ... | claims, by group
 *
 * A packet that matches a rule of a group goes to the socket in the group's slot for its receive
 * queue. If that slot is empty, the next group is tried, and finally the packet goes to the stack.
 * The kernel empties the slots of a closed socket, so the rules of a dead process soon match
 * nothing. A claim is a socket that its owner holds only so that it disappears with its owner.
 * If REDIRECT_WORK_RULES is not set, there is one group without rules, and no claims.
 * Addresses are in network order, everything else in host order.
 */
#ifndef XWAY_REDIRECT_ABI_H
#define XWAY_REDIRECT_ABI_H

#include <linux/types.h>

#include <xway/reason.h>

enum xway_reason {
	XWAY_COMMON_REASONS,
};
#define XWAY_REASONS XWAY_FIRST_REASON

/* The work in addition to looking up the queue; set before the program is loaded. */
enum redirect_work {
	REDIRECT_WORK_NONE = 0,
	REDIRECT_WORK_RULES = 1,
	REDIRECT_WORK_METADATA = 2,
	REDIRECT_WORK_BOTH = 3,
};

/* Maximum number of owners of rules on one interface, and of rules of each. */
#define REDIRECT_GROUPS 16
#define REDIRECT_RULES 16

/* Differs between versions of these declarations, which cannot share an interface. */
#define REDIRECT_VERSION 1

/* Bits of redirect_fields.known. */
#define REDIRECT_KNOWN_IP 1
#define REDIRECT_KNOWN_PORTS 2

/* The fields of a packet that rules compare; unknown ones are zero. */
struct redirect_fields {
	/* IPv4 addresses are in the first word, the others are zero. */
	__be32 source[4];
	__be32 destination[4];
	/* EtherType after all VLAN tags. */
	__u16 ethertype;
	/* Protocol after all IPv6 extension headers. */
	__u8 protocol;
	__u8 known;
	__u16 source_port;
	__u16 port;
} __attribute__((aligned(8)));
_Static_assert(sizeof(struct redirect_fields) == 40, "five 64-bit words");

/* Matches if (fields & mask) == value, and both ports are in their ranges. */
struct redirect_rule {
	struct redirect_fields mask;
	struct redirect_fields value;
	/* A range as its first port and the number of further ports: 0 and 0xffff for all. */
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
	/* Constants that a process needs to share the program. */
	__u64 version;
	__u64 work;
	__u64 queues;
	/* Number of rules of each group; 0 disables the group. */
	__u64 rules[REDIRECT_GROUPS];
	struct redirect_group groups[REDIRECT_GROUPS];
};
_Static_assert(sizeof(struct redirect_state) == 152 + REDIRECT_GROUPS * REDIRECT_RULES * 88,
	       "no hidden padding");

/* Bits of redirect_metadata.valid: which fields are valid. */
#define REDIRECT_METADATA_HASH 1
#define REDIRECT_METADATA_TIMESTAMP 2
#define REDIRECT_METADATA_VLAN 4
/* With REDIRECT_METADATA_TIMESTAMP: a time of CLOCK_MONOTONIC, not of the device's clock. */
#define REDIRECT_METADATA_SOFTWARE_TIMESTAMP 8
/* With REDIRECT_METADATA_VLAN: read from a tag that is still in the packet. */
#define REDIRECT_METADATA_VLAN_INSIDE 16

#define REDIRECT_METADATA_MAGIC 0x6d796178

/*
 * With REDIRECT_WORK_METADATA: the 32 bytes directly before the packet's first byte. The other
 * fields are valid only if `magic` is REDIRECT_METADATA_MAGIC: without headroom the packet has
 * none. Frames are reused, so a reader clears `magic` before it releases a frame.
 */
struct redirect_metadata {
	/* Nanoseconds. */
	__u64 timestamp_ns;
	__u32 hash;
	/* `enum xdp_rss_hash_type`: the fields that the hash covers. */
	__u32 hash_type;
	/* Priority and VLAN ID of the outermost tag. */
	__u16 vlan_tci;
	/* 0x8100 or 0x88a8. */
	__u16 vlan_proto;
	__u32 valid;
	__u32 zero;
	__u32 magic;
};
_Static_assert(sizeof(struct redirect_metadata) == 32, "as much as every kernel takes");

#endif
