/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * ICMP errors that the program sends itself, instead of the stack: time exceeded, destination
 * unreachable, administratively prohibited, and packet too big.
 *
 * The error replaces the packet in its frame: headers are added at the head, and what is not quoted
 * is removed from the tail. It is what Linux sends (net/ipv4/icmp.c, net/ipv6/icmp.c) but for the
 * IPv4 identification and the IPv6 flow label. The kernel's route to the sender decides where it
 * leaves and with which source address (RFC 1812, section 4.3.2.4).
 *
 * Rule: until the frame is changed, whatever cannot be done here leaves the packet to the stack,
 * which then answers; errors over the limit are dropped before that.
 * Not here: packets without a route. For the kernel's lookup they are the same as those for this
 * host, so the stack answers.
 */
#ifndef ROUTE_ICMP_H
#define ROUTE_ICMP_H

#include "route.abi.h"

#include <xway/bpf.h>
#include <xway/csum.h>
#include <xway/frame.h>
#include <xway/parse.h>

#include "icmp_limit.h"
#include "port.h"

/* Whether errors are sent by this program. */
const volatile __u32 route_icmp_errors = 1;

#define ROUTE_ICMP_TTL 64
/* The most that is summed: an IPv6 packet of 1280 bytes without its header. */
#define ROUTE_CHUNK 32
#define ROUTE_CHUNKS (1240 / ROUTE_CHUNK + 1)

/* The highest offset of the ICMP header of an error: that in IPv6. */
#define ROUTE_ICMP_OFFSET (sizeof(struct ethhdr) + sizeof(struct ipv6hdr))

/* A verdict and its reason, as one number. */
xway_inline __u32 route_outcome(__u32 verdict, enum xway_reason reason)
{
	return verdict | reason << 8;
}

/* An error that is to be sent. */
struct route_error {
	__u8 type;
	__u8 code;
	/* Bytes of the packet that are quoted. */
	__u16 quote;
	/* The second word of the ICMP header. */
	__be32 rest;
	/* The reason under which it is counted. */
	enum xway_reason sent;
};

/* Type and code of ICMP are where the kernel's rules and hashes find the destination port. */
xway_inline __be16 route_type_as_port(const struct route_error *error)
{
	return error->type | error->code << 8;
}

/*
 * The sum of all bytes of the frame from an offset on, folded to 16 bits. A function of its own, so
 * that what follows is verified once, not for each length.
 */
xway_global __u32 route_sum(struct xdp_md *ctx, __u32 offset)
{
	const void *end = xway_data_end(ctx), *at;
	__u64 sum = 0;

	if (offset > ROUTE_ICMP_OFFSET)
		return 0;
	at = xway_data(ctx) + offset;
	for (int i = 0; i < ROUTE_CHUNKS; i++) {
		const __u32 *words = at;

		if ((const void *)(words + 8) > end)
			break;
		sum += (__u64)words[0] + words[1] + words[2] + words[3];
		sum += (__u64)words[4] + words[5] + words[6] + words[7];
		at += ROUTE_CHUNK;
	}
	for (int i = 0; i < ROUTE_CHUNK / 4; i++) {
		const __u32 *word = at;

		if ((const void *)(word + 1) > end)
			break;
		sum += *word;
		at += sizeof(*word);
	}
	if (at + sizeof(__u16) <= end) {
		sum += *(const __u16 *)at;
		at += sizeof(__u16);
	}
	if (at + 1 <= end)
		sum += *(const __u8 *)at;
	return xway_csum_fold(sum);
}

/*
 * The route to the sender of the packet, as for packets that the kernel sends, and the source
 * address of the error. 0 if the stack has to send it: also if it is larger than the MTU, and
 * before Linux 6.7, which cannot return the source address.
 */
xway_inline int route_find_sender(struct xdp_md *ctx, struct bpf_fib_lookup *back)
{
	long result;

	back->ifindex = ROUTE_LOOPBACK;
	result = bpf_fib_lookup(ctx, back, sizeof(*back), BPF_FIB_LOOKUP_SRC);
	if (result < 0 || result == BPF_FIB_LKUP_RET_FWD_DISABLED) {
		/* `lo` does not forward, or there is none: nothing was changed. */
		back->ifindex = ctx->ingress_ifindex;
		result = bpf_fib_lookup(ctx, back, sizeof(*back), BPF_FIB_LOOKUP_SRC);
	}
	return result == BPF_FIB_LKUP_RET_SUCCESS;
}

/*
 * Number of the port through which the error leaves; 0 if it is not a port. That is also the one
 * that the packet came in from, if possible: a veth does not wake a peer without a program for
 * XDP_TX.
 */
xway_inline int route_find_exit(const struct xdp_md *ctx, __u32 ifindex, __u32 *number)
{
	struct route_port *port;

	*number = route_port_of(ifindex);
	port = route_port(*number);
	/* Without tags, which are written to forwarded packets only. */
	if (port && port->ifindex == ifindex && !port->outer)
		return 1;
	*number = ROUTE_UNKNOWN_PORT;
	return !port && ifindex == ctx->ingress_ifindex;
}

/* Makes a frame of the length with `head` bytes before what it has now. */
xway_inline int route_resize(struct xdp_md *ctx, __u32 head, __u32 length, __u32 wanted)
{
	if (bpf_xdp_adjust_head(ctx, -(int)head))
		return -1;
	if (wanted == length + head || !bpf_xdp_adjust_tail(ctx, (int)(wanted - length - head)))
		return 0;
	bpf_xdp_adjust_head(ctx, head);
	return -1;
}

xway_inline void route_write_macs(struct ethhdr *eth, const struct bpf_fib_lookup *back)
{
	xway_memcpy(eth->h_dest, back->dmac, ETH_ALEN);
	xway_memcpy(eth->h_source, back->smac, ETH_ALEN);
}

xway_inline __u32 route_send_error(const struct route_error *error, __u32 exit)
{
	__u32 verdict = XDP_TX;

	if (exit != ROUTE_UNKNOWN_PORT)
		verdict = bpf_redirect_map(&xway_tx, exit, 0);
	return route_outcome(verdict, error->sent);
}

#endif
