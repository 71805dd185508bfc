/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * VLAN tags that are not in the frame, because the receiver or the sender of a veth pair removed
 * them: by hardware offload, or as a tag that the stack keeps outside of the packet.
 *
 * A program that is bound to the device queries them (bpf_xdp_metadata_rx_vlan_tag, Linux 6.8).
 * That call requires such a program even if it is never reached, so the object does not contain it:
 * the loader replaces xway_device_tag() with it and sets `xway_asks_device` (functions::tags). The
 * loader also ensures that other programs have no such tags.
 * Not here: tags in the frame (parse.h).
 */
#ifndef XWAY_TAG_H
#define XWAY_TAG_H

#include <linux/if_ether.h>

#include <xway/bpf.h>
#include <xway/frame.h>

const volatile __u32 xway_asks_device = 0;

/* Set if there is a tag; its control information is below, its EtherType above 32 bits. */
#define XWAY_TAG_FOUND (1ULL << 16)

/* The packet's tag that is not in the frame, or 0. */
static __attribute__((noinline, unused)) __u64 xway_device_tag(struct xdp_md *ctx)
{
	__u64 tag = 0;

	asm volatile("" : "+r"(tag), "+r"(ctx) : : "memory");
	return tag;
}

xway_inline __u64 xway_stripped_tag(struct xdp_md *ctx)
{
	return xway_asks_device ? xway_device_tag(ctx) : 0;
}

/*
 * Inserts the tag into a frame that is not passed to the stack; it would be lost otherwise. Returns
 * -1 if there is no space; then the frame must not be sent.
 */
xway_inline int xway_restore_tag(struct xdp_md *ctx, __u64 tag)
{
	__u32 *words;
	__be16 *fields;

	if (bpf_xdp_adjust_head(ctx, -4))
		return -1;
	words = xway_data(ctx);
	if ((void *)(words + 4) > xway_data_end(ctx))
		return -1;
	/* Both MAC addresses. */
	words[0] = words[1];
	words[1] = words[2];
	words[2] = words[3];
	fields = (__be16 *)(words + 3);
	fields[0] = tag >> 32;
	fields[1] = xway_htons(tag & 0xffff);
	return 0;
}

#endif
