/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The scoreboard: which ranges after una have arrived (RFC 2018), and the conclusions: lost data,
 * and data in flight (RFC 6675).
 *
 * Ranges are in order, and never adjacent. At most TCP_RANGES are stored: of more, the highest are
 * dropped and counted, which costs at most an unnecessary retransmission.
 * Without SACK each duplicate acknowledgement stands for a segment that has arrived (RFC 6582).
 */
#ifndef XWAY_TCP_SACK_H
#define XWAY_TCP_SACK_H

#include "flow.h"

/* RFC 6675: number of later segments that must arrive before a segment is considered lost. */
#define TCP_THRESHOLD 3

/*
 * A range that is being inserted into the scoreboard, and the number of ranges that were stored. It
 * is in memory that the verifier does not track, and volatile, so that the paths of each round end
 * in equal states.
 */
struct sack_hand {
	__u64 start;
	__u64 end;
	__u32 kept;
	__u32 zero;
};

/* Stores [start, end) at the next position, if there is one. */
xway_inline void tcp_sack_put(struct tcp_flow *flow, volatile struct sack_hand *hand, __u64 start,
			      __u64 end)
{
	__u32 place = hand->kept;

	hand->kept = place + 1;
	if (place >= TCP_RANGES)
		return;
	place &= TCP_RANGES - 1;
	flow->range[place].start = start;
	flow->range[place].end = end;
}

/* Processes the next range of the old list: joins it with the new one, or stores it in order. */
xway_inline void tcp_sack_pass(struct tcp_flow *flow, volatile struct sack_hand *hand, __u32 i)
{
	__u64 start = flow->range[i].start;
	__u64 end = flow->range[i].end;

	if (!tcp_before(hand->end, start) && !tcp_before(end, hand->start)) {
		hand->start = tcp_least(hand->start, start);
		hand->end = tcp_most(hand->end, end);
	} else if (tcp_before(start, hand->start)) {
		tcp_sack_put(flow, hand, start, end);
	} else {
		tcp_sack_put(flow, hand, hand->start, hand->end);
		hand->start = start;
		hand->end = end;
	}
}

/* Inserts the new range, joined with those that it touches. */
xway_inline void tcp_sack_add(struct tcp_flow *flow, struct tcp_change *change,
			      volatile struct sack_hand *hand)
{
	hand->kept = 0;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < TCP_RANGES; i++) {
		if (i >= *(volatile __u8 *)&flow->ranges)
			break;
		tcp_sack_pass(flow, hand, i);
	}
	tcp_sack_put(flow, hand, hand->start, hand->end);
	flow->ranges = hand->kept;
	if (flow->ranges > TCP_RANGES) {
		flow->ranges = TCP_RANGES;
		change->range_overflows++;
	}
}

/* Removes acknowledged data. */
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

/* Data before this position that has not arrived is lost; una if none is. */
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

/* The end of the highest range, of a flow with ranges. */
xway_inline __u64 tcp_sack_top(const struct tcp_flow *flow)
{
	return flow->range[(flow->ranges - 1) & (TCP_RANGES - 1)].end;
}

/* The current conclusions from the scoreboard. */
struct tcp_board {
	/* The first lost data that was not retransmitted; none if they are equal. */
	__u64 hole;
	__u64 hole_end;
	/* Bytes in flight. */
	__u64 pipe;
};

xway_inline void tcp_look(const struct tcp_flow *flow, struct tcp_board *board)
{
	__u64 from = tcp_most(flow->repeated, flow->una);
	__u64 lost = flow->recovery ? tcp_most(flow->lost, from) : from;
	__u64 arrived = (__u64)flow->duplicates * flow->mss;
	/* The part of the lost data, not retransmitted, that has arrived. */
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
		/* A range before or at the hole moves it; one after the hole ends it. */
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
