/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Parses a segment from its packet. An option with an invalid length for its kind is ignored; an
 * option that exceeds the header, or a signature, causes the segment to be refused.
 */
#ifndef XWAY_TCP_OPTIONS_H
#define XWAY_TCP_OPTIONS_H

#include "ack.h"

#include <linux/tcp.h>

/* Maximum length of the options in bytes. */
#define TCP_OPTIONS_MOST 40

#define TCP_KIND_END 0
#define TCP_KIND_NOP 1
#define TCP_KIND_MSS 2
#define TCP_KIND_SCALE 3
#define TCP_KIND_MAY_SACK 4
#define TCP_KIND_SACK 5
#define TCP_KIND_TIMESTAMPS 8
/* Signatures (RFC 2385, RFC 5925), which are not supported. */
#define TCP_KIND_MD5 19
#define TCP_KIND_AO 29

/* RFC 7323, 2.3. */
#define TCP_SCALE_MOST 14

/* Bytes of the options, in host order; they may be at any offset. */
xway_inline __u32 tcp_option_byte(const struct segment *segment, __u32 at)
{
	return segment->options[at & (TCP_OPTIONS_ROOM - 1)];
}

xway_inline __u32 tcp_option_half(const struct segment *segment, __u32 at)
{
	return tcp_option_byte(segment, at) << 8 | tcp_option_byte(segment, at + 1);
}

xway_inline __u32 tcp_option_word(const struct segment *segment, __u32 at)
{
	return tcp_option_half(segment, at) << 16 | tcp_option_half(segment, at + 2);
}

xway_inline void tcp_read_blocks(struct segment *segment, __u32 at, __u32 length)
{
	for (__u32 i = 0; i < TCP_BLOCKS; i++) {
		if (length < 2 + 8 * (i + 1))
			return;
		segment->block[i][0] = tcp_option_word(segment, at + 2 + 8 * i);
		segment->block[i][1] = tcp_option_word(segment, at + 6 + 8 * i);
		segment->blocks = i + 1;
	}
}

xway_inline void tcp_read_option(struct segment *segment, __u32 at, __u32 length)
{
	__u32 kind = tcp_option_byte(segment, at);

	if (kind == TCP_KIND_TIMESTAMPS && length == 10) {
		segment->ts_value = tcp_option_word(segment, at + 2);
		segment->ts_echo = tcp_option_word(segment, at + 6);
		segment->has_timestamps = 1;
	} else if (kind == TCP_KIND_SACK && length >= 10 && length % 8 == 2) {
		tcp_read_blocks(segment, at, length);
	} else if (kind == TCP_KIND_MSS && length == 4) {
		segment->mss = tcp_option_half(segment, at + 2);
	} else if (kind == TCP_KIND_SCALE && length == 3) {
		segment->scale = tcp_option_byte(segment, at + 2);
		if (segment->scale > TCP_SCALE_MOST)
			segment->scale = TCP_SCALE_MOST;
		segment->has_scale = 1;
	} else if (kind == TCP_KIND_MAY_SACK && length == 2) {
		segment->may_sack = 1;
	} else if (kind == TCP_KIND_MD5 || kind == TCP_KIND_AO) {
		segment->is_refused = 1;
	}
}

/* Takes the next option; false at the end of the list. */
xway_inline int tcp_next_option(struct segment *segment)
{
	__u32 at = segment->next;
	__u32 kind = tcp_option_byte(segment, at);
	__u32 length = 1;

	if (at >= segment->options_end || kind == TCP_KIND_END)
		return 0;
	if (kind != TCP_KIND_NOP) {
		length = tcp_option_byte(segment, at + 1);
		if (length < 2 || at + length > segment->options_end) {
			segment->is_refused = 1;
			return 0;
		}
		tcp_read_option(segment, at, length);
	}
	/* Volatile: the verifier does not track the value, which would multiply its paths. */
	*(volatile __u32 *)&segment->next = at + length;
	return 1;
}

xway_global int tcp_read_options(struct segment *segment)
{
	if (!segment)
		return 0;
#pragma clang loop unroll(disable)
	for (int i = 0; i < TCP_OPTIONS_MOST; i++)
		if (!tcp_next_option(segment))
			return i;
	return TCP_OPTIONS_MOST;
}

/* Copies the bytes of the options that the frame contains. */
xway_inline void tcp_copy_options(const struct tcphdr *tcp, const void *end,
				  struct segment *segment)
{
	const __u32 *from = (const void *)(tcp + 1);
	__u32 *to = (__u32 *)segment->options;
	__u32 promised = tcp->doff * 4 - sizeof(*tcp);

	xway_unroll for (__u32 i = 0; i < TCP_OPTIONS_MOST / 4; i++)
	{
		if ((const void *)(from + i + 1) > end || 4 * i >= promised)
			return;
		to[i] = from[i];
		segment->options_end = 4 * (i + 1);
	}
}

xway_inline void tcp_read_segment(const struct tcphdr *tcp, const void *end, __u32 length,
				  struct segment *segment)
{
	segment->seq = xway_ntohl(tcp->seq);
	segment->ack = xway_ntohl(tcp->ack_seq);
	segment->window = xway_ntohs(tcp->window);
	segment->length = length;
	segment->flags = ((const __u8 *)tcp)[13];
	tcp_copy_options(tcp, end, segment);
	tcp_read_options(segment);
}

#endif
