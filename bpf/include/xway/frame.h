/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The frame that XDP passes to the program: where it starts and ends, and its length.
 *
 * A program has two entries: SEC("xdp"), which every kernel and driver supports, and
 * SEC("?xdp.frags") for an MTU above one page (Linux 5.18). Both call the same functions with a
 * constant `frags`, so neither has the cost of the other. Rule: with `frags` the program sees only
 * the first buffer of a frame, so the distance to `data_end` is not the frame's length.
 */
#ifndef XWAY_FRAME_H
#define XWAY_FRAME_H

#include <xway/bpf.h>

xway_inline void *xway_data(const struct xdp_md *ctx)
{
	return (void *)(unsigned long)ctx->data;
}

xway_inline void *xway_data_end(const struct xdp_md *ctx)
{
	return (void *)(unsigned long)ctx->data_end;
}

/* Length of the whole frame, from its Ethernet header, without the frame check sequence. */
xway_inline __u64 xway_frame_bytes(struct xdp_md *ctx, int frags)
{
	if (frags)
		return bpf_xdp_get_buff_len(ctx);
	return xway_data_end(ctx) - xway_data(ctx);
}

/*
 * `struct ethhdr` is packed, so that the compiler accesses its fields byte by byte. These have the
 * accesses that the processor can do.
 */

/* The EtherType of a frame. */
xway_inline __be16 xway_eth_type(const struct ethhdr *eth)
{
	const void *at = eth;

	return *(const __be16 *)(at + 2 * ETH_ALEN);
}

/* Writes the EtherType of a frame. */
xway_inline void xway_write_eth_type(struct ethhdr *eth, __be16 type)
{
	void *at = eth;

	*(__be16 *)(at + 2 * ETH_ALEN) = type;
}

/* Writes the addresses of a frame, numbers of which the lower six bytes are used. */
xway_inline void xway_write_macs(struct ethhdr *eth, __u64 dest, __u64 source)
{
	void *at = eth;

	*(__u64 *)at = (dest & 0xffffffffffff) | source << 48;
	*(__u32 *)(at + sizeof(__u64)) = source >> 16;
}

/* Whether a frame, of which a header was checked, is sent to this address. */
xway_inline int xway_is_to(const struct ethhdr *eth, __u64 mac)
{
	const void *at = eth;

	return !((*(const __u64 *)at ^ mac) << 16);
}

/* The six bytes of a MAC address, in a number as in memory. */
xway_inline __u64 xway_mac(const __u8 *mac)
{
	return *(const __u16 *)mac | (__u64) * (const __u16 *)(mac + 2) << 16 |
	       (__u64) * (const __u16 *)(mac + 4) << 32;
}

/* Both entries of a program, whose packets `packet(ctx, frags)` decides about. */
#define XWAY_ENTRIES(name, packet)                                                                 \
	SEC("xdp")                                                                                 \
	int name(struct xdp_md *ctx)                                                               \
	{                                                                                          \
		return packet(ctx, 0);                                                             \
	}                                                                                          \
                                                                                                   \
	SEC("?xdp.frags")                                                                          \
	int name##_frags(struct xdp_md *ctx)                                                       \
	{                                                                                          \
		return packet(ctx, 1);                                                             \
	}

#endif
