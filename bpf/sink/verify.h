/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Checksums of a whole frame, computed again: the IPv4 header's, and those of UDP, TCP, ICMP and
 * ICMPv6.
 *
 * Not verified, and so taken as right: what stands behind more VLAN tags or IPv6 extension headers
 * than the parser takes; other protocols, and what tunnels carry; fragments (their headers are);
 * UDP without a checksum; more than SINK_VERIFIED bytes behind the IP header. IPv6's sums are over
 * the destination in its header, also where a routing header names others.
 * Wrong: what is cut short, or has a header that its protocol forbids.
 * An ICMP error quotes the packet that it is about, stamp and all, and is told apart here.
 */
#ifndef SINK_VERIFY_H
#define SINK_VERIFY_H

#include "sink.abi.h"

#include <xway/bpf.h>
#include <xway/csum.h>
#include <xway/parse.h>

/* Bytes that one call of bpf_csum_diff() takes on every kernel. */
#define SINK_CHUNK 512
#define SINK_CHUNKS (SINK_VERIFIED / SINK_CHUNK)
/* From here on a call is cheaper than adding word by word. */
#define SINK_LONG 64

/* Where a part of a frame that lies behind the first buffer is copied to, with room to pad it. */
struct xway_chunk {
	__u8 bytes[SINK_CHUNK + 4];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct xway_chunk);
} sink_chunk SEC(".maps");

/* A part of a frame, and the sum of what was taken off it. */
struct xway_part {
	struct xdp_md *ctx;
	__u32 at;
	__u32 left;
	__u64 sum;
};

/*
 * The next `size` bytes, a constant. Positions are numbers and not pointers, so that the verifier
 * sees one state behind each step and not two.
 */
xway_inline void *sink_take(struct xway_part *part, __u32 size)
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

/* These add the next bytes; 0 when they are not in the first buffer. */
xway_inline int sink_add_words(struct xway_part *part, __u32 size)
{
	__u32 *words = sink_take(part, size);

	for (__u32 i = 0; words && i < size / 4; i++)
		part->sum += words[i];
	return !!words;
}

xway_inline int sink_add_chunk(struct xway_part *part, __u32 size)
{
	void *chunk = sink_take(part, size);

	if (chunk)
		part->sum += (__u32)bpf_csum_diff(NULL, 0, chunk, size, 0);
	return !!chunk;
}

xway_inline int sink_add_odd(struct xway_part *part)
{
	__u8 *byte = sink_take(part, 1);

	if (byte)
		part->sum += *byte;
	return !!byte;
}

xway_inline int sink_add_pair(struct xway_part *part)
{
	__u16 *pair = sink_take(part, 2);

	if (pair)
		part->sum += *pair;
	return !!pair;
}

/* Adds what is left: fewer than SINK_LONG bytes. */
xway_inline void sink_add_short(struct xway_part *part)
{
	if (part->left & 32 && !sink_add_words(part, 32))
		return;
	if (part->left & 16 && !sink_add_words(part, 16))
		return;
	if (part->left & 8 && !sink_add_words(part, 8))
		return;
	if (part->left & 4 && !sink_add_words(part, 4))
		return;
	if (part->left & 2 && !sink_add_pair(part))
		return;
	if (part->left & 1)
		sink_add_odd(part);
}

/*
 * The sum of all but the last bytes, fewer than SINK_LONG; -1 when they are not in the first
 * buffer. A call, so that the verifier finds the states of all callers alike; not a global one,
 * whose context a kernel without types does not know.
 */
static __attribute__((noinline)) __s64 sink_sum_long(struct xdp_md *ctx, __u32 at, __u32 left)
{
	struct xway_part part = { .ctx = ctx, .at = at, .left = left };

	for (int i = 0; i < SINK_CHUNKS && part.left >= SINK_CHUNK; i++)
		if (!sink_add_chunk(&part, SINK_CHUNK))
			return -1;
	if (part.left & 256 && !sink_add_chunk(&part, 256))
		return -1;
	if (part.left & 128 && !sink_add_chunk(&part, 128))
		return -1;
	if (part.left & 64 && !sink_add_chunk(&part, 64))
		return -1;
	return part.sum;
}

/* Adds the next chunk, wherever in the frame it lies: the body of a bpf_loop(), 1 to end it. */
static long sink_add_next(__u32 round, struct xway_part *part)
{
	__u32 only = 0;
	struct xway_chunk *chunk = bpf_map_lookup_elem(&sink_chunk, &only);
	__u32 last = (part->left < SINK_CHUNK ? part->left : SINK_CHUNK) - 1, size;

	(void)round;
	/* The mask changes nothing but what the verifier knows: 1 to SINK_CHUNK bytes. */
	xway_opaque(last);
	size = (last & (SINK_CHUNK - 1)) + 1;
	if (!chunk || !part->left || bpf_xdp_load_bytes(part->ctx, part->at, chunk->bytes, size))
		return 1;
	__builtin_memset(chunk->bytes + size, 0, 4);
	part->sum += (__u32)bpf_csum_diff(NULL, 0, chunk->bytes, (size + 3) & ~3, 0);
	part->at += size;
	part->left -= size;
	return 0;
}

/* The sum of a part that lies anywhere in the frame; -1 when the frame ends before. */
static __attribute__((noinline)) __s64 sink_sum_anywhere(struct xdp_md *ctx, __u32 at, __u32 left)
{
	struct xway_part part = { .ctx = ctx, .at = at, .left = left };

	bpf_loop(SINK_CHUNKS, sink_add_next, &part, 0);
	return part.left ? -1 : (__s64)part.sum;
}

xway_inline int sink_is_right(const struct xway_part *part)
{
	return !part->left && xway_csum_fold(part->sum) == 0xffff;
}

/* Whether all of a part is in the first buffer. */
xway_inline int sink_is_near(const struct xway_part *part)
{
	__u32 end = part->at + part->left;

	xway_opaque(end);
	return xway_data(part->ctx) + (end & 0xffff) <= xway_data_end(part->ctx);
}

/* Whether the sum of a part, and of what was added before, is that of bytes with a checksum. */
xway_inline int sink_is_wrong(struct xway_part *part, int frags)
{
	__s64 sum = 0;

	if (part->left > SINK_VERIFIED)
		return 0;
	if (frags && !sink_is_near(part)) {
		sum = sink_sum_anywhere(part->ctx, part->at, part->left);
		part->left = 0;
	} else if (part->left >= SINK_LONG) {
		sum = sink_sum_long(part->ctx, part->at, part->left);
		part->at += part->left & ~(SINK_LONG - 1);
		part->left &= SINK_LONG - 1;
	}
	if (sum < 0)
		return 1;
	part->sum += sum;
	sink_add_short(part);
	return !sink_is_right(part);
}

/* The sum of the pseudo header but for the addresses. */
xway_inline __u64 sink_pseudo(int protocol, __u32 length)
{
	return (__u64)xway_htons(protocol) + xway_htons(length & 0xffff);
}

/* What a frame turns out to be. */
enum sink_finding {
	SINK_RIGHT,
	/* A checksum does not agree with it. */
	SINK_WRONG,
	/* It is about another frame, which it quotes. */
	SINK_QUOTE,
};

xway_inline enum sink_finding sink_finding(int wrong)
{
	return wrong ? SINK_WRONG : SINK_RIGHT;
}

/* RFC 792: unreachable, quench, redirect, time exceeded, parameter problem. RFC 4443, 2.1. */
xway_inline int sink_is_icmp_error(int protocol, int type)
{
	if (protocol == IPPROTO_ICMPV6)
		return type < 128;
	return (type >= 3 && type <= 5) || type == 11 || type == 12;
}

/*
 * What the cursor stands before; `addresses` is the sum of both. UDP says its own length, the
 * others go on to the end of the packet.
 */
xway_inline enum sink_finding sink_transport(struct xdp_md *ctx, struct xway_cursor *cur,
					     int protocol, __u64 addresses)
{
	struct xway_part part = {
		.ctx = ctx,
		.at = cur->pos - xway_data(ctx),
		.left = cur->left,
	};
	struct xway_icmp *icmp;
	struct udphdr *udp;
	int payload, type;

	if (xway_is_fragment(cur))
		return SINK_RIGHT;
	switch (protocol) {
	case IPPROTO_UDP:
		payload = xway_parse_udp(cur, &udp);
		if (payload < 0)
			return SINK_WRONG;
		if (!udp->check)
			return SINK_RIGHT;
		part.left = payload + sizeof(*udp);
		break;
	case IPPROTO_TCP:
		break;
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		type = xway_parse_icmp(cur, &icmp);
		if (type < 0)
			return SINK_WRONG;
		if (sink_is_icmp_error(protocol, type))
			return SINK_QUOTE;
		break;
	default:
		return SINK_RIGHT;
	}
	/* ICMP for IPv4 has no pseudo header. */
	if (protocol != IPPROTO_ICMP)
		part.sum = addresses + sink_pseudo(protocol, part.left);
	return sink_finding(sink_is_wrong(&part, cur->frags));
}

xway_inline enum sink_finding sink_ipv4(struct xdp_md *ctx, struct xway_cursor *cur)
{
	void *start = cur->pos;
	struct iphdr *ip;
	int protocol = xway_parse_ipv4(cur, &ip);
	struct xway_part options = { .ctx = ctx };
	__u32 *words;

	if (protocol < 0)
		return SINK_WRONG;
	words = (void *)ip;
	options.at = start - xway_data(ctx) + sizeof(*ip);
	options.left = ip->ihl * 4 - sizeof(*ip);
	options.sum = (__u64)words[0] + words[1] + words[2] + words[3] + words[4];
	if (protocol == IPPROTO_ICMPV6)
		protocol = IPPROTO_RAW;
	sink_add_short(&options);
	if (!sink_is_right(&options))
		return SINK_WRONG;
	return sink_transport(ctx, cur, protocol, (__u64)ip->saddr + ip->daddr);
}

xway_inline enum sink_finding sink_ipv6(struct xdp_md *ctx, struct xway_cursor *cur)
{
	struct ipv6hdr *ip;
	int protocol = xway_parse_ipv6(cur, &ip);
	__u64 sum = 0;

	if (protocol < 0)
		return sink_finding(cur->fault != XWAY_TOO_MANY_EXTENSIONS);
	if (protocol == IPPROTO_ICMP)
		protocol = IPPROTO_RAW;
	for (int i = 0; i < 4; i++)
		sum += (__u64)ip->saddr.s6_addr32[i] + ip->daddr.s6_addr32[i];
	return sink_transport(ctx, cur, protocol, sum);
}

xway_inline enum sink_finding sink_look(struct xdp_md *ctx, int frags)
{
	struct xway_cursor cur;
	struct ethhdr *eth;

	xway_cursor(&cur, ctx, frags);
	switch (xway_parse_eth(&cur, &eth)) {
	case ETH_P_IP:
		return sink_ipv4(ctx, &cur);
	case ETH_P_IPV6:
		return sink_ipv6(ctx, &cur);
	case -1:
		return sink_finding(cur.fault == XWAY_TRUNCATED);
	default:
		return SINK_RIGHT;
	}
}

#endif
