/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Internet checksums over the bytes of a frame, at any position.
 *
 * A part of a frame is added up to 64 bytes at a time; bytes after the first buffer are copied
 * first. Positions are numbers rather than pointers, so that the verifier sees one state after each
 * step.
 * Not here: incremental changes of a checksum (csum.h).
 */
#ifndef XWAY_SUM_H
#define XWAY_SUM_H

#include <xway/bpf.h>
#include <xway/csum.h>
#include <xway/frame.h>

/* A part with more bytes is not checked, but regarded as correct. */
#define XWAY_SUM_MOST 0x4000
/* The longest part that is summed at any position of a frame: an IP packet. */
#define XWAY_SUM_LONGEST 0x10000

/* Bytes that one call of bpf_csum_diff() accepts on every kernel. */
#define XWAY_SUM_CHUNK 512
#define XWAY_SUM_CHUNKS (XWAY_SUM_MOST / XWAY_SUM_CHUNK)
/* From this length, a call is faster than adding word by word. */
#define XWAY_SUM_LONG 64

/* Buffer for a part of a frame after the first buffer, with space to pad it. */
struct xway_chunk {
	__u8 bytes[XWAY_SUM_CHUNK + 4];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct xway_chunk);
} xway_chunks SEC(".maps");

/* A part of a frame, and the sum of the bytes that were taken from it. */
struct xway_part {
	struct xdp_md *ctx;
	__u32 at;
	__u32 left;
	__u64 sum;
};

/*
 * Takes the next `size` bytes, a constant. Positions are numbers rather than pointers, so that the
 * verifier sees one state after each step instead of two.
 */
xway_inline void *xway_sum_take(struct xway_part *part, __u32 size)
{
	__u32 at = part->at;
	void *here;

	xway_opaque(at);
	here = xway_data(part->ctx) + (at & 0x7fff);
	if (here + size > xway_data_end(part->ctx))
		return NULL;
	part->at += size;
	part->left -= size;
	return here;
}

/* These functions add the next bytes; they return 0 if these are not in the first buffer. */
xway_inline int xway_sum_add_words(struct xway_part *part, __u32 size)
{
	__u32 *words = xway_sum_take(part, size);

	for (__u32 i = 0; words && i < size / 4; i++)
		part->sum += words[i];
	return !!words;
}

xway_inline int xway_sum_add_chunk(struct xway_part *part, __u32 size)
{
	void *chunk = xway_sum_take(part, size);

	if (chunk)
		part->sum += (__u32)bpf_csum_diff(NULL, 0, chunk, size, 0);
	return !!chunk;
}

xway_inline int xway_sum_add_odd(struct xway_part *part)
{
	__u8 *byte = xway_sum_take(part, 1);

	if (byte)
		part->sum += *byte;
	return !!byte;
}

xway_inline int xway_sum_add_pair(struct xway_part *part)
{
	__u16 *pair = xway_sum_take(part, 2);

	if (pair)
		part->sum += *pair;
	return !!pair;
}

/* Adds the rest: fewer than XWAY_SUM_LONG bytes. */
xway_inline void xway_sum_add_short(struct xway_part *part)
{
	if (part->left & 32 && !xway_sum_add_words(part, 32))
		return;
	if (part->left & 16 && !xway_sum_add_words(part, 16))
		return;
	if (part->left & 8 && !xway_sum_add_words(part, 8))
		return;
	if (part->left & 4 && !xway_sum_add_words(part, 4))
		return;
	if (part->left & 2 && !xway_sum_add_pair(part))
		return;
	if (part->left & 1)
		xway_sum_add_odd(part);
}

/*
 * The sum of all but the last bytes, fewer than XWAY_SUM_LONG; -1 if they are not in the first
 * buffer. This is a function call, so that the verifier finds equal states in all callers. It is
 * not a global function, whose context a kernel without types does not know.
 */
static __attribute__((noinline)) __s64 xway_sum_long(struct xdp_md *ctx, __u32 at, __u32 left)
{
	struct xway_part part = { .ctx = ctx, .at = at, .left = left };

	for (int i = 0; i < XWAY_SUM_CHUNKS && part.left >= XWAY_SUM_CHUNK; i++)
		if (!xway_sum_add_chunk(&part, XWAY_SUM_CHUNK))
			return -1;
	if (part.left & 256 && !xway_sum_add_chunk(&part, 256))
		return -1;
	if (part.left & 128 && !xway_sum_add_chunk(&part, 128))
		return -1;
	if (part.left & 64 && !xway_sum_add_chunk(&part, 64))
		return -1;
	return part.sum;
}

/* Adds the next chunk, at any position in the frame: the body of a bpf_loop(), 1 to end it. */
static long xway_sum_add_next(__u32 round, struct xway_part *part)
{
	__u32 only = 0;
	struct xway_chunk *chunk = bpf_map_lookup_elem(&xway_chunks, &only);
	__u32 last = (part->left < XWAY_SUM_CHUNK ? part->left : XWAY_SUM_CHUNK) - 1, size;

	(void)round;
	/* The mask only informs the verifier: 1 to XWAY_SUM_CHUNK bytes. */
	xway_opaque(last);
	size = (last & (XWAY_SUM_CHUNK - 1)) + 1;
	if (!chunk || !part->left || bpf_xdp_load_bytes(part->ctx, part->at, chunk->bytes, size))
		return 1;
	__builtin_memset(chunk->bytes + size, 0, 4);
	part->sum += (__u32)bpf_csum_diff(NULL, 0, chunk->bytes, (size + 3) & ~3, 0);
	part->at += size;
	part->left -= size;
	return 0;
}

/* The sum of a part at any position of the frame; -1 if the frame ends before. */
static __attribute__((noinline)) __s64 xway_sum_anywhere(struct xdp_md *ctx, __u32 at, __u32 left)
{
	struct xway_part part = { .ctx = ctx, .at = at, .left = left };

	bpf_loop(XWAY_SUM_LONGEST / XWAY_SUM_CHUNK, xway_sum_add_next, &part, 0);
	return part.left ? -1 : (__s64)part.sum;
}

xway_inline int xway_sum_is_right(const struct xway_part *part)
{
	return !part->left && xway_csum_fold(part->sum) == 0xffff;
}

/* Whether the first buffer contains the whole part. */
xway_inline int xway_sum_is_near(const struct xway_part *part)
{
	__u32 end = part->at + part->left;

	xway_opaque(end);
	return xway_data(part->ctx) + (end & 0xffff) <= xway_data_end(part->ctx);
}

/*
 * The sum of a part and of what was added before; -1 if the part is cut, or has more than
 * XWAY_SUM_MOST bytes (XWAY_SUM_LONGEST, with `frags`).
 */
xway_inline __s64 xway_sum_of(struct xway_part *part, int frags)
{
	__s64 sum = 0;

	if (!frags && part->left > XWAY_SUM_MOST)
		return -1;
	if (frags && (part->left > XWAY_SUM_MOST || !xway_sum_is_near(part))) {
		sum = xway_sum_anywhere(part->ctx, part->at, part->left);
		part->left = 0;
	} else if (part->left >= XWAY_SUM_LONG) {
		sum = xway_sum_long(part->ctx, part->at, part->left);
		part->at += part->left & ~(XWAY_SUM_LONG - 1);
		part->left &= XWAY_SUM_LONG - 1;
	}
	if (sum < 0)
		return -1;
	part->sum += sum;
	xway_sum_add_short(part);
	return part->left ? -1 : (__s64)part->sum;
}

/*
 * Whether the sum of a part, and of what was added before, shows that the checksum in it is wrong.
 */
xway_inline int xway_sum_is_wrong(struct xway_part *part, int frags)
{
	__s64 sum;

	if (part->left > XWAY_SUM_MOST)
		return 0;
	sum = xway_sum_of(part, frags);
	return sum < 0 || xway_csum_fold(sum) != 0xffff;
}

/* The sum of the pseudo header, except for the addresses. */
xway_inline __u64 xway_sum_pseudo(int protocol, __u32 length)
{
	return (__u64)xway_htons(protocol) + xway_htons(length & 0xffff);
}

#endif
