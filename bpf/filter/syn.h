/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * SYN proxy: connection requests are answered here, with a cookie as sequence number, and nothing
 * is stored about them. A client that returns the cookie has proved that its address is its own.
 *
 * The cookies are the kernel's (its keys, its clock), so the connection is opened by the listener
 * itself, as if it had sent the answer: no sequence numbers are translated later on, and nothing is
 * lost when the filter is removed. A listener accepts cookies for two minutes after it made one, so
 * each cookie is made for the listener (bpf_tcp_gen_syncookie): no request has to reach the stack
 * for that, and a forged request cannot replace one. net.ipv4.tcp_syncookies must be 2.
 *
 * Window scale, selective acknowledgement and timestamps survive if the client has timestamps:
 * the kernel keeps them in the low bits of its own (net/ipv4/syncookies.c).
 * Rule: an answer is never longer than its request. An option for which the request's options
 * leave no room is omitted; IP options and extension headers are not returned.
 */
#ifndef FILTER_SYN_H
#define FILTER_SYN_H

#include "filter.abi.h"

#include <xway/bpf.h>
#include <xway/csum.h>
#include <xway/parse.h>

#include "event.h"
#include "guard.h"
#include "syn_check.h"

#define FILTER_FLAG_SYN 0x02
#define FILTER_FLAG_RST 0x04
#define FILTER_FLAG_ACK 0x10

/* Options of TCP (RFC 9293, RFC 7323, RFC 2018). */
#define FILTER_OPTION_END 0
#define FILTER_OPTION_NOP 1
#define FILTER_OPTION_MSS 2
#define FILTER_OPTION_SCALE 3
#define FILTER_OPTION_SACK 4
#define FILTER_OPTION_TIMES 8

/* The kernel's timestamp of a cookie, with the options of the client in its lowest bits. */
#define FILTER_TIME_BITS 6
#define FILTER_TIME_NO_SCALE 0xf
#define FILTER_TIME_SACK (1 << 4)
#define FILTER_TIME_ECN (1 << 5)

#define FILTER_OPTIONS_MOST 40

/* Reads the option at `at`; returns the next one, or `end` if there is none. */
xway_inline __u32 filter_read_option(const __u8 *options, __u32 at, __u32 end,
				     struct syn_request *request)
{
	__u8 kind = options[at & 63];
	__u8 length = options[(at + 1) & 63];

	if (kind == FILTER_OPTION_NOP)
		return at + 1;
	if (kind == FILTER_OPTION_END || length < 2 || at + length > end)
		return end;
	if (kind == FILTER_OPTION_SACK && length == 2)
		request->has_sack = 1;
	/* More than 14 means 14 (RFC 7323, section 2.3). */
	if (kind == FILTER_OPTION_SCALE && length == 3)
		request->scale = options[(at + 2) & 63] > 14 ? 14 : options[(at + 2) & 63];
	if (kind == FILTER_OPTION_TIMES && length == 10) {
		request->has_time = 1;
		/* In network byte order, because it is only returned. */
		request->time = options[(at + 2) & 63] | options[(at + 3) & 63] << 8 |
				options[(at + 4) & 63] << 16 |
				(__u32)options[(at + 5) & 63] << 24;
	}
	return at + length;
}

/*
 * Reads the options of a request, which have `length` bytes. A function that is verified once.
 */
xway_global int filter_read_request(const union syn_segment *segment, __u32 length,
				    struct syn_request *request)
{
	struct syn_request found = { .scale = FILTER_TIME_NO_SCALE };
	__u32 at = 0;

	if (!segment || !request)
		return 0;
	for (int i = 0; i < FILTER_OPTIONS_MOST; i++) {
		/* Otherwise the verifier would follow every sum of lengths. */
		xway_opaque(at);
		xway_opaque(found.has_time);
		xway_opaque(found.has_sack);
		xway_opaque(found.scale);
		if (at >= length)
			break;
		at = filter_read_option(segment->bytes + sizeof(segment->header), at, length,
					&found);
	}
	*request = found;
	return 0;
}

/* The kernel's timestamp for a cookie: milliseconds, with the options in the lowest bits. */
xway_inline __be32 filter_cookie_time(const struct syn_request *request, __u64 now)
{
	__u32 time = now / 1000000;
	__u32 low = request->scale | (request->has_sack ? FILTER_TIME_SACK : 0);
	__u32 marked = (time & ~((1U << FILTER_TIME_BITS) - 1)) | low;

	/* It must not be in the future. */
	return xway_htonl(marked > time ? marked - (1U << FILTER_TIME_BITS) : marked);
}

/* Lengths of options, padded to whole words: the segment size, timestamps, the window scale. */
#define FILTER_SIZE_BYTES 4
#define FILTER_TIMES_BYTES 12
#define FILTER_SCALE_BYTES 4

/*
 * Writes the options of the answer, in at most `room` bytes; returns their length. Without
 * timestamps, a cookie encodes the MSS only.
 */
xway_inline __u32 filter_write_options(__u32 *words, struct syn_request *request, __u32 room,
				       __u16 mss)
{
	__u32 length = FILTER_SIZE_BYTES + FILTER_TIMES_BYTES;

	if (room < FILTER_SIZE_BYTES)
		return 0;
	words[0] = xway_htonl(FILTER_OPTION_MSS << 24 | 4 << 16 | mss);
	if (!filter_syn.has_time || !request->has_time || room < length)
		return FILTER_SIZE_BYTES;
	if (room < length + FILTER_SCALE_BYTES)
		request->scale = FILTER_TIME_NO_SCALE;
	words[1] = xway_htonl(FILTER_OPTION_TIMES << 8 | 10);
	words[1] |= request->has_sack ?
			    xway_htonl(FILTER_OPTION_SACK << 24 | 2 << 16) :
			    xway_htonl(FILTER_OPTION_NOP << 24 | FILTER_OPTION_NOP << 16);
	words[2] = filter_cookie_time(request, bpf_ktime_get_ns());
	words[3] = request->time;
	if (request->scale == FILTER_TIME_NO_SCALE)
		return length;
	words[4] = xway_htonl(FILTER_OPTION_NOP << 24 | FILTER_OPTION_SCALE << 16 | 3 << 8 |
			      filter_syn.window_scale);
	return length + FILTER_SCALE_BYTES;
}

/* Writes the answer to the request in the desk, without its checksum; returns its length. */
xway_inline __u32 filter_write_answer(struct syn_desk *desk, __u16 mss)
{
	const struct tcphdr *asked = &desk->segment.header;
	__u32 room = desk->length - sizeof(*asked);
	__u32 length;

	filter_read_request(&desk->segment, room, &desk->request);
	length = filter_write_options(desk->answer.options, &desk->request, room, mss);
	length += sizeof(desk->answer.header);
	desk->answer.header = (struct tcphdr){
		.source = asked->dest,
		.dest = asked->source,
		.seq = xway_htonl(desk->cookie),
		.ack_seq = xway_htonl(xway_ntohl(asked->seq) + 1),
		.doff = length / 4,
		.syn = 1,
		.ack = 1,
		.window = xway_htons(0xffff),
	};
	return length;
}

/* The checksum of words in memory, whose length is a multiple of four, and of `sum`. */
xway_inline __sum16 filter_checksum(const void *words, __u32 length, __u64 sum)
{
	return ~xway_csum_fold(filter_sum(words, length, 0) + sum);
}

/*
 * Writes the answer over the request. The Ethernet header and its tags are kept, with swapped
 * addresses. The frame ends with the TCP header.
 */
xway_inline int filter_send_back(struct xdp_md *ctx, const struct filter_packet *packet,
				 struct syn_desk *desk, __u32 length)
{
	__u32 transport = packet->network + filter_ip_length(packet);
	__u8 *macs = desk->macs;

	if (bpf_xdp_load_bytes(ctx, 0, macs + 6, 6) || bpf_xdp_load_bytes(ctx, 6, macs, 6) ||
	    bpf_xdp_adjust_tail(ctx, transport + length - packet->length))
		return 0;
	return !bpf_xdp_store_bytes(ctx, 0, macs, sizeof(desk->macs)) &&
	       !bpf_xdp_store_bytes(ctx, packet->network, &desk->ip, filter_ip_length(packet)) &&
	       !bpf_xdp_store_bytes(ctx, transport, &desk->answer, length);
}

/* Replaces the header of the request by that of the answer. */
xway_inline void filter_turn_ipv4(struct iphdr *ip, __u32 length)
{
	*ip = (struct iphdr){
		.version = 4,
		.ihl = 5,
		.tot_len = xway_htons(sizeof(*ip) + length),
		.frag_off = xway_htons(0x4000),
		.ttl = 64,
		.protocol = IPPROTO_TCP,
		.saddr = ip->daddr,
		.daddr = ip->saddr,
	};
	ip->check = filter_checksum(ip, sizeof(*ip), 0);
}

/* The IPv6 header of the answer, with the traffic class and flow label of the request. */
xway_inline void filter_turn_ipv6(struct ipv6hdr *ip, __u32 length)
{
	struct in6_addr client = ip->saddr;

	ip->saddr = ip->daddr;
	ip->daddr = client;
	ip->payload_len = xway_htons(length);
	ip->nexthdr = IPPROTO_TCP;
	ip->hop_limit = 64;
}

/* Turns the request in the desk, which filter_check_request() put there, into its answer. */
static __attribute__((noinline)) int filter_answer(struct xdp_md *ctx,
						   const struct filter_packet *packet)
{
	struct syn_desk *desk = filter_find_desk();
	__u32 length;

	if (!desk)
		return 0;
	length = filter_write_answer(desk, filter_is_ipv4(packet) ? filter_syn.mss4 :
								     filter_syn.mss6);
	if (filter_is_ipv4(packet))
		filter_turn_ipv4(&desk->ip.v4, length);
	else
		filter_turn_ipv6(&desk->ip.v6, length);
	desk->answer.header.check = filter_checksum(&desk->answer, length,
						    filter_pseudo_sum(packet, &desk->ip, length));
	return filter_send_back(ctx, packet, desk, length);
}

/* The verdict about a packet for the proxy. */
xway_inline __u32 filter_proxy_verdict(struct xdp_md *ctx, const struct filter_packet *packet)
{
	int done;

	if (packet->guarded != FILTER_ANSWER)
		return XDP_DROP;
	/* The verdict of the answer, which a trial does not send. */
	if (filter_is_trial())
		return XDP_TX;
	done = filter_answer(ctx, packet);
	filter_count_event(done ? FILTER_COOKIE_SENT : FILTER_COOKIE_FAILED);
	return done ? XDP_TX : XDP_DROP;
}

/* Whether the packet has a valid cookie. */
static __attribute__((noinline)) int
filter_has_cookie(struct xdp_md *ctx, const struct filter_packet *packet, struct syn_desk *desk)
{
	struct tcphdr *tcp = &desk->segment.header;

	if (bpf_xdp_load_bytes(ctx, packet->transport, tcp, sizeof(*tcp)) ||
	    bpf_xdp_load_bytes(ctx, packet->network, &desk->ip, filter_ip_length(packet)))
		return 0;
	if (filter_is_ipv4(packet))
		return !bpf_tcp_raw_check_syncookie_ipv4(&desk->ip.v4, tcp);
	return !bpf_tcp_raw_check_syncookie_ipv6(&desk->ip.v6, tcp);
}

/* A packet for a listener of this host that belongs to no connection must have a cookie. */
xway_inline enum filter_proxy_action filter_check_cookie(struct xdp_md *ctx,
						    const struct filter_packet *packet)
{
	struct syn_desk *desk = filter_find_desk();
	int is_good;

	if (!desk || filter_socket_state(ctx, packet, &desk->tuple) != FILTER_LISTENING ||
	    !filter_is_ours(ctx, packet, desk))
		return FILTER_CONTINUE;
	is_good = filter_has_cookie(ctx, packet, desk);
	filter_count_event(is_good ? FILTER_COOKIE_GOOD : FILTER_COOKIE_BAD);
	return is_good ? FILTER_CONTINUE : FILTER_REFUSE;
}

/*
 * The treatment of a packet by a SYN proxy that is active above `above` requests per second.
 * Inlined into filter_effect(), like all checks of a request: functions that call each other share
 * 512 bytes of stack, and rules that continue are the deepest call.
 */
xway_inline enum filter_proxy_action
filter_guard_request(struct xdp_md *ctx, const struct filter_packet *packet, __u32 above)
{
	__u8 flags = packet->tcp_flags &
		     (FILTER_FLAG_SYN | FILTER_FLAG_RST | FILTER_FLAG_ACK);
	int is_request = flags == FILTER_FLAG_SYN;
	struct syn_guard *guard;
	__u64 now;

	if (!(packet->known & FILTER_TCP) || packet->known & FILTER_INSIDE ||
	    !(is_request || (flags & (FILTER_FLAG_ACK | FILTER_FLAG_RST)) == FILTER_FLAG_ACK))
		return FILTER_CONTINUE;
	now = bpf_ktime_get_ns();
	guard = filter_guard_of(packet, now, is_request);
	if (!guard)
		return FILTER_CONTINUE;
	if (is_request)
		return filter_count_request(guard, above, now) ?
			       filter_check_request(ctx, packet) :
			       FILTER_CONTINUE;
	return now < guard->until ? filter_check_cookie(ctx, packet) : FILTER_CONTINUE;
}

#endif
