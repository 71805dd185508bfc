/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The scoreboard: which ranges behind una have arrived (RFC 2018), and what follows from them:
 * what is lost, what is still in the network (RFC 6675).
 *
 * Ranges are in order, and never touch. There is room for TCP_RANGES: of more, the highest are
 * forgotten and counted, which costs at most a needless retransmission.
 * Without SACK each duplicate acknowledgement stands for a segment that has arrived (RFC 6582).
 */
#ifndef XWAY_TCP_SACK_H
#define XWAY_TCP_SACK_H

#include "flow.h"

/* RFC 6675: so many segments must have arrived behind one that is taken for lost. */
#define TCP_THRESHOLD 3

/* Adds [start, end), joined with what it touches. One pass: what is in hand is put down as soon
 * as something behind it comes.
 */
xway_inline void tcp_sack_add(struct tcp_flow *flow, struct tcp_change *change, __u64 start,
			      __u64 end)
{
	struct tcp_range hand = { start, end };
	__u32 count = flow->ranges;
	__u32 kept = 0;

#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < TCP_RANGES; i++) {
		struct tcp_range range;

		if (i >= count)
			break;
		range = flow->range[i];
		if (!tcp_before(hand.end, range.start) && !tcp_before(range.end, hand.start)) {
			hand.start = tcp_least(hand.start, range.start);
			hand.end = tcp_most(hand.end, range.end);
			continue;
		}
		if (tcp_before(range.start, hand.start)) {
			flow->range[kept & (TCP_RANGES - 1)] = range;
		} else {
			flow->range[kept & (TCP_RANGES - 1)] = hand;
			hand = range;
		}
		kept++;
	}
	if (kept >= TCP_RANGES) {
		change->range_overflows++;
	} else {
		flow->range[kept & (TCP_RANGES - 1)] = hand;
		kept++;
	}
	flow->ranges = kept;
}

/* Forgets what is acknowledged. */
xway_inline void tcp_sack_trim(struct tcp_flow *flow)
{
	__u32 count = flow->ranges;
	__u32 kept = 0;

#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < TCP_RANGES; i++) {
		struct tcp_range range;

		if (i >= count)
			break;
		range = flow->range[i];
		if (!tcp_before(flow->una, range.end))
			continue;
		range.start = tcp_most(range.start, flow->una);
		flow->range[kept & (TCP_RANGES - 1)] = range;
		kept++;
	}
	flow->ranges = kept;
}

/* Below that, what has not arrived is lost; una when nothing is. */
xway_inline __u64 tcp_sack_lost(const struct tcp_flow *flow)
{
	__u64 above = 0;
	__u32 blocks = 0;

#pragma clang loop unroll(disable)
	for (__u32 i = TCP_RANGES; i > 0; i--) {
		const struct tcp_range *range = &flow->range[i - 1];

		if (i > flow->ranges)
			continue;
		above += range->end - range->start;
		blocks++;
		if (above > (TCP_THRESHOLD - 1) * flow->mss || blocks >= TCP_THRESHOLD)
			return range->start;
	}
	return flow->una;
}

/* The highest that has arrived. */
xway_inline __u64 tcp_sack_top(const struct tcp_flow *flow)
{
	__u32 last = flow->ranges - 1;

	return last < TCP_RANGES ? flow->range[last].end : flow->una;
}

/* What the scoreboard says at one moment. */
struct tcp_board {
	/* The first that is lost and was not sent again; none when they are equal. */
	__u64 hole;
	__u64 hole_end;
	/* Bytes in the network. */
	__u64 pipe;
};

xway_inline void tcp_look(const struct tcp_flow *flow, struct tcp_board *board)
{
	__u64 from = tcp_most(flow->repeated, flow->una);
	__u64 lost = flow->recovery ? tcp_most(flow->lost, from) : from;
	__u64 arrived = (__u64)flow->duplicates * flow->mss;
	/* Of what is lost and was not sent again, this has arrived. */
	__u64 inside = 0;

	board->hole = from;
	board->hole_end = lost;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < TCP_RANGES; i++) {
		const struct tcp_range *range = &flow->range[i];
		__u64 low, high, behind;

		if (i >= flow->ranges)
			break;
		arrived += range->end - range->start;
		low = tcp_most(range->start, from);
		high = tcp_least(range->end, lost);
		inside += tcp_most(high, low) - low;
		/* A range up to the hole moves it on; one behind the hole ends it. */
		behind = tcp_before_mask(board->hole, range->start);
		board->hole_end -= (board->hole_end - tcp_least(board->hole_end, range->start)) &
				   behind;
		board->hole += (tcp_most(board->hole, range->end) - board->hole) & ~behind;
	}
	arrived += lost - from - inside;
	board->pipe = flow->nxt - flow->una - tcp_least(flow->nxt - flow->una, arrived);
	board->hole = tcp_least(board->hole, board->hole_end);
}

#endif
