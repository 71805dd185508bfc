/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * QUIC connection ids that name their backend (draft-ietf-quic-load-balancers-21).
 *
 * Only what all versions of QUIC have is read (RFC 8999): the form of the header, and in long ones
 * the lengths of the ids. An id that cannot be routed leaves the packet to the hash of its flow.
 */
#ifndef BALANCER_QUIC_H
#define BALANCER_QUIC_H

#include "balancer.abi.h"

#include <xway/bpf.h>
#include <xway/frame.h>

#include "aes.h"
#include "hop.h"

/* Index: the number of the set times QUIC_ROTATIONS, and the configuration. Set 0 is empty. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct quic_config);
} balancer_quic SEC(".maps");

/* Server ids. User space sets the size of both maps; mappable to begin on a page. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct quic_line);
} balancer_ids SEC(".maps");

/* Its type brings names into the object's BTF. */
const volatile enum quic_kind balancer_last_quic_kind = QUIC_KIND_FOUR_PASS;

#define QUIC_LONG 0x80
/* Offset of the first id's length in a long header. */
#define QUIC_LENGTH 5
/* A header begins before this offset of the frame. */
#define QUIC_MOST_AT 0x1000
/* Most bytes of server id and nonce; they follow the first octet. */
#define QUIC_MOST_LENGTH 19
/* The first octet, and two words. */
#define QUIC_WORDS_END 17
/* Above all numbers of backends: whether the id names one is not known yet. */
#define QUIC_UNDECIDED 0x10000

/* Half of an id. */
struct id_half {
	__u64 words[2];
};

/* What an id is decoded in: there is little space on the stack, which programs in a row share. */
struct id_scratch {
	/* Bytes of the id after its first octet; those that the frame does not have are 0. */
	__u8 id[32];
	/* Left and right. */
	struct id_half halves[2];
	/* What the server id is the beginning of. */
	__u64 plain[2];
	struct aes_state state;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct id_scratch);
} balancer_scratch SEC(".maps");

/* Copies an id, which begins after this number of bytes of the frame. */
xway_inline void balancer_copy_id(struct xdp_md *ctx, __u32 at, struct id_scratch *scratch)
{
	const __u8 *from = xway_data(ctx), *end = xway_data_end(ctx);

	xway_memcpy(scratch->id, &(struct id_scratch){}, sizeof(scratch->id));
	from += at + 1;
	for (__u32 i = 0; i < QUIC_MOST_LENGTH; i++) {
		if (from + i + 1 > end)
			break;
		scratch->id[i] = from[i];
	}
}

/*
 * A pass: AES of a half, zeros, the length and the number of the pass, then exclusive or with the
 * other half.
 */
xway_inline void balancer_pass(const struct quic_config *config, struct id_scratch *scratch,
			       __u32 pass)
{
	__u32 from = ~pass & 1, to = pass & 1;
	const struct id_half *half = &scratch->halves[from];
	struct id_half *other = &scratch->halves[to];
	struct aes_state *state = &scratch->state;
	__u64 last = half->words[1] | (__u64)config->length << 48 | (__u64)pass << 56;

	xway_memcpy(state->columns, &half->words[0], 8);
	xway_memcpy(state->columns + 2, &last, 8);
	balancer_encrypt(config, state);
	other->words[0] ^= state->columns[0] | (__u64)state->columns[1] << 32;
	other->words[0] &= config->halves[to];
	other->words[1] ^= state->columns[2] | (__u64)state->columns[3] << 32;
	other->words[1] &= config->ends[to];
}

/* A half of an id, from this byte on. */
xway_inline void balancer_half(const struct quic_config *config, struct id_scratch *scratch,
			       __u32 number, __u32 at)
{
	struct id_half *half = &scratch->halves[number];

	/* The mask only informs the verifier. */
	xway_opaque(at);
	at &= 0xf;
	xway_memcpy(half, scratch->id + at, sizeof(*half));
	half->words[0] &= config->halves[number];
	half->words[1] &= config->ends[number];
}

/* Four passes of AES, or three if the server id is in the left half. */
xway_global int balancer_four_passes(const struct quic_config *config, struct id_scratch *scratch)
{
	__u64 low, high;
	__u32 bits;

	if (!config || !scratch)
		return 0;
	bits = config->length / 2 * 8;
	balancer_half(config, scratch, 0, 0);
	balancer_half(config, scratch, 1, bits / 8);
	_Pragma("clang loop unroll(disable)")
	for (__u32 pass = 4; pass >= 2; pass--)
		balancer_pass(config, scratch, pass);
	scratch->plain[0] = scratch->halves[0].words[0];
	scratch->plain[1] = scratch->halves[0].words[1];
	if (config->server_id * 8 <= bits)
		return 0;
	balancer_pass(config, scratch, 1);
	low = scratch->halves[1].words[0];
	high = scratch->halves[1].words[1];
	if (bits >= 64) {
		scratch->plain[1] |= low << (bits - 64);
		return 0;
	}
	scratch->plain[0] |= low << bits;
	scratch->plain[1] |= high << bits | low >> (64 - bits);
	return 0;
}

/* Decodes an id that begins after this number of bytes of the frame. */
xway_global int balancer_decode_id(struct xdp_md *ctx, __u32 at, const struct quic_config *config,
				   struct id_scratch *scratch)
{
	if (!config || !scratch || at >= 2 * QUIC_MOST_AT)
		return 0;
	balancer_copy_id(ctx, at, scratch);
	if (config->kind == QUIC_KIND_FOUR_PASS) {
		balancer_four_passes(config, scratch);
		return 0;
	}
	if (config->kind == QUIC_KIND_ONE_PASS) {
		xway_memcpy(scratch->state.columns, scratch->id, sizeof(scratch->state.columns));
		balancer_decrypt(config, &scratch->state);
		xway_memcpy(scratch->plain, scratch->state.columns, sizeof(scratch->plain));
		return 0;
	}
	xway_memcpy(scratch->plain, scratch->id, sizeof(scratch->plain));
	return 0;
}

/*
 * The number of the backend that has the server id in these words, or BALANCER_NONE. Backends that
 * are down have none there.
 */
xway_inline __u32 balancer_of_server_id(const struct quic_config *config, __u64 low, __u64 high)
{
	__u32 index;
	const struct quic_line *line;

	low &= config->mask[0];
	high = (high & config->mask[1]) | config->cell;
	index = config->first +
		(__u32)((low * config->factors[0] + high * config->factors[1]) >> config->shift);
	line = bpf_map_lookup_elem(&balancer_ids, &index);
	if (!line)
		return BALANCER_NONE;
	xway_unroll
	for (__u32 i = 0; i < QUIC_CELLS; i++) {
		if (line->ids[2 * i] != low || line->ids[2 * i + 1] != high)
			continue;
		return line->backends[i];
	}
	return BALANCER_NONE;
}

/* With translation the program has too many paths to have this on each. */
#ifdef BALANCER_NATS
#define quic_function xway_global
#else
#define quic_function xway_inline
#endif

/*
 * As balancer_by_id(), for the most frequent packets alone: short headers, and ids that are not
 * encrypted. QUIC_UNDECIDED for others.
 */
quic_function int balancer_by_plain_id(struct xdp_md *ctx, __u32 at, __u32 left, __u32 set,
				       __u32 is_quote)
{
	const __u8 *quic = xway_data(ctx), *end = xway_data_end(ctx);
	const struct quic_config *config;
	__u64 low, high;
	__u32 index;

	if (at >= QUIC_MOST_AT || is_quote)
		return QUIC_UNDECIDED;
	quic += at;
	if (quic + 1 + QUIC_WORDS_END > end || *quic & QUIC_LONG)
		return QUIC_UNDECIDED;
	index = set * QUIC_ROTATIONS + (quic[1] >> 5);
	low = *(const __u64 *)(quic + 2);
	high = *(const __u64 *)(quic + 10);
	config = bpf_map_lookup_elem(&balancer_quic, &index);
	if (!config || left < config->plain)
		return QUIC_UNDECIDED;
	return balancer_of_server_id(config, low, high);
}

/*
 * The number of the backend that the id in a QUIC packet names, or BALANCER_NONE. `at` is the
 * offset in the frame of the payload of UDP, which has `left` bytes. A quoted packet is from the
 * server: its source id is the server's.
 */
xway_global int balancer_by_id(struct xdp_md *ctx, __u32 at, __u32 left, __u32 set, __u32 is_quote)
{
	const __u8 *quic = xway_data(ctx), *end = xway_data_end(ctx), *id;
	__u32 skip = 1, length, index;
	const struct quic_config *config;
	struct id_scratch *scratch;
	__u32 only = 0;

	if (at >= QUIC_MOST_AT)
		return BALANCER_NONE;
	quic += at;
	if (quic + 1 > end)
		return BALANCER_NONE;
	if (*quic & QUIC_LONG) {
		if (quic + QUIC_LENGTH + 1 > end)
			return BALANCER_NONE;
		length = quic[QUIC_LENGTH];
		skip = QUIC_LENGTH + 1;
		if (is_quote) {
			id = quic + skip + length;
			if (id + 1 > end)
				return BALANCER_NONE;
			skip += length + 1;
			length = *id;
		}
	} else {
		if (is_quote)
			return BALANCER_NONE;
		length = left - skip;
	}
	if (left > 0xffff || left < skip + length || left <= skip)
		return BALANCER_NONE;
	id = quic + skip;
	if (id + 1 > end)
		return BALANCER_NONE;
	index = set * QUIC_ROTATIONS + (*id >> 5);
	config = bpf_map_lookup_elem(&balancer_quic, &index);
	if (!config || length < config->least || config->kind == QUIC_KIND_NONE)
		return BALANCER_NONE;
	scratch = bpf_map_lookup_elem(&balancer_scratch, &only);
	if (!scratch)
		return BALANCER_NONE;
	balancer_decode_id(ctx, at + skip, config, scratch);
	return balancer_of_server_id(config, scratch->plain[0], scratch->plain[1]);
}

#endif
