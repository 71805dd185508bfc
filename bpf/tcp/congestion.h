/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * When the congestion window grows and shrinks (RFC 5681), by either algorithm.
 */
#ifndef XWAY_TCP_CONGESTION_H
#define XWAY_TCP_CONGESTION_H

#include "cubic.h"
#include "newreno.h"

#define TCP_CWND_MOST (1u << 30)

/* RFC 6928, and RFC 5681 where the SYN was lost. */
xway_inline void tcp_congestion_begin(struct tcp_flow *flow, int syn_was_lost)
{
	flow->cwnd = (syn_was_lost ? 1 : tcp_config.initial) * flow->mss;
	flow->ssthresh = TCP_CWND_MOST;
}

/*
 * `acked` bytes were acknowledged. In slow start the window grows by all of them: bursts are
 * bounded by the quantum, and receivers that merge segments acknowledge many together.
 */
xway_inline void tcp_congestion_acked(struct tcp_flow *flow, __u64 acked, __u64 now)
{
	if (flow->una > flow->limited)
		return;
	if (flow->cwnd < flow->ssthresh) {
		/* RFC 3465, 2.3: conservatively after a timeout. */
		if (flow->recovery == TCP_RECOVERY_TIMEOUT && acked > flow->mss)
			acked = flow->mss;
		flow->cwnd += acked;
	} else if (tcp_config.algorithm == TCP_ALGORITHM_CUBIC) {
		tcp_cubic_grow(flow, acked, now);
	} else {
		tcp_newreno_grow(flow, acked);
	}
	if (flow->cwnd > TCP_CWND_MOST)
		flow->cwnd = TCP_CWND_MOST;
}

/* A loss was detected. */
xway_inline void tcp_congestion_lost(struct tcp_flow *flow)
{
	__u64 reduced = tcp_config.algorithm == TCP_ALGORITHM_CUBIC ? tcp_cubic_reduced(flow) :
								      tcp_newreno_reduced(flow);
	__u64 least = 2 * flow->mss;

	flow->ssthresh = reduced > least ? reduced : least;
	flow->credit = 0;
}

#endif
