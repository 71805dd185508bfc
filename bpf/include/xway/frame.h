/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The frame as XDP hands it over: where it starts and ends, how long it is.
 *
 * Rule: with `xway_frags` set the program sees only the first buffer of a frame, so nothing may
 * be concluded from the distance to `data_end`.
 */
#ifndef XWAY_FRAME_H
#define XWAY_FRAME_H

#include <xway/bpf.h>

/*
 * Set before loading together with BPF_F_XDP_HAS_FRAGS (Linux 5.18), for an MTU above one page.
 * Off by default: older kernels refuse the flag, and one-buffer frames allow stricter checks.
 */
const volatile __u8 xway_frags = 0;

xway_inline void *xway_data(const struct xdp_md *ctx)
{
	return (void *)(unsigned long)ctx->data;
}

xway_inline void *xway_data_end(const struct xdp_md *ctx)
{
	return (void *)(unsigned long)ctx->data_end;
}

/* Length of the whole frame from its Ethernet header on, without frame check sequence. */
xway_inline __u64 xway_frame_bytes(struct xdp_md *ctx)
{
	if (xway_frags)
		return bpf_xdp_get_buff_len(ctx);
	return xway_data_end(ctx) - xway_data(ctx);
}

#endif
