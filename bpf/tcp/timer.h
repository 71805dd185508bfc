/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A flow's one timer: SYN, retransmission, window probe or TIME_WAIT, by its state.
 */
#ifndef XWAY_TCP_TIMER_H
#define XWAY_TCP_TIMER_H

#include "congestion.h"
#include "rtt.h"

/* Counts another timeout without an answer; true if it was the last one. */
xway_inline int tcp_is_given_up(struct tcp_flow *flow)
{
	if (flow->silent >= tcp_config.retries)
		return 1;
	flow->silent++;
	if (flow->backoff < TCP_MOST_BACKOFF)
		flow->backoff++;
	return 0;
}

/* RFC 6298, 5.4 to 5.6; RFC 5681, 3.1: everything outstanding is lost. */
xway_inline void tcp_retransmit_all(struct tcp_flow *flow, struct tcp_change *change)
{
	if (flow->recovery != TCP_RECOVERY_TIMEOUT)
		tcp_congestion_lost(flow);
	flow->cwnd = flow->mss;
	flow->recovery = TCP_RECOVERY_TIMEOUT;
	flow->recover = flow->nxt;
	flow->lost = flow->nxt;
	flow->repeated = flow->una;
	flow->repeated_at = flow->nxt;
	/* RFC 2018, 8: the receiver may have discarded data that it reported in SACK blocks. */
	flow->ranges = 0;
	flow->duplicates = 0;
	flow->has &= ~TCP_HAS_TIMING;
	/* Makes the window grow again. */
	flow->limited = flow->nxt;
	change->timeouts++;
	flow->timeouts++;
}

/* Called under the lock; returns true if the flow has something to send now. */
xway_inline int tcp_expired(struct tcp_flow *flow, struct tcp_change *change)
{
	int opening = flow->state == TCP_STATE_SYN_SENT;

	if (!flow->deadline || flow->deadline > change->now)
		return 0;
	flow->deadline = 0;
	if (flow->state == TCP_STATE_TIME_WAIT) {
		flow->state = TCP_STATE_CLOSED;
		return 0;
	}
	if (!opening && !tcp_is_open(flow))
		return 0;
	if (tcp_is_given_up(flow)) {
		tcp_close(flow, change, opening ? TCP_END_UNANSWERED : TCP_END_TIMED_OUT);
		return 0;
	}
	if (opening) {
		flow->owes |= TCP_OWES_SYN;
		change->timeouts++;
		flow->timeouts++;
	} else if (flow->nxt > flow->una) {
		tcp_retransmit_all(flow, change);
	} else {
		flow->owes |= TCP_OWES_PROBE;
	}
	tcp_arm(flow, change->now);
	return 1;
}

#endif
