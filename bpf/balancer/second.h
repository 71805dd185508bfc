/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Names the other backend that may have a segment, in a Geneve option: see xway/second.h.
 *
 * Only segments on slots that moved, of flows that are not remembered, have it. The frame was
 * wrapped without the option, so that other packets cost nothing for it.
 */
#ifndef BALANCER_SECOND_H
#define BALANCER_SECOND_H

#include "balancer.abi.h"

#include <xway/bpf.h>
#include <xway/csum.h>
#include <xway/parse.h>
#include <xway/second.h>

#include "hop.h"
#include "outer.h"

/* Bytes of the option. */
#define SECOND_SIZE4 (sizeof(struct xway_second) + 4)
#define SECOND_SIZE6 (sizeof(struct xway_second) + 16)
/* Bytes before the inner packet. */
#define SECOND_BEFORE                                                                              \
	(sizeof(struct ethhdr) + sizeof(struct udphdr) + sizeof(struct balancer_geneve))

/* Moves the headers of the frame to its new beginning, `size` bytes earlier. */
xway_inline void second_move(__u16 *to, __u32 headers, __u32 size)
{
	/* Not as a whole: both places overlap. */
	xway_unroll
	for (__u32 i = 0; i < headers / 2; i++)
		*(volatile __u16 *)(to + i) = *(volatile __u16 *)(to + size / 2 + i);
}

/* Writes the option, after the headers; returns its sum. */
xway_inline __u32 second_write(void *at, const __be32 *address, __u32 size)
{
	struct xway_second *head = at;
	__be32 *words = (void *)(head + 1);
	__u32 sum;

	*head = xway_second_head(size);
	sum = xway_csum_long(0, 0, *(const __be32 *)at);
	xway_unroll
	for (__u32 i = 0; i < size / 4 - 1; i++) {
		words[i] = address[i];
		sum = xway_csum_long(sum, 0, address[i]);
	}
	return sum;
}

/* The headers after IP with the option, whose sum is `sum`. */
xway_inline void second_lengthen(struct udphdr *udp, __u32 size, __u32 sum)
{
	struct balancer_geneve *geneve = (void *)(udp + 1);
	__be16 length = xway_htons((__u16)(xway_length(udp->len) + size)), options = size / 4;

	/* The length is in the pseudo header, too. */
	sum = xway_csum_word(sum, udp->len, length);
	sum = xway_csum_word(sum, udp->len, length);
	sum = xway_csum_word(sum, geneve->zero, options);
	udp->len = length;
	udp->check = xway_csum_apply_udp(udp->check, sum);
	/* The first byte. */
	geneve->zero = options;
}

xway_inline int second_add4(struct xdp_md *ctx, const struct balancer_backend *other)
{
	const __u32 headers = SECOND_BEFORE + sizeof(struct iphdr);
	struct iphdr *ip;
	__be16 total;
	void *eth;

	if (bpf_xdp_adjust_head(ctx, -(int)SECOND_SIZE4))
		return -1;
	eth = xway_data(ctx);
	ip = eth + sizeof(struct ethhdr);
	if (eth + headers + SECOND_SIZE4 > xway_data_end(ctx))
		return -1;
	second_move(eth, headers, SECOND_SIZE4);
	total = xway_htons((__u16)(xway_length(ip->tot_len) + SECOND_SIZE4));
	ip->check = xway_csum_apply(ip->check, xway_csum_word(0, ip->tot_len, total));
	ip->tot_len = total;
	second_lengthen((void *)(ip + 1), SECOND_SIZE4,
			second_write(eth + headers, other->address + 3, SECOND_SIZE4));
	return 0;
}

xway_inline int second_add6(struct xdp_md *ctx, const struct balancer_backend *other)
{
	const __u32 headers = SECOND_BEFORE + sizeof(struct ipv6hdr);
	struct ipv6hdr *ip;
	void *eth;

	if (bpf_xdp_adjust_head(ctx, -(int)SECOND_SIZE6))
		return -1;
	eth = xway_data(ctx);
	ip = eth + sizeof(struct ethhdr);
	if (eth + headers + SECOND_SIZE6 > xway_data_end(ctx))
		return -1;
	second_move(eth, headers, SECOND_SIZE6);
	ip->payload_len = xway_htons((__u16)(xway_length(ip->payload_len) + SECOND_SIZE6));
	second_lengthen((void *)(ip + 1), SECOND_SIZE6,
			second_write(eth + headers, other->address, SECOND_SIZE6));
	return 0;
}

/*
 * Names the other backend of a wrapped packet, if it is in Geneve and both backends are of one
 * family; `numbers` as in `struct packet_choice`. -1 if there is no space. Verified once, and of
 * few packets.
 */
xway_global int balancer_name_other(struct xdp_md *ctx, __u32 numbers)
{
	__u32 own = numbers & BALANCER_NONE, number = (numbers >> 16) - 1;
	const struct balancer_backend *backend = bpf_map_lookup_elem(&balancer_backends, &own);
	const struct balancer_backend *other = bpf_map_lookup_elem(&balancer_backends, &number);

	if (!backend || !other || !backend->option || backend->is_ipv6 != other->is_ipv6 ||
	    other->flags & BALANCER_DEAD)
		return 0;
	return backend->is_ipv6 ? second_add6(ctx, other) : second_add4(ctx, other);
}

#endif
