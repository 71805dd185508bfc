/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The extension of ICMP errors (RFC 4884): the interface that the packet came in from (RFC 5837).
 *
 * User space writes the extension of each port as it is sent. The quote before it has 128 bytes,
 * because receivers that do not know the length field look for the extension there (RFC 4884,
 * section 5.5); a shorter packet is followed by zeros.
 */
#ifndef ROUTE_EXTENSION_H
#define ROUTE_EXTENSION_H

#include "route.abi.h"

#include <xway/bpf.h>
#include <xway/frame.h>

#include "icmp.h"

/* Whether errors have extensions. */
const volatile __u32 route_icmp_extensions = 0;

#define ROUTE_EXTENDED_QUOTE 128
/* The most that a frame has to grow, by the quote of an IP header alone. */
#define ROUTE_MOST_SHIFT (ROUTE_EXTENDED_QUOTE + ROUTE_EXTENSION_WORDS * 4)

/* Words of the longest extension: with an IPv6 address and a name of 15 bytes. */
#define ROUTE_EXTENSION_WORDS 13

/* The number of words that are used, 0 for errors without extension, and these as they are sent. */
typedef __u32 route_extension[1 + ROUTE_EXTENSION_WORDS];

/*
 * Index: the number of the port that the packet came in from times two, for IPv4 errors; the next
 * one for ICMPv6 errors. User space sets the size.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, route_extension);
} route_extensions SEC(".maps");

/*
 * Makes room for the extension in an error, if its type may have one: time exceeded, and
 * destination unreachable; in IPv4 that is also the type of "too big".
 */
xway_inline void route_extend(struct icmp_error *error, __u32 index, int is_ipv6)
{
	__u32 *extension;

	if (!route_icmp_extensions || (is_ipv6 && error->sent == XWAY_SENT_TOO_BIG))
		return;
	extension = bpf_map_lookup_elem(&route_extensions, &index);
	if (!extension || !*extension || *extension > ROUTE_EXTENSION_WORDS)
		return;
	if (error->quote > ROUTE_EXTENDED_QUOTE)
		error->quote = ROUTE_EXTENDED_QUOTE;
	error->body = ROUTE_EXTENDED_QUOTE + *extension * sizeof(__u32);
	/* The length of the quote, in words of 32 or 64 bits. */
	error->rest |= is_ipv6 ? xway_htonl(ROUTE_EXTENDED_QUOTE / 8 << 24) :
				 xway_htonl(ROUTE_EXTENDED_QUOTE / 4 << 16);
}

/*
 * Completes an error with an extension: the quote, which begins `shift` bytes after the offset that
 * it must have, zeros, and the extension, at whose end the frame ends. Always 0.
 */
xway_global int route_write_extension(struct xdp_md *ctx, __u32 offset, __u32 quote, __u32 shift,
				      __u32 index)
{
	__u32 *extension = bpf_map_lookup_elem(&route_extensions, &index);
	void *end = xway_data_end(ctx);
	const __u8 *from;
	__u8 *to;

	if (!extension || offset > ROUTE_MOST_HEADERS || quote > ROUTE_EXTENDED_QUOTE ||
	    shift > ROUTE_MOST_SHIFT)
		return 0;
	to = xway_data(ctx) + offset;
	from = to + shift;
	for (__u32 i = 0; shift && i < ROUTE_EXTENDED_QUOTE; i++, from++, to++) {
		if ((void *)(from + 1) > end || (void *)(to + 1) > end)
			break;
		*to = *from;
	}
	to = xway_data(ctx) + offset + quote;
	for (__u32 i = quote; i < ROUTE_EXTENDED_QUOTE; i++, to++) {
		if ((void *)(to + 1) > end)
			return 0;
		*to = 0;
	}
	to = xway_data(ctx) + offset + ROUTE_EXTENDED_QUOTE;
	for (__u32 i = 0; i < ROUTE_EXTENSION_WORDS; i++, to += sizeof(__u32)) {
		if ((void *)(to + sizeof(__u32)) > end)
			break;
		*(__u32 *)to = extension[1 + i];
	}
	return 0;
}

#endif
