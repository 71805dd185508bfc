/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * SYN proxy: connection requests are answered here, with a cookie as sequence number, and nothing
 * is remembered of them. Who returns the cookie has proved that its address is its own.
 *
 * The cookies are the kernel's (its keys, its clock), so the connection is opened by the listener
 * itself, as if it had sent the answer: no sequence numbers are translated later on, and nothing
 * is lost when the filter goes. For that the host needs net.ipv4.tcp_syncookies=2: each request
 * that the stack sees is answered with a cookie by the stack, too, and such an answer is what
 * makes a listener look for cookies, for two minutes. So one request a second goes to the stack.
 *
 * Window scale, selective acknowledgement and timestamps survive if the client has timestamps:
 * the kernel keeps them in the low bits of its own (net/ipv4/syncookies.c).
 * Rule: what cannot be answered in full (IP options, fragments, tunnels) goes on to the stack.
 */
#ifndef FILTER_SYN_H
#define FILTER_SYN_H

#include "filter.abi.h"

#include <xway/bpf.h>
#include <xway/csum.h>
#include <xway/parse.h>

#include "event.h"

/* What answers say of the listener. */
const volatile struct filter_syn filter_syn = {
	.mss4 = 1460,
	.mss6 = 1440,
	.window_scale = 7,
	.has_time = 0,
};

/* Requests to destinations, by a hash: two that meet only start the proxy earlier. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct filter_guard);
} filter_guards SEC(".maps");

/* Entries of filter_guards, less one: a power of two less one. */
const volatile __u32 filter_guard_mask;

#define FILTER_SECOND 1000000000ULL
/* The proxy goes on for so long after the last second with too many requests. */
#define FILTER_GUARD_HOLD (10 * FILTER_SECOND)

#define FILTER_FLAG_SYN 0x02
#define FILTER_FLAG_RST 0x04
#define FILTER_FLAG_ACK 0x10
/* The kernel's state of a listening socket. */
#define FILTER_LISTENING 10

/* Options of TCP (RFC 9293, RFC 7323, RFC 2018). */
#define FILTER_OPTION_END 0
#define FILTER_OPTION_NOP 1
#define FILTER_OPTION_MSS 2
#define FILTER_OPTION_SCALE 3
#define FILTER_OPTION_SACK 4
#define FILTER_OPTION_TIMES 8

/* The kernel's timestamp of a cookie: what the client asked for, in its lowest bits. */
#define FILTER_TIME_BITS 6
#define FILTER_TIME_NO_SCALE 0xf
#define FILTER_TIME_SACK (1 << 4)
#define FILTER_TIME_ECN (1 << 5)

#define FILTER_OPTIONS_MOST 40

/* A TCP header with all the options that it can have, and zeros. Not for user space: no filter_. */
struct syn_tcp {
	struct tcphdr header;
	/* A power of two, so that a mask bounds an index. */
	__u8 options[64];
};

/* What a request asks for. */
struct syn_request {
	__u32 time;
	__u32 has_time;
	__u32 has_sack;
	/* FILTER_TIME_NO_SCALE for none. */
	__u32 scale;
};

/* An answer's TCP header, options in whole words. */
struct syn_answer {
	struct tcphdr header;
	__u32 options[5];
};
_Static_assert(sizeof(struct syn_answer) == 40, "no hidden padding");

/* The fixed header in front of TCP. */
union syn_ip {
	struct iphdr v4;
	struct ipv6hdr v6;
};

/* Where an answer is made: the stack has no room for it. */
struct syn_desk {
	union syn_ip ip;
	struct syn_tcp asked;
	struct syn_answer answer;
	struct syn_request request;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct syn_desk);
} filter_desk SEC(".maps");

/* An empty one. */
xway_inline struct syn_desk *filter_clear_desk(void)
{
	__u32 only = 0;
	struct syn_desk *desk = bpf_map_lookup_elem(&filter_desk, &only);

	if (desk)
		*desk = (struct syn_desk){};
	return desk;
}

xway_inline struct filter_guard *filter_guard_of(const struct filter_packet *packet)
{
	__u64 hash = packet->dest[0] * 0x9e3779b97f4a7c15ULL;
	__u32 slot;

	hash = (hash ^ packet->dest[1]) * 0x9e3779b97f4a7c15ULL;
	hash = (hash ^ packet->dest_port) * 0x9e3779b97f4a7c15ULL;
	slot = (hash >> 32) & filter_guard_mask;
	return bpf_map_lookup_elem(&filter_guards, &slot);
}

/*
 * Counts a request; whether the proxy has to answer it. Processors may count at once: what is lost
 * of the count starts the proxy a little later.
 */
xway_inline int filter_count_request(struct filter_guard *guard, __u32 above, __u64 now)
{
	if (now - guard->second >= FILTER_SECOND) {
		guard->second = now;
		guard->requests = 0;
	}
	guard->requests++;
	if (guard->requests > above)
		guard->until = now + FILTER_GUARD_HOLD;
	if (now >= guard->until)
		return 0;
	if (now - guard->passed < FILTER_SECOND)
		return 1;
	guard->passed = now;
	return 0;
}

/* An address in network order. */
xway_inline void filter_put_ipv6(__be32 *words, const __u64 *halves)
{
	words[0] = xway_htonl((__u32)(halves[0] >> 32));
	words[1] = xway_htonl((__u32)halves[0]);
	words[2] = xway_htonl((__u32)(halves[1] >> 32));
	words[3] = xway_htonl((__u32)halves[1]);
}

/* The state of whatever socket takes this packet; 0 when there is none. */
xway_inline __u32 filter_socket_state(struct xdp_md *ctx, const struct filter_packet *packet)
{
	struct bpf_sock_tuple tuple = {};
	__u32 size = sizeof(tuple.ipv4);
	struct bpf_sock *socket;
	__u32 state;

	if (packet->known & FILTER_IPV4) {
		tuple.ipv4.saddr = xway_htonl((__u32)packet->source[1]);
		tuple.ipv4.daddr = xway_htonl((__u32)packet->dest[1]);
		tuple.ipv4.sport = xway_htons(packet->source_port);
		tuple.ipv4.dport = xway_htons(packet->dest_port);
	} else {
		filter_put_ipv6(tuple.ipv6.saddr, packet->source);
		filter_put_ipv6(tuple.ipv6.daddr, packet->dest);
		tuple.ipv6.sport = xway_htons(packet->source_port);
		tuple.ipv6.dport = xway_htons(packet->dest_port);
		size = sizeof(tuple.ipv6);
	}
	socket = bpf_skc_lookup_tcp(ctx, &tuple, size, BPF_F_CURRENT_NETNS, 0);
	if (!socket)
		return 0;
	state = socket->state;
	bpf_sk_release(socket);
	return state;
}

/* The header with its options, if the frame has all of it; its length, or 0. */
xway_inline __u32 filter_load_tcp(struct xdp_md *ctx, __u32 at, struct syn_tcp *tcp)
{
	__u32 length;

	if (bpf_xdp_load_bytes(ctx, at, &tcp->header, sizeof(tcp->header)))
		return 0;
	length = tcp->header.doff * 4;
	if (length <= sizeof(tcp->header))
		return length == sizeof(tcp->header) ? length : 0;
	length -= sizeof(tcp->header);
	xway_opaque(length);
	if (!length || length > FILTER_OPTIONS_MOST ||
	    bpf_xdp_load_bytes(ctx, at + sizeof(tcp->header), tcp->options, length))
		return 0;
	return length + sizeof(tcp->header);
}

/* One option at `at`; where the next one is. */
xway_inline __u32 filter_read_option(const __u8 *options, __u32 at, struct syn_request *request)
{
	__u8 kind = options[at & 63];
	__u8 length = options[(at + 1) & 63];

	if (kind == FILTER_OPTION_NOP)
		return at + 1;
	if (kind == FILTER_OPTION_SACK && length == 2)
		request->has_sack = 1;
	/* More than 14 means 14 (RFC 7323, section 2.3). */
	if (kind == FILTER_OPTION_SCALE && length == 3)
		request->scale = options[(at + 2) & 63] > 14 ? 14 : options[(at + 2) & 63];
	if (kind == FILTER_OPTION_TIMES && length == 10) {
		request->has_time = 1;
		/* As it stands in the packet: it is only sent back. */
		request->time = options[(at + 2) & 63] | options[(at + 3) & 63] << 8 |
				options[(at + 4) & 63] << 16 |
				(__u32)options[(at + 5) & 63] << 24;
	}
	return kind == FILTER_OPTION_END || length < 2 ? 64 : at + length;
}

/*
 * What the options of a request ask for: `length` bytes of them. A function that is verified once.
 */
xway_global int filter_read_request(const struct syn_tcp *tcp, __u32 length,
				    struct syn_request *request)
{
	struct syn_request found = { .scale = FILTER_TIME_NO_SCALE };
	__u32 at = 0;

	if (!tcp || !request)
		return 0;
	for (int i = 0; i < FILTER_OPTIONS_MOST; i++) {
		/* The verifier would follow every way in which lengths can add up. */
		xway_opaque(at);
		xway_opaque(found.has_time);
		xway_opaque(found.has_sack);
		xway_opaque(found.scale);
		if (at >= length)
			break;
		at = filter_read_option(tcp->options, at, &found);
	}
	*request = found;
	return 0;
}

/* The kernel's timestamp for a cookie: milliseconds, whose lowest bits say what was asked. */
xway_inline __be32 filter_cookie_time(const struct syn_request *request, __u64 now)
{
	__u32 time = now / 1000000;
	__u32 low = request->scale | (request->has_sack ? FILTER_TIME_SACK : 0);
	__u32 marked = (time & ~((1U << FILTER_TIME_BITS) - 1)) | low;

	/* It must not lie ahead. */
	return xway_htonl(marked > time ? marked - (1U << FILTER_TIME_BITS) : marked);
}

/* Options of the answer; their length. Without timestamps a cookie remembers the MSS alone. */
xway_inline __u32 filter_write_options(__u32 *words, const struct syn_request *request, __u16 mss,
				       __u64 now)
{
	words[0] = xway_htonl(FILTER_OPTION_MSS << 24 | 4 << 16 | mss);
	if (!filter_syn.has_time || !request->has_time)
		return 4;
	words[1] = xway_htonl(FILTER_OPTION_TIMES << 8 | 10);
	words[1] |= request->has_sack ?
			    xway_htonl(FILTER_OPTION_SACK << 24 | 2 << 16) :
			    xway_htonl(FILTER_OPTION_NOP << 24 | FILTER_OPTION_NOP << 16);
	words[2] = filter_cookie_time(request, now);
	words[3] = request->time;
	if (request->scale == FILTER_TIME_NO_SCALE)
		return 16;
	words[4] = xway_htonl(FILTER_OPTION_NOP << 24 | FILTER_OPTION_SCALE << 16 | 3 << 8 |
			      filter_syn.window_scale);
	return 20;
}

/* The answer to what was asked, without its checksum; its length. */
xway_inline __u32 filter_write_answer(struct syn_desk *desk, __u32 options, __u32 cookie, __u16 mss)
{
	const struct tcphdr *asked = &desk->asked.header;
	__u32 length;

	filter_read_request(&desk->asked, options, &desk->request);
	length = filter_write_options(desk->answer.options, &desk->request, mss,
				      bpf_ktime_get_ns());
	length += sizeof(desk->answer.header);
	desk->answer.header = (struct tcphdr){
		.source = asked->dest,
		.dest = asked->source,
		.seq = xway_htonl(cookie),
		.ack_seq = xway_htonl(xway_ntohl(asked->seq) + 1),
		.doff = length / 4,
		.syn = 1,
		.ack = 1,
		.window = xway_htons(0xffff),
	};
	return length;
}

/* A checksum over words in memory, whose length is a multiple of four, and `sum`. */
xway_inline __sum16 filter_checksum(const void *words, __u32 length, __u64 sum)
{
	return ~xway_csum_fold(bpf_csum_diff(NULL, 0, words, length, 0) + sum);
}

/* What TCP's checksum covers of the header in front, but for the addresses. */
xway_inline __u64 filter_pseudo_sum(__u32 length)
{
	return xway_htonl(length) + (__u64)xway_htonl(IPPROTO_TCP);
}

/*
 * Makes room for the answer, and puts it in. The Ethernet header and its tags stay, the addresses
 * change places. The frame's end is where TCP's is.
 */
xway_inline int filter_send_back(struct xdp_md *ctx, const struct filter_packet *packet,
				 const struct syn_answer *answer, __u32 length)
{
	__u8 macs[12];

	if (bpf_xdp_adjust_tail(ctx, packet->transport + length - packet->length) ||
	    bpf_xdp_load_bytes(ctx, 0, macs + 6, 6) || bpf_xdp_load_bytes(ctx, 6, macs, 6) ||
	    bpf_xdp_store_bytes(ctx, 0, macs, 12) ||
	    bpf_xdp_store_bytes(ctx, packet->transport, answer, length))
		return 0;
	return 1;
}

/* The header of the answer instead of that of the request; the sum of its addresses. */
xway_inline __u64 filter_turn_ipv4(struct iphdr *ip, __u32 length)
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
	return (__u64)ip->saddr + ip->daddr;
}

/* The same; traffic class and flow label stay. */
xway_inline __u64 filter_turn_ipv6(struct ipv6hdr *ip, __u32 length)
{
	struct in6_addr client = ip->saddr;

	ip->saddr = ip->daddr;
	ip->daddr = client;
	ip->payload_len = xway_htons(length);
	ip->hop_limit = 64;
	return (__u32)bpf_csum_diff(NULL, 0, &ip->saddr, 32, 0);
}

/* Bytes of IP's fixed header: packets that have more of it are not for the proxy. */
xway_inline __u32 filter_ip_length(const struct filter_packet *packet)
{
	return packet->known & FILTER_IPV4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr);
}

static __attribute__((noinline)) int filter_answer(struct xdp_md *ctx,
						   const struct filter_packet *packet)
{
	struct syn_desk *desk = filter_clear_desk();
	__u32 length = desk ? filter_load_tcp(ctx, packet->transport, &desk->asked) : 0;
	int is_ipv4 = packet->known & FILTER_IPV4;
	union syn_ip *ip;
	__s64 cookie;
	__u64 sum;

	if (!desk || !length)
		return 0;
	ip = &desk->ip;
	if (bpf_xdp_load_bytes(ctx, packet->network, ip, filter_ip_length(packet)))
		return 0;
	cookie = is_ipv4 ? bpf_tcp_raw_gen_syncookie_ipv4(&ip->v4, &desk->asked.header, length) :
			   bpf_tcp_raw_gen_syncookie_ipv6(&ip->v6, &desk->asked.header, length);
	if (cookie < 0)
		return 0;
	length = filter_write_answer(desk, length - sizeof(struct tcphdr), cookie,
				     is_ipv4 ? filter_syn.mss4 : filter_syn.mss6);
	sum = is_ipv4 ? filter_turn_ipv4(&ip->v4, length) : filter_turn_ipv6(&ip->v6, length);
	sum += filter_pseudo_sum(length);
	desk->answer.header.check = filter_checksum(&desk->answer, length, sum);
	return filter_send_back(ctx, packet, &desk->answer, length) &&
	       !bpf_xdp_store_bytes(ctx, packet->network, ip, filter_ip_length(packet));
}

/* The verdict on a packet that is for the proxy. */
xway_inline __u32 filter_proxy_verdict(struct xdp_md *ctx, const struct filter_packet *packet)
{
	int done;

	if (packet->guarded != FILTER_ANSWER)
		return XDP_DROP;
	done = filter_answer(ctx, packet);
	filter_count_event(done ? FILTER_COOKIE_SENT : FILTER_COOKIE_FAILED);
	return done ? XDP_TX : XDP_DROP;
}

/* Whether this is the right answer to a cookie. */
static __attribute__((noinline)) int filter_has_cookie(struct xdp_md *ctx,
						       const struct filter_packet *packet)
{
	struct syn_desk *desk;
	struct tcphdr *tcp;
	__u32 only = 0;

	desk = bpf_map_lookup_elem(&filter_desk, &only);
	if (!desk)
		return 0;
	tcp = &desk->asked.header;
	if (bpf_xdp_load_bytes(ctx, packet->transport, tcp, sizeof(*tcp)) ||
	    bpf_xdp_load_bytes(ctx, packet->network, &desk->ip, filter_ip_length(packet)))
		return 0;
	if (packet->known & FILTER_IPV4)
		return !bpf_tcp_raw_check_syncookie_ipv4(&desk->ip.v4, tcp);
	return !bpf_tcp_raw_check_syncookie_ipv6(&desk->ip.v6, tcp);
}

/* What belongs to no connection and comes to a listener must bring a cookie. */
xway_inline enum filter_guarded filter_check_cookie(struct xdp_md *ctx,
						    const struct filter_packet *packet)
{
	int is_good;

	if (filter_socket_state(ctx, packet) != FILTER_LISTENING)
		return FILTER_GO_ON;
	is_good = filter_has_cookie(ctx, packet);
	filter_count_event(is_good ? FILTER_COOKIE_GOOD : FILTER_COOKIE_BAD);
	return is_good ? FILTER_GO_ON : FILTER_REFUSE;
}

/* Nothing is between the fixed header of IP and TCP. */
xway_inline int filter_is_plain(const struct filter_packet *packet)
{
	return packet->transport - packet->network == filter_ip_length(packet);
}

/* What a rule with a SYN proxy does with a packet, with more than `above` requests a second. */
static __attribute__((noinline)) enum filter_guarded
filter_guard_request(struct xdp_md *ctx, const struct filter_packet *packet, __u32 above)
{
	__u8 flags = packet->tcp_flags &
		     (FILTER_FLAG_SYN | FILTER_FLAG_RST | FILTER_FLAG_ACK);
	struct filter_guard *guard = filter_guard_of(packet);
	__u64 now = bpf_ktime_get_ns();

	if (!guard || !(packet->known & FILTER_TCP) || packet->known & FILTER_INSIDE ||
	    packet->fragment != FILTER_WHOLE || !filter_is_plain(packet))
		return FILTER_GO_ON;
	if (flags == FILTER_FLAG_SYN)
		return filter_count_request(guard, above, now) ? FILTER_ANSWER : FILTER_GO_ON;
	if (flags == FILTER_FLAG_ACK && now < guard->until)
		return filter_check_cookie(ctx, packet);
	return FILTER_GO_ON;
}

#endif
