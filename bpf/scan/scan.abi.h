/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Declarations shared by the program that makes the probes of a scan and its Rust half.
 *
 * The index of a probe gives a number (scan_order), the number a target (scan_target), and the
 * target a cookie (scan_cookie). Numbers and addresses have 128 bits, in two words, the lower one
 * first; IPv4 addresses are mapped into IPv6 (RFC 4291).
 */
#ifndef XWAY_SCAN_ABI_H
#define XWAY_SCAN_ABI_H

#include <linux/types.h>

/* Rounds of the Feistel network, an even number. */
#define SCAN_ROUNDS 4

/* A keyed permutation of the numbers up to `last`. */
struct scan_order {
	__u64 keys[SCAN_ROUNDS];
	__u64 last[2];
	/* Bits of the halves of a number. */
	__u32 left_bits;
	__u32 right_bits;
};
_Static_assert(sizeof(struct scan_order) == 56, "no hidden padding");

/* How `scan_blocks`, `scan_parts` and `scan_ports` are searched. */
struct scan_space {
	/* Number of blocks. */
	__u32 blocks;
	/* Number of parts, and bits of a number within a part. */
	__u32 parts;
	__u32 part_bits;
	/* Ports of each address: at least one. */
	__u32 ports;
};
_Static_assert(sizeof(struct scan_space) == 16, "no hidden padding");

/* Addresses whose numbers follow each other. */
struct scan_block {
	/* Number of the first address. */
	__u64 rank[2];
	__u64 first[2];
	/* Hosts in each subnet; 0 where all addresses follow each other. */
	__u64 hosts;
	/* Bits of an address within a subnet. */
	__u32 shift;
	__u32 zero;
};
_Static_assert(sizeof(struct scan_block) == 48, "no hidden padding");

/* Where a probe has what varies. Offsets are from the Ethernet header; 0 for what it lacks. */
struct scan_layout {
	/* Of the IP header. */
	__u16 ip;
	/* Of the destination port, of the source port, and of 32 bits of the cookie. */
	__u16 port;
	__u16 source_port;
	__u16 cookie;
	/* Of the checksum of the transport. */
	__u16 check;
	/* The source port is one of a number of ports from the first one on. */
	__u16 first_port;
	__u32 port_count;
	/* Whether addresses are IPv6. */
	__u8 is_ipv6;
	/* Whether the checksum covers the addresses. */
	__u8 has_pseudo;
	/* Whether a checksum of zero is written as all ones, as UDP has it. */
	__u8 is_udp;
	__u8 zero;
	/* Sums of the headers without what varies, in network order. */
	__u32 ip_sum;
	__u32 sum;
	__u32 frame_bytes;
};
_Static_assert(sizeof(struct scan_layout) == 32, "no hidden padding");

/* Which indexes a thread sends, and how far it is; the last word is written by the program. */
struct scan_thread {
	/* The first index, and the distance to the next one. */
	__u64 first;
	__u64 stride;
	/* Number of its probes. */
	__u64 count;
	/* Number of those that were made. */
	__u64 made;
};
_Static_assert(sizeof(struct scan_thread) == 32, "no hidden padding");

#endif
