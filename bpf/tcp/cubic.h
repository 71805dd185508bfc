/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The congestion window of CUBIC (RFC 9438), in integers.
 *
 * W(t) = 0.4 (t - K)^3 + origin, in segments and seconds. Here times are in 1/1024 s and windows
 * in bytes. Epochs begin at the first growth after a reduction.
 */
#ifndef XWAY_TCP_CUBIC_H
#define XWAY_TCP_CUBIC_H

#include "flow.h"

/* Limits the time to a plateau, and the distance from it, to 128 s, so that the cube fits. */
#define TCP_CUBIC_FAR (1ull << 17)

/* The largest number whose cube does not exceed `cube`, below 2^17. */
xway_inline __u64 tcp_cube_root(__u64 cube)
{
	__u64 root = 0;

#pragma clang loop unroll(disable)
	for (int bit = 16; bit >= 0; bit--) {
		__u64 tried = root | 1ull << bit;

		if (tried * tried * tried <= cube)
			root = tried;
	}
	return root;
}

/* ns as 1/1024 s. */
xway_inline __u64 tcp_cubic_time(__u64 ns)
{
	return ns / 976563;
}

xway_inline void tcp_cubic_begin(struct tcp_flow *flow, __u64 now)
{
	__u64 missing = 0;

	flow->epoch = now;
	flow->credit = 0;
	flow->estimate = flow->cwnd;
	flow->origin = flow->cwnd;
	if (flow->before > flow->cwnd) {
		flow->origin = flow->before;
		missing = (flow->before - flow->cwnd) / flow->mss;
	}
	/* K^3 = missing / 0.4, and 2^30 for the unit; at most 2^20 segments are considered. */
	if (missing > 1 << 20)
		missing = 1 << 20;
	flow->plateau = tcp_cube_root((missing * 5 / 2) << 30);
}

/* W at time t of the epoch, in bytes. */
xway_inline __u64 tcp_cubic_at(const struct tcp_flow *flow, __u64 t)
{
	__u64 off = t > flow->plateau ? t - flow->plateau : flow->plateau - t;
	__u64 distance;

	if (off > TCP_CUBIC_FAR)
		off = TCP_CUBIC_FAR;
	distance = (((off * off * off) >> 10) * 2 / 5 * flow->mss) >> 20;
	if (t > flow->plateau)
		return flow->origin + distance;
	return flow->origin > distance ? flow->origin - distance : 0;
}

/* RFC 9438, 4.3: the window of NewReno; 0.53 segments per window until it has caught up. */
xway_inline void tcp_cubic_estimate(struct tcp_flow *flow, __u64 acked)
{
	__u64 share = flow->estimate < flow->before ? 9 : 17;

	flow->credit += acked * flow->mss * share / 17;
	if (flow->credit < flow->cwnd)
		return;
	flow->estimate += flow->credit / flow->cwnd;
	flow->credit %= flow->cwnd;
}

xway_inline void tcp_cubic_grow(struct tcp_flow *flow, __u64 acked, __u64 now)
{
	__u64 cwnd = flow->cwnd;
	__u64 target;

	if (!flow->epoch)
		tcp_cubic_begin(flow, now);
	tcp_cubic_estimate(flow, acked);
	target = tcp_cubic_at(flow, tcp_cubic_time(now - flow->epoch + flow->rtt));
	if (target > cwnd + cwnd / 2)
		target = cwnd + cwnd / 2;
	if (acked > cwnd)
		acked = cwnd;
	if (target > cwnd)
		cwnd += (target - cwnd) * acked / cwnd;
	flow->cwnd = cwnd > flow->estimate ? cwnd : flow->estimate;
}

/* 0.7 of the window; a window that shrinks from loss to loss yields faster (4.7). */
xway_inline __u64 tcp_cubic_reduced(struct tcp_flow *flow)
{
	__u32 cwnd = flow->cwnd;

	flow->epoch = 0;
	flow->before = cwnd < flow->before ? (__u64)cwnd * 17 / 20 : cwnd;
	return (__u64)cwnd * 7 / 10;
}

#endif
