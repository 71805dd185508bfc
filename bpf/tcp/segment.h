/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Writes a segment of a burst into a live frame.
 *
 * The payload is zeros that are never changed, so checksums are computed over headers only, and
 * most of their sum is the same for the whole burst. Frames are recycled with all changes: the
 * headers are rewritten completely, and bytes of the payload where the options of a SYN had been
 * are set to zero.
 */
#ifndef XWAY_TCP_SEGMENT_H
#define XWAY_TCP_SEGMENT_H

#include "plan.h"

#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>

#include <xway/frame.h>

/* Shorter frames are padded (IEEE 802.3, without the checksum). */
#define TCP_FRAME_LEAST 60
#define TCP_HOPS 64

/* The TCP header as words, for its sum. */
struct tcp_header {
	__be16 source;
	__be16 dest;
	__be32 seq;
	__be32 ack;
	__u8 words;
	__u8 flags;
	__be16 window;
	__sum16 check;
	__be16 urgent;
	/* Timestamps: NOP, NOP, kind 8, length 10; or the SYN's options. */
	__be32 options[5];
};

#define TCP_OPTION_TIMESTAMPS xway_htonl(0x0101080a)
#define TCP_OPTION_MSS xway_htonl(0x02040000 | tcp_config.mss)
/* SACK permitted, timestamps. */
#define TCP_OPTION_SACK_TIMESTAMPS xway_htonl(0x0402080a)
#define TCP_OPTION_SCALE xway_htonl(0x01030300 | TCP_OUR_SCALE)

#define TCP_IP_BYTES (tcp_config.ipv6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr))

xway_inline __u16 tcp_fold(__u64 sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* Four bytes at an even offset; the sum does not depend on the byte order. */
xway_inline __u64 tcp_word(__be16 first, __be16 second)
{
	return first | (__u32)second << 16;
}

/* The address and port of a burst's flow, and the sums of what all its segments share. */
xway_inline void tcp_prepare(struct tcp_burst *burst)
{
	__u32 address = burst->flow / tcp_config.ports;
	__u64 addresses = 0, sum;
	__be16 window = xway_htons(0xffff);

	burst->port = xway_htons(tcp_config.first_port + burst->flow % tcp_config.ports);
	if (tcp_config.ipv6) {
		burst->source = xway_htonl(xway_ntohl(tcp_config.source[3]) + address);
		for (int i = 0; i < 3; i++)
			addresses += tcp_config.source[i];
		for (int i = 0; i < 4; i++)
			addresses += tcp_config.destination[i];
	} else {
		burst->source = xway_htonl(xway_ntohl(tcp_config.source[0]) + address);
		addresses = tcp_config.destination[0];
	}
	addresses += burst->source;
	sum = addresses + xway_htons(IPPROTO_TCP);
	sum += tcp_word(burst->port, tcp_config.port);
	sum += burst->ack;
	sum += tcp_word(burst->words << 4, window);
	if (burst->words == TCP_WORDS_SYN) {
		sum += TCP_OPTION_MSS;
		sum += TCP_OPTION_SACK_TIMESTAMPS;
		sum += TCP_OPTION_SCALE;
		sum += burst->ts_value;
	} else if (burst->words == TCP_WORDS_TIMESTAMPS) {
		sum += TCP_OPTION_TIMESTAMPS;
		sum += burst->ts_value;
		sum += burst->ts_echo;
	}
	burst->sum = tcp_fold(sum);
	burst->ip_sum = tcp_fold(addresses + tcp_word(xway_htons(0x4500), 0) +
				 tcp_word(0, xway_htons(0x4000)) +
				 xway_htons(TCP_HOPS << 8 | IPPROTO_TCP));
}

xway_inline void tcp_write_ethernet(void *frame)
{
	__u32 *words = frame;
	__u16 *type = frame + 12;

	for (int i = 0; i < 3; i++)
		words[i] = *(const volatile __u32 *)&tcp_config.macs[4 * i];
	*type = tcp_config.ipv6 ? xway_htons(ETH_P_IPV6) : xway_htons(ETH_P_IP);
}

xway_inline void tcp_write_ipv4(struct iphdr *ip, const struct tcp_burst *burst, __u32 bytes)
{
	__be16 total = xway_htons(sizeof(*ip) + bytes);

	*(__be16 *)ip = xway_htons(0x4500);
	ip->tot_len = total;
	ip->id = 0;
	ip->frag_off = xway_htons(0x4000);
	ip->ttl = TCP_HOPS;
	ip->protocol = IPPROTO_TCP;
	ip->check = ~tcp_fold((__u64)burst->ip_sum + total);
	ip->saddr = burst->source;
	ip->daddr = tcp_config.destination[0];
}

xway_inline void tcp_write_ipv6(struct ipv6hdr *ip, const struct tcp_burst *burst, __u32 bytes)
{
	__be32 *source = (void *)&ip->saddr;
	__be32 *destination = (void *)&ip->daddr;

	*(__be32 *)ip = xway_htonl(0x60000000);
	ip->payload_len = xway_htons(bytes);
	ip->nexthdr = IPPROTO_TCP;
	ip->hop_limit = TCP_HOPS;
	for (int i = 0; i < 4; i++)
		destination[i] = tcp_config.destination[i];
	for (int i = 0; i < 3; i++)
		source[i] = tcp_config.source[i];
	source[3] = burst->source;
}

xway_inline void tcp_write_options(struct tcp_header *tcp, const struct tcp_burst *burst)
{
	if (burst->words == TCP_WORDS_SYN) {
		tcp->options[0] = TCP_OPTION_MSS;
		tcp->options[1] = TCP_OPTION_SACK_TIMESTAMPS;
		tcp->options[2] = burst->ts_value;
		tcp->options[3] = 0;
		tcp->options[4] = TCP_OPTION_SCALE;
		return;
	}
	if (burst->words == TCP_WORDS_TIMESTAMPS) {
		tcp->options[0] = TCP_OPTION_TIMESTAMPS;
		tcp->options[1] = burst->ts_value;
		tcp->options[2] = burst->ts_echo;
	} else {
		tcp->options[0] = 0;
		tcp->options[1] = 0;
		tcp->options[2] = 0;
	}
	tcp->options[3] = 0;
	tcp->options[4] = 0;
}

/* The length and the flags of the burst's next segment. */
xway_inline __u32 tcp_next_payload(struct tcp_burst *burst, __u8 *flags)
{
	__u64 data_end = burst->end < burst->fin ? burst->end : burst->fin;
	__u64 payload = burst->seq < data_end ? data_end - burst->seq : 0;

	*flags = burst->flags;
	if (payload > burst->mss)
		payload = burst->mss;
	if (payload && burst->seq + payload == burst->fin)
		*flags |= TCP_PSH;
	if (!payload && burst->seq < burst->end)
		*flags |= TCP_FIN;
	return payload;
}

/*
 * Writes the segment and advances the burst; false if the frame is too short for the configuration.
 */
xway_inline int tcp_write(struct xdp_md *ctx, struct tcp_burst *burst)
{
	void *frame = xway_data(ctx), *end = xway_data_end(ctx);
	struct tcp_header *tcp = frame + ETH_HLEN + TCP_IP_BYTES;
	__u8 flags;
	__u32 payload = tcp_next_payload(burst, &flags);
	__u32 bytes = burst->words * 4 + payload;
	__be32 seq = xway_htonl(burst->iss + (__u32)burst->seq);
	__u32 wanted = ETH_HLEN + TCP_IP_BYTES + bytes;
	__u32 length = end - frame;

	if ((void *)(tcp + 1) > end || wanted > length)
		return 0;
	tcp_write_ethernet(frame);
	if (tcp_config.ipv6)
		tcp_write_ipv6(frame + ETH_HLEN, burst, bytes);
	else
		tcp_write_ipv4(frame + ETH_HLEN, burst, bytes);
	tcp->source = burst->port;
	tcp->dest = tcp_config.port;
	tcp->seq = seq;
	tcp->ack = burst->ack;
	tcp->words = burst->words << 4;
	tcp->flags = flags;
	tcp->window = xway_htons(0xffff);
	tcp->urgent = 0;
	tcp->check = ~tcp_fold((__u64)burst->sum + seq + xway_htons(bytes) + (flags << 8));
	tcp_write_options(tcp, burst);
	burst->seq += payload + (flags & TCP_FIN);
	burst->left--;
	if (wanted < TCP_FRAME_LEAST)
		wanted = TCP_FRAME_LEAST;
	if (wanted < length)
		bpf_xdp_adjust_tail(ctx, (int)wanted - (int)length);
	return 1;
}

#endif
