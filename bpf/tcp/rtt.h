/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Round-trip times and the retransmission timer (RFC 6298, RFC 7323 section 4).
 *
 * Our timestamps tick every 1024 ns, so that they can also measure links within one machine.
 * Without timestamps one segment at a time is measured, and never a retransmitted one (Karn).
 */
#ifndef XWAY_TCP_RTT_H
#define XWAY_TCP_RTT_H

#include "flow.h"

#define TCP_SECOND 1000000000ull
/* RFC 6298, 2.1 and 2.4: the timeout before the first measurement, and the maximum. */
#define TCP_FIRST_TIMEOUT TCP_SECOND
#define TCP_MOST_TIMEOUT (60 * TCP_SECOND)
/* Beyond this backoff, the timeout has reached its maximum from any start. */
#define TCP_MOST_BACKOFF 16

xway_inline __u32 tcp_timestamp(__u64 now)
{
	return now >> 10;
}

xway_inline void tcp_measured(struct tcp_flow *flow, struct tcp_change *change, __u64 rtt)
{
	__u64 timeout, off;

	if (!rtt)
		rtt = 1;
	change->rtt = rtt > 0xffffffff ? 0xffffffff : rtt;
	flow->rtt_last = change->rtt;
	if (!flow->rtt_least || flow->rtt_least > change->rtt)
		flow->rtt_least = change->rtt;
	if (!flow->rtt) {
		flow->rtt = rtt;
		flow->rtt_variation = rtt / 2;
	} else {
		off = flow->rtt > rtt ? flow->rtt - rtt : rtt - flow->rtt;
		flow->rtt_variation += off / 4 - flow->rtt_variation / 4;
		flow->rtt += rtt / 8 - flow->rtt / 8;
	}
	timeout = flow->rtt + 4 * flow->rtt_variation;
	if (timeout < tcp_config.least_timeout)
		timeout = tcp_config.least_timeout;
	flow->timeout = timeout > TCP_MOST_TIMEOUT ? TCP_MOST_TIMEOUT : timeout;
}

/* Measures with the timestamp that the peer echoed. One that is far too old is ignored. */
xway_inline void tcp_measure_echo(struct tcp_flow *flow, struct tcp_change *change, __u32 echo)
{
	__u32 ticks = tcp_timestamp(change->now) - echo;

	if (ticks < 1u << 30)
		tcp_measured(flow, change, (__u64)ticks << 10);
}

/* Measures with the one segment that is being timed. */
xway_inline void tcp_measure_timed(struct tcp_flow *flow, struct tcp_change *change, __u64 ack)
{
	if (!(flow->has & TCP_HAS_TIMING) || ack <= flow->timed)
		return;
	flow->has &= ~TCP_HAS_TIMING;
	tcp_measured(flow, change, change->now - flow->timed_at);
}

xway_inline void tcp_start_timing(struct tcp_flow *flow, __u64 now)
{
	if (flow->has & (TCP_HAS_TIMESTAMPS | TCP_HAS_TIMING))
		return;
	flow->has |= TCP_HAS_TIMING;
	flow->timed = flow->nxt;
	flow->timed_at = now;
}

/* Restarts the timer. */
xway_inline void tcp_arm(struct tcp_flow *flow, __u64 now)
{
	__u32 backoff = flow->backoff < TCP_MOST_BACKOFF ? flow->backoff : TCP_MOST_BACKOFF;
	__u64 wait = flow->timeout << backoff;

	flow->deadline = now + (wait > TCP_MOST_TIMEOUT ? TCP_MOST_TIMEOUT : wait);
}

#endif
