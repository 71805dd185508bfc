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

/*
 * A range on its way into the scoreboard, and how many are behind it already. It lies in memory
 * that the verifier does not follow, and is volatile: so the paths of each round end alike.
 */
struct sack_hand {
	__u64 start;
	__u64 end;
	__u32 kept;
	__u32 zero;
};

/* Puts [start, end) at the next place, if there is one. */
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

/* The next range of the old list: joined with what is in hand, or put down in its order. */
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

/* Adds what is in hand, joined with what it touches. */
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

/* The highest that has arrived; of a flow with ranges. */
xway_inline __u64 tcp_sack_top(const struct tcp_flow *flow)
{
	return flow->range[(flow->ranges - 1) & (TCP_RANGES - 1)].end;
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
