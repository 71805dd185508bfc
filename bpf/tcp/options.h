/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A segment from the packet that carries it. Options that are cut short end the list.
 */
#ifndef XWAY_TCP_OPTIONS_H
#define XWAY_TCP_OPTIONS_H

#include "ack.h"

#include <linux/tcp.h>

/* Bytes of options, at most. */
#define TCP_OPTIONS_MOST 40

#define TCP_KIND_END 0
#define TCP_KIND_NOP 1
#define TCP_KIND_MSS 2
#define TCP_KIND_SCALE 3
#define TCP_KIND_MAY_SACK 4
#define TCP_KIND_SACK 5
#define TCP_KIND_TIMESTAMPS 8

/* RFC 7323, 2.3. */
#define TCP_SCALE_MOST 14

xway_inline void tcp_read_blocks(const __u8 *option, const void *end, __u32 length,
				 struct tcp_segment *segment)
{
	for (__u32 i = 0; i < TCP_BLOCKS; i++) {
		const __be32 *edges = (const void *)option + 2 + 8 * i;

		if (length < 2 + 8 * (i + 1) || (const void *)(edges + 2) > end)
			return;
		segment->block[i][0] = xway_ntohl(edges[0]);
		segment->block[i][1] = xway_ntohl(edges[1]);
		segment->blocks = i + 1;
	}
}

xway_inline void tcp_read_option(const __u8 *option, const void *end, __u32 length,
				 struct tcp_segment *segment)
{
	switch (option[0]) {
	case TCP_KIND_MSS:
		if (length == 4 && (const void *)(option + 4) <= end)
			segment->mss = xway_ntohs(*(const __be16 *)(option + 2));
		break;
	case TCP_KIND_SCALE:
		if (length == 3 && (const void *)(option + 3) <= end) {
			segment->scale = option[2] < TCP_SCALE_MOST ? option[2] : TCP_SCALE_MOST;
			segment->has_scale = 1;
		}
		break;
	case TCP_KIND_MAY_SACK:
		segment->may_sack = 1;
		break;
	case TCP_KIND_SACK:
		tcp_read_blocks(option, end, length, segment);
		break;
	case TCP_KIND_TIMESTAMPS:
		if (length == 10 && (const void *)(option + 10) <= end) {
			segment->ts_value = xway_ntohl(*(const __be32 *)(option + 2));
			segment->ts_echo = xway_ntohl(*(const __be32 *)(option + 6));
			segment->has_timestamps = 1;
		}
		break;
	}
}

xway_inline void tcp_read_options(const struct tcphdr *tcp, const void *end,
				  struct tcp_segment *segment)
{
	const __u8 *option = (const void *)(tcp + 1);
	__u32 left = tcp->doff * 4 - sizeof(*tcp);

#pragma clang loop unroll(disable)
	for (int i = 0; i < TCP_OPTIONS_MOST; i++) {
		__u32 length = 1;

		if (!left || (const void *)(option + 1) > end || option[0] == TCP_KIND_END)
			return;
		if (option[0] != TCP_KIND_NOP) {
			if ((const void *)(option + 2) > end)
				return;
			length = option[1];
			if (length < 2 || length > TCP_OPTIONS_MOST || length > left)
				return;
			tcp_read_option(option, end, length, segment);
		}
		option += length;
		left -= length;
	}
}

xway_inline void tcp_read_segment(const struct tcphdr *tcp, const void *end, __u32 length,
				  struct tcp_segment *segment)
{
	segment->seq = xway_ntohl(tcp->seq);
	segment->ack = xway_ntohl(tcp->ack_seq);
	segment->window = xway_ntohs(tcp->window);
	segment->length = length;
	segment->flags = ((const __u8 *)tcp)[13];
	tcp_read_options(tcp, end, segment);
}

#endif
