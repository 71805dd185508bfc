/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Parses packet headers from the outside in: Ethernet with VLAN tags, IPv4, IPv6 with extension
 * headers, ARP, ICMP and ICMPv6, TCP, UDP.
 *
 * Each xway_parse_*() takes one header from the cursor and returns what follows it, or -1 with the
 * reason in `fault`. It is total: any bytes have a defined outcome, and nothing outside of the
 * frame is read. A header pointer is valid until the frame is moved or resized.
 * Include the program's x.abi.h first: it declares `enum xway_reason`.
 * Not here: changing packets (csum.h), decisions about them (the programs).
 */
#ifndef XWAY_PARSE_H
#define XWAY_PARSE_H

#ifndef XWAY_REASONS
#error "include the program's x.abi.h before xway/parse.h"
#endif

#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>

#include <xway/bpf.h>
#include <xway/frame.h>

/* Legitimate traffic does not have more of either; each costs the verifier a round. */
#define XWAY_MAX_TAGS 4
#define XWAY_MAX_EXTENSIONS 8

/* Bits of the IPv4 header's frag_off: the offset in units of eight bytes, and "more fragments". */
#define XWAY_OFFSET4 0x1fff
#define XWAY_MORE4 0x2000
/* The same in an IPv6 fragment header: the offset in bytes. */
#define XWAY_OFFSET6 0xfff8
#define XWAY_MORE6 0x0001

struct xway_cursor {
	void *pos;
	void *end;
	/* The frame may continue after `end`; a constant of the entry. */
	int frags;
	/* Bytes after `pos` that belong to the IP packet by its own header, without padding. */
	__u32 left;
	__u32 tags;
	__u32 extensions;
	/* XWAY_OFFSET6 and XWAY_MORE6, also for IPv4; 0 for a complete packet. */
	__u32 fragment;
	enum xway_reason fault;
};

/* A VLAN tag after its type: priority and VLAN ID, then the type of what follows. */
struct xway_vlan {
	__be16 control;
	__be16 type;
};

/* First eight bytes of any IPv6 extension header. */
struct xway_extension {
	__u8 next;
	/*
	 * Length after the first eight bytes, in units of eight; of four for AH; reserved in a
	 * fragment.
	 */
	__u8 length;
	/*
	 * Fragment offset in units of eight, two reserved bits, more-fragments bit; only in
	 * fragments.
	 */
	__be16 offset;
	__be32 rest;
};

/* ARP for IPv4 over Ethernet (RFC 826). <linux/if_arp.h> includes headers of the C library. */
struct xway_arp {
	__be16 hardware;
	__be16 protocol;
	__u8 hardware_length;
	__u8 protocol_length;
	__be16 operation;
	__u8 sender_mac[ETH_ALEN];
	__u8 sender_ip[4];
	__u8 target_mac[ETH_ALEN];
	__u8 target_ip[4];
} __attribute__((packed));

#define XWAY_ARP_ETHERNET 1

/* ICMP and ICMPv6 (RFC 792, RFC 4443): <linux/icmp.h> includes headers of the C library. */
struct xway_icmp {
	__u8 type;
	__u8 code;
	__sum16 check;
	__be32 rest;
};

/* The first bytes of TCP, UDP, UDP-Lite, SCTP and DCCP. */
struct xway_ports {
	__be16 source;
	__be16 dest;
};

/*
 * The parser's knowledge of an IP protocol number. It is a table rather than a chain of
 * comparisons, each of which would double the paths of the verifier through the extension headers.
 */
struct xway_protocol {
	/* Unit of an extension header's length, as a shift; 0 for other protocols. */
	__u8 length_shift;
	/* 0 if the length byte has no meaning. */
	__u8 length_mask;
	/* Relevant bits of the third and fourth byte; 0 except for the fragment header. */
	__u16 fragment_mask;
	/* The header begins with source and destination port. */
	__u32 has_ports;
};

static const struct xway_protocol xway_protocols[256] = {
	[IPPROTO_HOPOPTS] = { .length_shift = 3, .length_mask = 0xff },
	[IPPROTO_ROUTING] = { .length_shift = 3, .length_mask = 0xff },
	[IPPROTO_DSTOPTS] = { .length_shift = 3, .length_mask = 0xff },
	[IPPROTO_AH] = { .length_shift = 2, .length_mask = 0xff },
	[IPPROTO_FRAGMENT] = { .length_shift = 3, .fragment_mask = XWAY_OFFSET6 | XWAY_MORE6 },
	[IPPROTO_TCP] = { .has_ports = 1 },
	[IPPROTO_UDP] = { .has_ports = 1 },
	[IPPROTO_UDPLITE] = { .has_ports = 1 },
	[IPPROTO_SCTP] = { .has_ports = 1 },
	[IPPROTO_DCCP] = { .has_ports = 1 },
};

xway_inline void xway_cursor(struct xway_cursor *cur, const struct xdp_md *ctx, int frags)
{
	*cur = (struct xway_cursor){
		.pos = xway_data(ctx),
		.end = xway_data_end(ctx),
		.frags = frags,
	};
}

xway_inline int xway_fault(struct xway_cursor *cur, enum xway_reason reason)
{
	cur->fault = reason;
	return -1;
}

/* Takes the next `size` bytes of the frame; NULL if it ends before. */
xway_inline void *xway_take(struct xway_cursor *cur, __u32 size)
{
	void *here = cur->pos;

	if (here + size > cur->end) {
		cur->fault = XWAY_TRUNCATED;
		return NULL;
	}
	cur->pos = here + size;
	return here;
}

/* Takes the next `size` bytes of an IP packet; padding after it does not count. */
xway_inline void *xway_take_inner(struct xway_cursor *cur, __u32 size)
{
	if (cur->left < size) {
		cur->fault = XWAY_TRUNCATED;
		return NULL;
	}
	cur->left -= size;
	return xway_take(cur, size);
}

/*
 * A field that a length is made from. The verifier of Linux 6.1 loses the bounds of a byte swap:
 * the mask restores them.
 */
xway_inline __u32 xway_length(__be16 field)
{
	__u32 length = xway_ntohs(field);

	xway_opaque(length);
	return length & 0xffff;
}

/*
 * Bytes from the cursor to the end of the frame; a number above any packet length if it continues.
 */
xway_inline __u32 xway_rest(const struct xway_cursor *cur)
{
	__u64 rest = cur->end - cur->pos;

	if (cur->frags)
		return 0xffff;
	xway_opaque(rest);
	return rest & 0xffff;
}

/*
 * Payload bytes of an IPv6 packet. Linux (net/ipv6/ip6_input.c) does not compare a length of zero
 * before hop-by-hop options with the frame, whether or not these contain a jumbogram's length: such
 * a packet ends where `rest` does. There are no branches, which would double the paths after them.
 */
xway_inline __u32 xway_payload6(const struct ipv6hdr *header, __u32 rest)
{
	__u64 is_open = ((__u64)(header->payload_len | header->nexthdr) - 1) >> 63;

	xway_opaque(is_open);
	return xway_length(header->payload_len) | (-is_open & rest & 0xffff);
}

xway_inline int xway_is_fragment(const struct xway_cursor *cur)
{
	return cur->fragment != 0;
}

/* Whether everything after the IP header is payload, because it is not the first fragment. */
xway_inline int xway_is_later_fragment(const struct xway_cursor *cur)
{
	return (cur->fragment & XWAY_OFFSET6) != 0;
}

xway_inline int xway_is_tag(__be16 type)
{
	return type == xway_htons(ETH_P_8021Q) || type == xway_htons(ETH_P_8021AD);
}

/* Parses Ethernet and its VLAN tags; returns the EtherType after them, or a length below 0x600. */
xway_inline int xway_parse_eth(struct xway_cursor *cur, struct ethhdr **eth)
{
	__be16 type;

	*eth = xway_take(cur, sizeof(**eth));
	if (!*eth)
		return -1;
	type = xway_eth_type(*eth);

	xway_unroll
	for (int i = 0; i < XWAY_MAX_TAGS && xway_is_tag(type); i++) {
		struct xway_vlan *tag = xway_take(cur, sizeof(*tag));

		if (!tag)
			return -1;
		type = tag->type;
		cur->tags++;
	}
	if (xway_is_tag(type))
		return xway_fault(cur, XWAY_TOO_MANY_TAGS);
	return xway_ntohs(type);
}

/* Parses IPv4 with its options; returns the protocol. */
xway_inline int xway_parse_ipv4(struct xway_cursor *cur, struct iphdr **ip)
{
	__u32 length, total, fragment;
	struct iphdr *header;

	*ip = header = xway_take(cur, sizeof(*header));
	if (!header)
		return -1;
	length = header->ihl * 4;
	total = xway_length(header->tot_len);
	if (header->version != 4 || length < sizeof(*header) || total < length)
		return xway_fault(cur, XWAY_BAD_HEADER);
	if ((void *)header + (cur->frags ? length : total) > cur->end)
		return xway_fault(cur, XWAY_TRUNCATED);

	cur->pos = (void *)header + length;
	cur->left = total - length;
	fragment = xway_ntohs(header->frag_off);
	cur->fragment = (fragment & XWAY_OFFSET4) << 3 | (fragment & XWAY_MORE4) >> 13;
	return header->protocol;
}

/*
 * Whether the packet, whose IP headers were just parsed, does not end within the frame. First sets
 * the end of an IPv6 packet that states no length (xway_payload6); `ip6` is NULL for IPv4. Only for
 * frames in several buffers: the parser already knows this of others.
 */
xway_inline int xway_is_cut(struct xdp_md *ctx, struct xway_cursor *cur, const struct ipv6hdr *ip6)
{
	__u64 at = cur->pos - xway_data(ctx), length;

	if (!cur->frags)
		return 0;
	length = bpf_xdp_get_buff_len(ctx);
	if (ip6 && !(ip6->payload_len | ip6->nexthdr))
		cur->left = length - at;
	return at + cur->left > length;
}

/* Parses one extension header; returns the protocol of what follows. */
xway_inline int xway_parse_extension(struct xway_cursor *cur, const struct xway_protocol *kind)
{
	struct xway_extension *extension = xway_take_inner(cur, sizeof(*extension));
	__u32 rest;

	if (!extension)
		return -1;
	rest = (__u32)(extension->length & kind->length_mask) << kind->length_shift;
	/* The mask only informs the verifier. */
	xway_opaque(rest);
	rest &= 0xffc;
	if (cur->left < rest)
		return xway_fault(cur, XWAY_TRUNCATED);
	cur->left -= rest;
	cur->pos += rest;
	cur->extensions++;
	cur->fragment |= xway_ntohs(extension->offset) & kind->fragment_mask;
	return extension->next;
}

/*
 * Parses IPv6 with its extension headers; returns the protocol after them. Nothing after the
 * fragment header of a later fragment is parsed: it is payload. ESP and "no next header" are
 * protocols.
 */
xway_inline int xway_parse_ipv6(struct xway_cursor *cur, struct ipv6hdr **ip)
{
	struct ipv6hdr *header;
	int next;

	*ip = header = xway_take(cur, sizeof(*header));
	if (!header)
		return -1;
	if (header->version != 6)
		return xway_fault(cur, XWAY_BAD_HEADER);
	cur->left = xway_payload6(header, xway_rest(cur));
	if (!cur->frags && cur->pos + cur->left > cur->end)
		return xway_fault(cur, XWAY_TRUNCATED);

	next = header->nexthdr;
	for (int i = 0; i <= XWAY_MAX_EXTENSIONS; i++) {
		const struct xway_protocol *kind = &xway_protocols[next & 0xff];

		if (!kind->length_shift || xway_is_later_fragment(cur))
			return next;
		if (i == XWAY_MAX_EXTENSIONS)
			break;
		next = xway_parse_extension(cur, kind);
		if (next < 0)
			return -1;
	}
	return xway_fault(cur, XWAY_TOO_MANY_EXTENSIONS);
}

/* Parses ARP for IPv4 over Ethernet; returns the operation. Other kinds of ARP are bad headers. */
xway_inline int xway_parse_arp(struct xway_cursor *cur, struct xway_arp **arp)
{
	struct xway_arp *header;

	*arp = header = xway_take(cur, sizeof(*header));
	if (!header)
		return -1;
	if (header->hardware != xway_htons(XWAY_ARP_ETHERNET) ||
	    header->protocol != xway_htons(ETH_P_IP) || header->hardware_length != ETH_ALEN ||
	    header->protocol_length != 4)
		return xway_fault(cur, XWAY_BAD_HEADER);
	return xway_ntohs(header->operation);
}

/* Parses ICMP or ICMPv6; returns the message type. */
xway_inline int xway_parse_icmp(struct xway_cursor *cur, struct xway_icmp **icmp)
{
	*icmp = xway_take_inner(cur, sizeof(**icmp));
	return *icmp ? (*icmp)->type : -1;
}

/* Parses UDP; returns the payload bytes by its header, of which a first fragment has only some. */
xway_inline int xway_parse_udp(struct xway_cursor *cur, struct udphdr **udp)
{
	__u32 room = cur->left;
	__u32 length;

	*udp = xway_take_inner(cur, sizeof(**udp));
	if (!*udp)
		return -1;
	length = xway_ntohs((*udp)->len);
	if (length < sizeof(**udp))
		return xway_fault(cur, XWAY_BAD_HEADER);
	if (length > room && !xway_is_fragment(cur))
		return xway_fault(cur, XWAY_TRUNCATED);
	return length - sizeof(**udp);
}

/* Parses TCP with its options; returns the payload bytes in this packet. */
xway_inline int xway_parse_tcp(struct xway_cursor *cur, struct tcphdr **tcp)
{
	__u32 options;

	*tcp = xway_take_inner(cur, sizeof(**tcp));
	if (!*tcp)
		return -1;
	if ((*tcp)->doff * 4 < sizeof(**tcp))
		return xway_fault(cur, XWAY_BAD_HEADER);
	options = (*tcp)->doff * 4 - sizeof(**tcp);
	if (cur->left < options)
		return xway_fault(cur, XWAY_TRUNCATED);
	cur->left -= options;
	cur->pos += options;
	return cur->left;
}

xway_inline int xway_has_ports(int protocol)
{
	return xway_protocols[protocol & 0xff].has_ports;
}

/* Parses only the ports and ignores the rest of the transport header; returns 0 or -1. */
xway_inline int xway_parse_ports(struct xway_cursor *cur, struct xway_ports **ports)
{
	*ports = xway_take_inner(cur, sizeof(**ports));
	return *ports ? 0 : -1;
}

#endif
