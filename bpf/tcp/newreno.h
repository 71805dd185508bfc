/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The congestion window of RFC 5681: one more segment per round trip, and half of the outstanding
 * data after a loss.
 */
#ifndef XWAY_TCP_NEWRENO_H
#define XWAY_TCP_NEWRENO_H

#include "flow.h"

/* Congestion avoidance: one segment for each acknowledged window. */
xway_inline void tcp_newreno_grow(struct tcp_flow *flow, __u64 acked)
{
	flow->credit += acked;
	if (flow->credit < flow->cwnd)
		return;
	flow->credit -= flow->cwnd;
	if (flow->credit > flow->cwnd)
		flow->credit = flow->cwnd;
	flow->cwnd += flow->mss;
}

xway_inline __u64 tcp_newreno_reduced(const struct tcp_flow *flow)
{
	return (flow->nxt - flow->una) / 2;
}

#endif
