/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The effects of an acknowledgement on a flow: progress, window, detected losses, end of recovery.
 */
#ifndef XWAY_TCP_ACK_H
#define XWAY_TCP_ACK_H

#include "congestion.h"
#include "rtt.h"
#include "sack.h"

/* Maximum number of blocks of a SACK option. */
#define TCP_BLOCKS 4

/* Space for a segment's options: a power of two. */
#define TCP_OPTIONS_ROOM 64

/* A received segment, in host order. */
struct segment {
	/* Options as in the segment; their length, and the number of bytes that were read. */
	__u8 options[TCP_OPTIONS_ROOM];
	__u32 options_end;
	__u32 next;
	struct sack_hand hand;
	__u32 seq;
	__u32 ack;
	/* Length of the payload. */
	__u32 length;
	/* The field of the segment, not shifted. */
	__u32 window;
	__u32 ts_value;
	__u32 ts_echo;
	__u32 block[TCP_BLOCKS][2];
	__u32 blocks;
	__u16 mss;
	__u8 flags;
	__u8 scale;
	__u8 has_timestamps;
	__u8 has_scale;
	__u8 may_sack;
	/* An option is longer than the rest, shorter than its header, or a signature. */
	__u8 is_refused;
};

#define TCP_FIN 1
#define TCP_SYN 2
#define TCP_RST 4
#define TCP_PSH 8
#define TCP_ACK 16

/*
 * RFC 9293, 3.10.7.4: the window is taken from segments that are not older than the last one and do
 * not acknowledge less than is known.
 */
xway_inline void tcp_take_window(struct tcp_flow *flow, const struct segment *segment,
				 __u64 ack)
{
	__s32 newer = segment->seq - flow->window_seq;

	if (tcp_before(ack, flow->una) || newer < 0)
		return;
	/* The window opens: the reason for the timer's backoff has ended. */
	if (!flow->window && segment->window)
		flow->backoff = 0;
	flow->window = segment->window << flow->scale;
	flow->window_seq = segment->seq;
	flow->edge = ack + flow->window;
	if (flow->window_most < flow->window)
		flow->window_most = flow->window;
}

/* Payload bytes before a position. */
xway_inline __u64 tcp_payload_below(const struct tcp_flow *flow, __u64 position)
{
	return position > flow->limit + 1 ? flow->limit : position - 1;
}

xway_inline void tcp_progress(struct tcp_flow *flow, const struct segment *segment,
			      struct tcp_change *change, __u64 ack)
{
	change->acked = tcp_payload_below(flow, ack) - tcp_payload_below(flow, flow->una);
	if (!(flow->has & TCP_HAS_TIMESTAMPS))
		tcp_measure_timed(flow, change, ack);
	else if (segment->has_timestamps)
		tcp_measure_echo(flow, change, segment->ts_echo);
	flow->una = ack;
	flow->progress = change->now;
	flow->backoff = 0;
	flow->deadline = 0;
	if (flow->nxt > ack)
		tcp_arm(flow, change->now);
	if (flow->ranges)
		tcp_sack_trim(flow);
}

xway_inline void tcp_take_blocks(struct tcp_flow *flow, struct segment *segment,
				 struct tcp_change *change)
{
	volatile struct sack_hand *hand = &segment->hand;

#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < TCP_BLOCKS; i++) {
		__u64 start, end;

		if (i >= *(volatile __u32 *)&segment->blocks)
			break;
		start = tcp_position(flow, segment->block[i][0]);
		end = tcp_position(flow, segment->block[i][1]);
		/* Other blocks are old, or report duplicates (RFC 2883). */
		if (!tcp_before(flow->una, start) || !tcp_before(start, end) ||
		    tcp_before(flow->nxt, end))
			continue;
		hand->start = start;
		hand->end = end;
		tcp_sack_add(flow, change, hand);
	}
}

/* Without SACK: each segment after a hole causes the same acknowledgement again. */
xway_inline void tcp_count_duplicate(struct tcp_flow *flow, __u64 acked, int duplicate)
{
	__u64 arrived = flow->mss ? acked / flow->mss : 0;

	if (acked)
		flow->duplicates = flow->recovery && flow->duplicates > arrived ?
					   flow->duplicates - arrived :
					   0;
	else if (duplicate && flow->duplicates < 255 &&
		 (flow->duplicates + 1ull) * flow->mss < flow->nxt - flow->una)
		flow->duplicates++;
}

/* Raises the position before which data is lost. */
xway_inline void tcp_find_lost(struct tcp_flow *flow, __u64 lost)
{
	flow->lost = tcp_most(flow->lost, tcp_least(lost, flow->nxt));
}

xway_inline void tcp_enter_recovery(struct tcp_flow *flow)
{
	tcp_congestion_lost(flow);
	flow->cwnd = flow->ssthresh;
	flow->recovery = TCP_RECOVERY_FAST;
	flow->recover = flow->nxt;
	flow->repeated = flow->una;
	flow->repeated_at = flow->nxt;
	flow->has &= ~TCP_HAS_TIMING;
}

/*
 * Segments that were sent after the last retransmission have arrived, but the first retransmitted
 * data has not: it was lost again.
 */
xway_inline void tcp_find_lost_again(struct tcp_flow *flow)
{
	if (!tcp_before(flow->una, flow->repeated) ||
	    tcp_sack_top(flow) <= flow->repeated_at + TCP_THRESHOLD * flow->mss)
		return;
	flow->repeated = flow->una;
	flow->repeated_at = flow->nxt;
}

/*
 * Without SACK: the first outstanding segment is lost, and in recovery each further one at which a
 * partial acknowledgement stops.
 */
xway_inline void tcp_recover_plain(struct tcp_flow *flow, __u64 acked)
{
	if ((flow->recovery && acked) || flow->duplicates >= TCP_THRESHOLD)
		tcp_find_lost(flow, flow->una + flow->mss);
	if (!flow->recovery && tcp_before(flow->una, flow->lost))
		tcp_enter_recovery(flow);
}

/* With SACK, after a change of the scoreboard. */
xway_inline void tcp_recover_sack(struct tcp_flow *flow)
{
	tcp_find_lost(flow, tcp_sack_lost(flow));
	if (!flow->recovery) {
		if (tcp_before(flow->una, flow->lost))
			tcp_enter_recovery(flow);
	} else if (flow->ranges) {
		tcp_find_lost_again(flow);
	}
}

/* Processes an acknowledgement of sent data: una <= ack <= nxt, or an older one. */
xway_inline void tcp_acknowledged(struct tcp_flow *flow, const struct segment *segment,
				  struct tcp_change *change, __u64 ack)
{
	__u64 acked = ack > flow->una ? ack - flow->una : 0;
	__u32 window = flow->window;
	int same = ack == flow->una && flow->nxt > ack && !segment->length &&
		   !(segment->flags & TCP_FIN);
	/*
	 * The end of a recovery often acknowledges a whole window, which is not a sign of capacity.
	 */
	int recovered = flow->recovery == TCP_RECOVERY_FAST;

	tcp_take_window(flow, segment, ack);
	if (acked)
		tcp_progress(flow, segment, change, ack);
	if (flow->recovery && !tcp_before(flow->una, flow->recover)) {
		flow->recovery = TCP_RECOVERY_NONE;
		flow->duplicates = 0;
	}
	if (!(flow->has & TCP_HAS_SACK)) {
		tcp_count_duplicate(flow, acked, same && window == flow->window);
		tcp_recover_plain(flow, acked);
	}
	if (acked && !recovered && flow->recovery != TCP_RECOVERY_FAST)
		tcp_congestion_acked(flow, acked, change->now);
}

#endif
