/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Reads the headers of a tunnel, from the outer transport on: IPIP, GUE, Geneve.
 *
 * A packet that is not in a tunnel which this host opens goes to the stack as it came; the stack
 * may know the tunnel.
 */
#ifndef BACKEND_TUNNEL_H
#define BACKEND_TUNNEL_H

#include "backend.abi.h"

#include <xway/bpf.h>
#include <xway/csum.h>
#include <xway/parse.h>
#include <xway/sum.h>

#include "setting.h"

/* What is known of a packet and of the tunnel that it is in. */
struct tunnel_facts {
	/* Of the outer packet; IPv4 addresses are mapped. */
	__be32 source[4];
	__be32 dest[4];
	/* Bytes before the outer IP header, and before the inner one. */
	__u32 link;
	__u32 inner;
	/* Bytes of the inner packet. */
	__u32 length;
	/* Bytes before the Geneve header; 0 without options. */
	__u32 options;
	/* Traffic class of the outer packet. */
	__u8 traffic_class;
	/* The inner packet is IPv6. */
	__u8 is_ipv6;
};

/* Geneve (RFC 8926). */
struct geneve_header {
	/* Version, and the length of options in units of four bytes. */
	__u8 options;
	__u8 flags;
	/* EtherType of what is inside. */
	__be16 protocol;
	__be32 vni;
};

#define GENEVE_OPTIONS 0x3f
/* Control packets, and options that must be known. */
#define GENEVE_FLAGS 0xc0

/* Generic UDP Encapsulation, variant 0. */
struct gue_header {
	/* Variant, control bit, and the length of optional fields in units of four bytes. */
	__u8 first;
	__u8 protocol;
	__be16 flags;
};

#define GUE_DIRECT 0x40
#define GUE_VARIANT 0xc0
#define GUE_CONTROL 0x20
#define GUE_LENGTH 0x1f

/* Whether the checksum of these bytes is wrong; `pseudo` is the sum of the pseudo header. */
xway_global int backend_is_wrong_near(struct xdp_md *ctx, __u32 at, __u32 length, __u64 pseudo)
{
	struct xway_part part = { .ctx = ctx, .at = at, .left = length, .sum = pseudo };

	return xway_sum_is_wrong(&part, 0);
}

/* As above, for frames of several buffers. */
xway_global int backend_is_wrong_far(struct xdp_md *ctx, __u32 at, __u32 length, __u64 pseudo)
{
	struct xway_part part = { .ctx = ctx, .at = at, .left = length, .sum = pseudo };

	return xway_sum_is_wrong(&part, 1);
}

/* Bytes of the frame before a position. */
xway_inline __u32 backend_offset(const struct xdp_md *ctx, const void *at)
{
	__u64 offset = at - xway_data(ctx);

	/* The compiler would subtract halves of addresses. */
	xway_opaque(offset);
	return offset;
}

/* Whether the outer checksum is wrong. None is right, also over IPv6 (RFC 6935). */
xway_inline int backend_is_wrong(struct xdp_md *ctx, const struct xway_cursor *cur,
				 const struct tunnel_facts *facts, const struct udphdr *udp)
{
	__u32 length = xway_length(udp->len), at = backend_offset(ctx, udp);
	/* The word of mapped addresses is a zero of the sum. */
	__u64 pseudo = xway_sum_pseudo(IPPROTO_UDP, length);

	if (!udp->check)
		return 0;
	for (int i = 0; i < 4; i++)
		pseudo += (__u64)facts->source[i] + facts->dest[i];
	return cur->frags ? backend_is_wrong_far(ctx, at, length, pseudo) :
			    backend_is_wrong_near(ctx, at, length, pseudo);
}

/* Whether the checksum of an IPv4 header, which is in the frame, is wrong. */
xway_inline int backend_ip_is_wrong(const struct iphdr *ip, const void *end)
{
	const __be32 *words = (const __be32 *)ip;
	__u64 sum = 0;

	for (__u32 i = 0; i < 15 && i < ip->ihl; i++) {
		if ((const void *)(words + i + 1) > end)
			return 1;
		sum += words[i];
	}
	return xway_csum_fold(sum) != 0xffff;
}

/* Skips bytes of the outer packet; -1 if it does not have them. */
xway_inline int backend_skip(struct xway_cursor *cur, __u32 bytes)
{
	xway_opaque(bytes);
	bytes &= 0xfc;
	if (cur->left < bytes)
		return -1;
	cur->left -= bytes;
	cur->pos += bytes;
	return 0;
}

/* Takes a Geneve header; the IP version inside, or 0 for what is not supported. */
xway_inline int backend_take_geneve(struct xdp_md *ctx, struct xway_cursor *cur,
				    struct tunnel_facts *facts)
{
	const struct geneve_header *geneve = xway_take_inner(cur, sizeof(*geneve));
	__u32 options;

	if (!geneve || geneve->options & ~GENEVE_OPTIONS || geneve->flags & GENEVE_FLAGS)
		return 0;
	options = (geneve->options & GENEVE_OPTIONS) * 4;
	if (options) {
		if (backend_skip(cur, options) < 0)
			return 0;
		facts->options = backend_offset(ctx, geneve);
	}
	if (geneve->protocol == xway_htons(ETH_P_IP))
		return 4;
	return geneve->protocol == xway_htons(ETH_P_IPV6) ? 6 : 0;
}

/* Takes a GUE header, of which variant 1 has none; the IP version inside, or 0. */
xway_inline int backend_take_gue(struct xway_cursor *cur)
{
	const __u8 *first = cur->pos;
	const struct gue_header *gue;

	if (!cur->left || (void *)(first + 1) > cur->end)
		return 0;
	if ((*first & GUE_VARIANT) == GUE_DIRECT)
		return *first >> 4;
	gue = xway_take_inner(cur, sizeof(*gue));
	if (!gue || gue->first & (GUE_VARIANT | GUE_CONTROL) || gue->flags)
		return 0;
	if (backend_skip(cur, (gue->first & GUE_LENGTH) * 4) < 0)
		return 0;
	if (gue->protocol == IPPROTO_IPIP)
		return 4;
	return gue->protocol == IPPROTO_IPV6 ? 6 : 0;
}

/* Takes the inner IP header, which must have this version; XWAY_OPENED if the packet is whole. */
xway_inline enum xway_reason backend_take_inner(struct xdp_md *ctx, struct xway_cursor *cur,
						struct tunnel_facts *facts, int version,
						__be32 dest[4])
{
	__u32 room = cur->left;
	const struct ipv6hdr *v6 = cur->pos;
	const struct iphdr *v4 = cur->pos;

	facts->inner = backend_offset(ctx, v4);
	if (room < sizeof(*v4) || (void *)(v4 + 1) > cur->end || v4->version != version)
		return XWAY_BAD_INNER;
	if (version == 4) {
		facts->length = xway_length(v4->tot_len);
		if (v4->ihl < 5 || facts->length < v4->ihl * 4 || facts->length > room)
			return XWAY_BAD_INNER;
		dest[0] = dest[1] = 0;
		dest[2] = BACKEND_MAPPED;
		dest[3] = v4->daddr;
		return XWAY_OPENED;
	}
	if (version != 6 || room < sizeof(*v6) || (void *)(v6 + 1) > cur->end)
		return XWAY_BAD_INNER;
	facts->length = xway_length(v6->payload_len) + sizeof(*v6);
	/* A length of zero before hop-by-hop options is that of a jumbogram. */
	if (facts->length > room || !(v6->payload_len | v6->nexthdr))
		return XWAY_BAD_INNER;
	facts->is_ipv6 = 1;
	xway_memcpy(dest, &v6->daddr, 16);
	return XWAY_OPENED;
}

/*
 * Reads the rest of an outer packet, whose IP header was parsed; XWAY_OPENED if this host opens the
 * tunnel.
 */
xway_inline enum xway_reason backend_read(struct xdp_md *ctx, struct xway_cursor *cur,
					  struct tunnel_facts *facts, int protocol)
{
	const struct backend_settings *settings = backend_find_settings();
	int version = protocol == IPPROTO_IPIP ? 4 : 6, is_geneve = 0;
	const struct udphdr *udp = NULL;
	enum xway_reason reason;
	__be32 dest[4];

	if (!settings)
		return XWAY_NO_TUNNEL;
	if (protocol == IPPROTO_UDP) {
		udp = cur->pos;
		if (xway_is_later_fragment(cur) || cur->left < sizeof(*udp) ||
		    (void *)(udp + 1) > cur->end || !udp->dest)
			return XWAY_NO_TUNNEL;
		is_geneve = udp->dest == settings->geneve_port;
		if (!is_geneve && udp->dest != settings->gue_port)
			return XWAY_NO_TUNNEL;
	} else if (protocol != IPPROTO_IPIP && protocol != IPPROTO_IPV6) {
		return XWAY_NO_TUNNEL;
	}
	if (!backend_has(BACKEND_ADDRESS, facts->dest))
		return XWAY_NOT_OWN;
	if (!backend_has(BACKEND_SOURCE, facts->source))
		return XWAY_NOT_ALLOWED;
	if (xway_is_fragment(cur))
		return XWAY_OUTER_FRAGMENT;
	if (udp) {
		__u32 length = xway_length(udp->len);

		if (length < sizeof(*udp))
			return XWAY_BAD_HEADER;
		if (length > cur->left)
			return XWAY_TRUNCATED;
		cur->left = length - sizeof(*udp);
		cur->pos += sizeof(*udp);
		version = is_geneve ? backend_take_geneve(ctx, cur, facts) : backend_take_gue(cur);
		if (!version)
			return XWAY_UNKNOWN_TUNNEL;
	}
	reason = backend_take_inner(ctx, cur, facts, version, dest);
	if (reason != XWAY_OPENED)
		return reason;
	if (!backend_has(BACKEND_SERVICE, dest))
		return XWAY_NO_SERVICE;
	return udp && backend_is_wrong(ctx, cur, facts, udp) ? XWAY_BAD_CHECKSUM : XWAY_OPENED;
}

#endif
