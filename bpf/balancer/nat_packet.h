/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What a translation needs of a packet, read again from the frame.
 *
 * It is in memory of the processor, because functions that are verified once share it. The flow
 * of an ICMP error is that of the packet that it quotes, in the other direction: then an error and
 * the packets of its sender's side are found by the same addresses and ports.
 * Positions are bytes of the frame.
 */
#ifndef NAT_PACKET_H
#define NAT_PACKET_H

#include "balancer.abi.h"

#include <xway/bpf.h>
#include <xway/parse.h>

#include "fragment.h"
#include "service.h"

/* What a packet is to its connection. */
enum nat_signal {
	NAT_SYN,
	/* SYN and ACK. */
	NAT_SYN_ACK,
	NAT_SEGMENT,
	NAT_FIN,
	NAT_RESET,
	NAT_DATAGRAM,
	NAT_ERROR,
};

/* The ends of a flow; IPv4 addresses are mapped. */
struct nat_ends {
	__be32 source[4];
	__be32 dest[4];
	__be16 source_port;
	__be16 dest_port;
};
_Static_assert(sizeof(struct nat_ends) == 36, "no hidden padding");

/* Where the fields of a packet are that a translation changes. */
struct nat_place {
	__u32 ip;
	/* Of the transport header, and of its checksum; 0 for none. */
	__u32 transport;
	__u32 check;
};

/* What later fragments become. */
struct nat_fragment {
	/* Time in nanoseconds at which it is forgotten. */
	__u64 until;
	struct nat_ends to;
	__u32 number;
};
_Static_assert(sizeof(struct nat_fragment) == 48, "no hidden padding");

/* A translated flow, as the table has it. */
struct nat_entry {
	__be32 client[4];
	__be32 service[4];
	__be32 backend[4];
	__be16 client_port;
	__be16 service_port;
	__be16 backend_port;
	__u8 protocol;
	/* A segment with FIN was sent, by each side. */
	__u8 client_ended;
	__u8 backend_ended;
	__u8 zero[3];
	/* What the client acknowledges first. */
	__u32 expected;
};
_Static_assert(sizeof(struct nat_entry) == 64, "one cache line");

struct nat_packet {
	/* As the packet came, and as it is sent. */
	struct nat_ends from;
	struct nat_ends to;
	/* Hash by the fields that the service selects, and its table: for a new flow. */
	__u64 hash;
	__u32 table;
	__u32 sequence;
	__u32 ack;
	__be32 identification;
	/* Bytes of the frame, of the IP packet, and of its transport. */
	__u32 frame;
	__u32 length;
	__u32 left;
	/* enum nat_signal */
	__u32 signal;
	/* IPPROTO_ICMP for echo of both families. */
	__u8 protocol;
	__u8 is_ipv6;
	__u8 is_later;
	__u8 is_fragment;
	__u8 is_reply;
	__u8 may_fragment;
	__u8 ttl;
	/* The stack sends it, because the MAC address of the next hop is not known. */
	__u8 is_unresolved;
	/* Of echo, in either direction. */
	__be16 identifier;
	/* Number of the backend, and the cell of the entry. */
	__u16 number;
	__u64 cell;
	/* The entry that was read last, and the index of the flow's. */
	struct nat_entry entry;
	__u32 index;
	struct nat_place place;
	/* Of the packet that an error quotes. */
	struct nat_place quoted;
	struct balancer_hop hop;
	/* The arguments of bpf_fib_lookup(), and a key and value of the map of fragments. */
	struct bpf_fib_lookup fib;
	struct fragment_key fragment_key;
	struct nat_fragment fragment;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct nat_packet);
} nat_packets SEC(".maps");

/* NULL never happens. */
xway_inline struct nat_packet *nat_packet(void)
{
	__u32 only = 0;

	return bpf_map_lookup_elem(&nat_packets, &only);
}

/* `size` bytes at a position, a constant; NULL if the frame ends before. */
xway_inline void *nat_at(struct xdp_md *ctx, __u32 at, __u32 size)
{
	void *here;

	/* The mask only informs the verifier. */
	xway_opaque(at);
	here = xway_data(ctx) + (at & 0x7fff);
	return here + size > xway_data_end(ctx) ? NULL : here;
}

/* Position of a transport's checksum after its beginning. */
xway_inline __u32 nat_check_offset(__u8 protocol)
{
	if (protocol == IPPROTO_TCP)
		return __builtin_offsetof(struct tcphdr, check);
	if (protocol == IPPROTO_UDP)
		return __builtin_offsetof(struct udphdr, check);
	return __builtin_offsetof(struct xway_icmp, check);
}

xway_inline __u32 nat_tcp_signal(const struct tcphdr *tcp)
{
	if (tcp->rst)
		return NAT_RESET;
	if (tcp->syn)
		return tcp->ack ? NAT_SYN_ACK : NAT_SYN;
	return tcp->fin ? NAT_FIN : NAT_SEGMENT;
}

/* Types of ICMP, by family: echo request and reply. */
#define NAT_REQUEST4 8
#define NAT_REPLY4 0
#define NAT_REQUEST6 128
#define NAT_REPLY6 129

/* Whether an echo goes in this direction. */
xway_inline int nat_is_echo(__u8 type, int is_ipv6, int is_reply)
{
	if (is_ipv6)
		return type == (is_reply ? NAT_REPLY6 : NAT_REQUEST6);
	return type == (is_reply ? NAT_REPLY4 : NAT_REQUEST4);
}

xway_inline int nat_is_error(__u8 type, int is_ipv6)
{
	return is_ipv6 ? type >= 1 && type <= 4 : type == 3 || type == 11 || type == 12;
}

/* The first eight bytes of a quoted transport. */
struct nat_quoted {
	__be16 words[4];
};

/* Reads the ports of a quoted packet, of which `left` bytes of transport are in the error. */
xway_inline int nat_read_quoted_ports(struct xdp_md *ctx, struct nat_packet *packet, __u8 protocol,
				      __u32 at, __u32 left)
{
	const struct nat_quoted *quoted = nat_at(ctx, at, sizeof(*quoted));
	__u32 check = nat_check_offset(protocol);

	if (!quoted || left < sizeof(*quoted))
		return -1;
	packet->quoted.transport = at;
	packet->quoted.check = left >= check + sizeof(__sum16) ? at + check : 0;
	packet->protocol = protocol;
	packet->from.source_port = quoted->words[1];
	packet->from.dest_port = quoted->words[0];
	if (protocol == IPPROTO_TCP || protocol == IPPROTO_UDP)
		return 0;
	if (protocol != (packet->is_ipv6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP))
		return -1;
	/* The quoted packet went the other way. */
	if (!nat_is_echo(*(const __u8 *)quoted, packet->is_ipv6, !packet->is_reply))
		return -1;
	packet->protocol = IPPROTO_ICMP;
	packet->from.source_port = packet->is_reply ? 0 : quoted->words[2];
	packet->from.dest_port = packet->is_reply ? quoted->words[2] : 0;
	return 0;
}

/* Reads what an error quotes; -1 if it is not a packet that can have been translated. */
xway_inline int nat_read_quote(struct xdp_md *ctx, struct nat_packet *packet)
{
	__u32 at = packet->place.transport + sizeof(struct xway_icmp), header;
	__u32 left = packet->left - sizeof(struct xway_icmp);

	packet->quoted.ip = at;
	if (packet->is_ipv6) {
		const struct ipv6hdr *ip = nat_at(ctx, at, sizeof(*ip));
		__be32 dest[4];

		if (!ip || ip->version != 6 || left < sizeof(*ip))
			return -1;
		/* An error is for the sender of what it quotes. */
		balancer_copy6(dest, &ip->saddr);
		for (int i = 0; i < 4; i++)
			if (dest[i] != packet->from.dest[i])
				return -1;
		balancer_copy6(packet->from.source, &ip->daddr);
		return nat_read_quoted_ports(ctx, packet, ip->nexthdr, at + sizeof(*ip),
					     left - sizeof(*ip));
	} else {
		const struct iphdr *ip = nat_at(ctx, at, sizeof(*ip));

		if (!ip || ip->version != 4 || ip->ihl < 5 ||
		    ip->frag_off & xway_htons(XWAY_OFFSET4) || ip->saddr != packet->from.dest[3])
			return -1;
		header = ip->ihl * 4;
		if (left < header)
			return -1;
		packet->from.source[3] = ip->daddr;
		return nat_read_quoted_ports(ctx, packet, ip->protocol, at + header, left - header);
	}
}

xway_inline int nat_read_icmp(struct xdp_md *ctx, struct nat_packet *packet)
{
	const struct xway_icmp *icmp = nat_at(ctx, packet->place.transport, sizeof(*icmp));

	if (!icmp || packet->left < sizeof(*icmp))
		return -1;
	packet->protocol = IPPROTO_ICMP;
	packet->signal = NAT_DATAGRAM;
	if (nat_is_echo(icmp->type, packet->is_ipv6, packet->is_reply)) {
		__be16 identifier = (__be16)icmp->rest;

		packet->from.source_port = packet->is_reply ? 0 : identifier;
		packet->from.dest_port = packet->is_reply ? identifier : 0;
		return 0;
	}
	if (packet->is_fragment || !nat_is_error(icmp->type, packet->is_ipv6))
		return -1;
	packet->signal = NAT_ERROR;
	return nat_read_quote(ctx, packet);
}

/* Reads a transport header; -1 if it is none that is translated. */
xway_inline int nat_read_transport(struct xdp_md *ctx, struct nat_packet *packet, int protocol)
{
	__u32 at = packet->place.transport;
	const struct xway_ports *ports;
	const struct tcphdr *tcp;

	packet->protocol = protocol;
	packet->place.check = at + nat_check_offset(protocol);
	if (protocol == IPPROTO_TCP) {
		tcp = nat_at(ctx, at, sizeof(*tcp));
		if (!tcp || packet->left < sizeof(*tcp))
			return -1;
		packet->signal = nat_tcp_signal(tcp);
		packet->sequence = xway_ntohl(tcp->seq);
		packet->ack = xway_ntohl(tcp->ack_seq);
		packet->from.source_port = tcp->source;
		packet->from.dest_port = tcp->dest;
		return 0;
	}
	if (protocol == IPPROTO_UDP) {
		ports = nat_at(ctx, at, sizeof(struct udphdr));
		if (!ports || packet->left < sizeof(struct udphdr))
			return -1;
		packet->signal = NAT_DATAGRAM;
		packet->from.source_port = ports->source;
		packet->from.dest_port = ports->dest;
		return 0;
	}
	if (protocol != (packet->is_ipv6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP))
		return -1;
	return nat_read_icmp(ctx, packet);
}

/* Reads addresses and the TTL of the IP header; 0 or -1. */
xway_inline int nat_read_ip(struct xdp_md *ctx, struct nat_packet *packet)
{
	if (packet->is_ipv6) {
		const struct ipv6hdr *ip = nat_at(ctx, packet->place.ip, sizeof(*ip));

		if (!ip)
			return -1;
		balancer_copy6(packet->from.source, &ip->saddr);
		balancer_copy6(packet->from.dest, &ip->daddr);
		packet->ttl = ip->hop_limit;
	} else {
		const struct iphdr *ip = nat_at(ctx, packet->place.ip, sizeof(*ip));

		if (!ip)
			return -1;
		balancer_map4(packet->from.source, ip->saddr);
		balancer_map4(packet->from.dest, ip->daddr);
		packet->ttl = ip->ttl;
	}
	return 0;
}

/* Bits of what is known of a packet, above its protocol; above them, the cursor's `fragment`. */
#define NAT_IS_IPV6 0x100
#define NAT_IS_REPLY 0x200
#define NAT_MAY_FRAGMENT 0x400
#define NAT_FRAGMENT_SHIFT 16

/*
 * Reads a packet whose IP header is at a position, with its transport after it: XWAY_BALANCED, or
 * why it is not translated.
 */
xway_global int nat_read(struct xdp_md *ctx, __u32 at, __u32 transport, __u32 left, __u32 known)
{
	struct nat_packet *packet = nat_packet();

	if (!packet)
		return XWAY_NO_SERVICE;
	packet->is_ipv6 = !!(known & NAT_IS_IPV6);
	packet->is_later = !!(known >> NAT_FRAGMENT_SHIFT & XWAY_OFFSET6);
	packet->is_fragment = !!(known >> NAT_FRAGMENT_SHIFT);
	packet->is_reply = !!(known & NAT_IS_REPLY);
	packet->is_unresolved = 0;
	packet->may_fragment = !!(known & NAT_MAY_FRAGMENT);
	packet->left = left;
	packet->length = transport - at + left;
	packet->place = (struct nat_place){ .ip = at, .transport = transport };
	packet->quoted = (struct nat_place){};
	packet->from.source_port = 0;
	packet->from.dest_port = 0;
	if (nat_read_ip(ctx, packet) < 0)
		return XWAY_TRUNCATED;
	if (!packet->is_later && nat_read_transport(ctx, packet, known & 0xff) < 0)
		return XWAY_NO_SERVICE;
	return XWAY_BALANCED;
}

#endif
