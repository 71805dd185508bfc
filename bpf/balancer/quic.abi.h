/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What the balancer program and its Rust half both know of QUIC connection ids
 * (draft-ietf-quic-load-balancers-21): configurations, and which backend has a server id.
 *
 * A service has a set of up to seven configurations, and the three upper bits of an id select one.
 * The configurations of a set share a range of lines, in which a hash of the server id selects one.
 */
#ifndef XWAY_BALANCER_QUIC_ABI_H
#define XWAY_BALANCER_QUIC_ABI_H

#include <linux/types.h>

/* Entries of a set in `balancer_quic`; the last one is of ids that cannot be routed. */
#define QUIC_ROTATIONS 8

/* How ids are decoded. */
enum quic_kind {
	/* There is no such configuration. */
	QUIC_KIND_NONE = 0,
	/* They are not encrypted. */
	QUIC_KIND_PLAIN = 1,
	/* One block of AES. */
	QUIC_KIND_ONE_PASS = 2,
	/* A Feistel network of four rounds. */
	QUIC_KIND_FOUR_PASS = 3,
};

struct quic_config {
	/* Bits of the first sixteen bytes after the first octet that are the server id. */
	__u64 mask[2];
	/* Of the hash that selects a line. */
	__u64 factors[2];
	/* What the last byte of a cell adds to its second word. */
	__u64 cell;
	/* First line of the set. */
	__u32 first;
	/* Bytes of the shortest packet with a short header, or all ones where ids are encrypted. */
	__u32 plain;
	/* enum quic_kind */
	__u8 kind;
	/* Bytes of the shortest id. */
	__u8 least;
	/* Bytes of server id and nonce. */
	__u8 length;
	/* Bytes of the server id. */
	__u8 server_id;
	/* By which the hash is shifted. */
	__u32 shift;
	/*
	 * Bits of the left and the right half, which share the byte in the middle if there is one:
	 * of the first eight bytes, and of the last two.
	 */
	__u64 halves[2];
	__u16 ends[2];
	__u32 zero;
	/* Round keys: for a single pass those of decryption, for four those of encryption. */
	__u64 keys[22];
};
_Static_assert(sizeof(struct quic_config) == 256, "four cache lines");

/* Server ids in a line. */
#define QUIC_CELLS 3

struct quic_line {
	/*
	 * Server ids, padded with zeros; the last byte is the number of the configuration plus one,
	 * or 0 in a cell that is not in use.
	 */
	__u64 ids[2 * QUIC_CELLS];
	/* Number of the backend. */
	__u16 backends[QUIC_CELLS];
	__u16 zero[5];
};
_Static_assert(sizeof(struct quic_line) == 64, "one cache line");

#endif
