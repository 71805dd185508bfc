/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * ICMP errors that the program sends itself, instead of the stack: time exceeded, destination
 * unreachable, administratively prohibited, and packet too big. Here is what both families need;
 * the order of the steps is in answer.h.
 *
 * The error replaces the packet in its frame: headers are added at the head, and what is not quoted
 * is removed from the tail. It is what Linux sends (net/ipv4/icmp.c, net/ipv6/icmp.c) but for the
 * IPv4 identification and the IPv6 flow label. The kernel's route to the sender decides where it
 * leaves and with which source address (RFC 1812, section 4.3.2.4). It has the VLAN tags of the
 * port by which it leaves, with priority 0.
 *
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
#include "scratch.h"

/* Whether errors are sent by this program. */
const volatile __u32 route_icmp_errors = 1;

#define ROUTE_ICMP_TTL 64
/* The most that is summed: an IPv6 packet of 1280 bytes without its header. */
#define ROUTE_CHUNK 32
#define ROUTE_CHUNKS (1240 / ROUTE_CHUNK + 1)

/* Most bytes before the IP header: with two tags. */
#define ROUTE_MOST_LINK (sizeof(struct ethhdr) + 8)
/* Most bytes before the quote. */
#define ROUTE_MOST_HEADERS (ROUTE_MOST_LINK + sizeof(struct ipv6hdr) + sizeof(struct xway_icmp))

/* A verdict and its reason, as one number. */
xway_inline __u32 route_outcome(__u32 verdict, enum xway_reason reason)
{
	return verdict | reason << 8;
}

/* The message for a reason to refuse a packet; without `sent` there is none. */
struct icmp_message {
	__u8 kind;
	__u8 code;
	/* Reason under which the message is counted. */
	__u8 sent;
};

/* By reason, for each of the families. */
const struct icmp_message route_messages[2][XWAY_TTL_EXPIRED + 1] = {
	{
		[XWAY_TTL_EXPIRED] = { 11, 0, XWAY_SENT_TIME_EXCEEDED },
		[XWAY_UNREACHABLE] = { 3, 1, XWAY_SENT_UNREACHABLE },
		[XWAY_PROHIBIT] = { 3, 13, XWAY_SENT_PROHIBITED },
		[XWAY_TOO_BIG] = { 3, 4, XWAY_SENT_TOO_BIG },
	},
	{
		[XWAY_TTL_EXPIRED] = { 3, 0, XWAY_SENT_TIME_EXCEEDED },
		[XWAY_UNREACHABLE] = { 1, 0, XWAY_SENT_UNREACHABLE },
		[XWAY_PROHIBIT] = { 1, 1, XWAY_SENT_PROHIBITED },
		[XWAY_TOO_BIG] = { 2, 0, XWAY_SENT_TOO_BIG },
	},
};

/* Names the message about a packet; 0 if there is none for the reason. */
xway_inline int route_name_error(struct icmp_error *error, enum xway_reason reason, int is_ipv6)
{
	const struct icmp_message *message;

	if (reason > XWAY_TTL_EXPIRED)
		return 0;
	message = &route_messages[is_ipv6][reason];
	error->kind = message->kind;
	error->code = message->code;
	error->sent = message->sent;
	return error->sent != 0;
}

/* Type and code of ICMP are where the kernel's rules and hashes find the destination port. */
xway_inline __be16 route_type_as_port(const struct icmp_error *error)
{
	return error->kind | error->code << 8;
}

/*
 * The sum of all bytes of the frame from an offset on, folded to 16 bits. A function of its own, so
 * that what follows is verified once, not for each length.
 */
xway_global __u32 route_sum(struct xdp_md *ctx, __u32 offset)
{
	const void *end = xway_data_end(ctx), *at;
	__u64 sum = 0;

	if (offset > ROUTE_MOST_LINK + sizeof(struct ipv6hdr))
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
 * Number of the port through which the error leaves; 0 if it is not a port. That is also the one
 * that the packet came in from, if possible: a veth does not wake a peer without a program for
 * XDP_TX.
 */
xway_inline int route_find_exit(const struct xdp_md *ctx, __u32 ifindex, __u32 *number)
{
	struct xway_port *port;

	*number = route_port_of(ifindex);
	port = route_port(*number);
	if (port && port->ifindex == ifindex)
		return 1;
	*number = ROUTE_UNKNOWN_PORT;
	return !port && ifindex == ctx->ingress_ifindex;
}

/*
 * Makes a frame of the length with `head` bytes before what it has now. If it has to grow but the
 * driver has no space after it, further bytes are added before it, and what it has now begins that
 * much too late: returns the number of these bytes, or -1 if nothing was changed.
 */
xway_inline int route_resize(struct xdp_md *ctx, __u32 head, __u32 length, __u32 wanted)
{
	int more = wanted - length - head;

	if (bpf_xdp_adjust_head(ctx, -(int)head))
		return -1;
	if (!more || !bpf_xdp_adjust_tail(ctx, more))
		return 0;
	if (more > 0 && !bpf_xdp_adjust_head(ctx, -more))
		return more;
	bpf_xdp_adjust_head(ctx, head);
	return -1;
}

xway_inline void route_write_macs(struct ethhdr *eth, const struct bpf_fib_lookup *back)
{
	xway_memcpy(eth->h_dest, back->dmac, ETH_ALEN);
	xway_memcpy(eth->h_source, back->smac, ETH_ALEN);
}

#endif
