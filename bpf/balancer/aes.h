/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * AES-128 of one block (FIPS 197), for QUIC connection ids.
 *
 * A column is a word whose lowest byte is row 0. An entry of a table is a column of the combined
 * SubBytes and MixColumns for a byte of row 0, twice, so that a shift gives it for another row.
 * User space computes tables and round keys. Tables take time that depends on cache lines: ids hide
 * which server a connection has, and only hosts that share a processor's cache could measure it.
 */
#ifndef BALANCER_AES_H
#define BALANCER_AES_H

#include <xway/bpf.h>

#include "quic.abi.h"

const volatile __u64 balancer_aes_forward[256] = {};
const volatile __u64 balancer_aes_backward[256] = {};
/* The inverse of SubBytes. */
const volatile __u8 balancer_aes_inverse[256] = {};

#define AES_ROUNDS 10

/* A block in columns, and one that is being made of it; both in the order of memory. */
struct aes_state {
	__u32 columns[4];
	__u32 next[4];
};

/* What a byte of a column contributes, which is in this row. */
xway_inline __u32 aes_mixed(const volatile __u64 *table, __u32 column, __u32 row)
{
	return table[column >> 8 * row & 0xff] >> (32 - 8 * row);
}

/* The same in the last round, which mixes nothing. */
xway_inline __u32 aes_substituted(__u32 column, __u32 row, int is_forward)
{
	__u32 byte = column >> 8 * row & 0xff;

	/* The second byte of a forward column is SubBytes alone. */
	if (is_forward)
		return ((__u32)balancer_aes_forward[byte] >> 8 & 0xff) << 8 * row;
	return (__u32)balancer_aes_inverse[byte] << 8 * row;
}

/*
 * A round, or the last one; rows are shifted by `step` columns. Each column ends before the next
 * one begins: the compiler would keep many of them on the stack.
 */
xway_inline void aes_round(const __u32 *keys, const __u32 *from, __u32 *to, int is_forward,
			   int is_last)
{
	const volatile __u64 *table = is_forward ? balancer_aes_forward : balancer_aes_backward;
	const __u32 step = is_forward ? 1 : 3;

	xway_unroll
	for (__u32 i = 0; i < 4; i++) {
		__u32 column = keys[i];

		xway_unroll
		for (__u32 row = 0; row < 4; row++) {
			__u32 other = from[(i + row * step) % 4];

			column ^= is_last ? aes_substituted(other, row, is_forward) :
					    aes_mixed(table, other, row);
		}
		to[i] = column;
		asm volatile("" ::: "memory");
	}
}

xway_inline void aes_rounds(const __u32 *keys, struct aes_state *state, int is_forward)
{
	xway_unroll
	for (__u32 i = 0; i < 4; i++)
		state->columns[i] ^= keys[i];
	for (__u32 round = 1; round + 1 < AES_ROUNDS; round += 2) {
		aes_round(keys + 4 * round, state->columns, state->next, is_forward, 0);
		aes_round(keys + 4 * round + 4, state->next, state->columns, is_forward, 0);
	}
	aes_round(keys + 4 * AES_ROUNDS - 4, state->columns, state->next, is_forward, 0);
	aes_round(keys + 4 * AES_ROUNDS, state->next, state->columns, is_forward, 1);
}

xway_global int balancer_encrypt(const struct quic_config *config, struct aes_state *state)
{
	if (!config || !state)
		return 0;
	aes_rounds((const __u32 *)config->keys, state, 1);
	return 0;
}

xway_global int balancer_decrypt(const struct quic_config *config, struct aes_state *state)
{
	if (!config || !state)
		return 0;
	aes_rounds((const __u32 *)config->keys, state, 0);
	return 0;
}

#endif
