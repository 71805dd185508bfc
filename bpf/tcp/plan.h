/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Decides what a flow sends next: a burst, which is taken under the lock and written afterwards.
 *
 * Order: a reset that is owed, the SYN, lost data, new data followed by the FIN, an acknowledgement
 * or a probe without data. All segments but a reset and a SYN acknowledge, too.
 */
#ifndef XWAY_TCP_PLAN_H
#define XWAY_TCP_PLAN_H

#include "ack.h"
#include "state.h"

/* Header lengths in 32-bit words: plain, with timestamps, of the SYN. */
#define TCP_WORDS 5
#define TCP_WORDS_TIMESTAMPS 8
#define TCP_WORDS_SYN 10

xway_inline void tcp_plan_header(struct tcp_flow *flow, struct tcp_burst *burst, __u64 now,
				 __u8 flags)
{
	int stamped = flow->has & TCP_HAS_TIMESTAMPS;

	burst->flags = flags;
	burst->iss = flow->iss;
	burst->mss = flow->mss;
	burst->fin = flow->limit + 1;
	burst->ack = xway_htonl(flow->rcv_nxt);
	burst->words = stamped ? TCP_WORDS_TIMESTAMPS : TCP_WORDS;
	burst->ts_value = xway_htonl(tcp_timestamp(now));
	burst->ts_echo = xway_htonl(flow->ts_recent);
}

/* Plans one segment without data. */
xway_inline void tcp_plan_empty(struct tcp_flow *flow, struct tcp_burst *burst, __u64 now,
				__u64 seq, __u8 flags)
{
	tcp_plan_header(flow, burst, now, flags);
	burst->seq = seq;
	burst->end = seq;
	burst->left = 1;
	flow->segments++;
}

xway_inline void tcp_plan_reset(struct tcp_flow *flow, struct tcp_burst *burst, __u64 now)
{
	flow->owes &= ~TCP_OWES_RESET;
	tcp_plan_empty(flow, burst, now, 0, TCP_RST);
	burst->iss = flow->reset_seq;
	burst->ack = 0;
	burst->words = TCP_WORDS;
}

xway_inline void tcp_plan_syn(struct tcp_flow *flow, struct tcp_burst *burst,
			      struct tcp_change *change)
{
	flow->owes &= ~TCP_OWES_SYN;
	if (flow->silent) {
		flow->timeout_repeats++;
		change->timeout_repeats++;
	}
	tcp_plan_empty(flow, burst, change->now, 0, TCP_SYN);
	burst->ack = 0;
	burst->ts_echo = 0;
	burst->words = TCP_WORDS_SYN;
}

/* Plans [start, end) in segments. */
xway_inline void tcp_plan_stream(struct tcp_flow *flow, struct tcp_burst *burst,
				 struct tcp_change *change, __u64 seq, __u64 end)
{
	__u64 fin = flow->limit + 1;
	__u64 payload = seq < fin ? (end < fin ? end : fin) - seq : 0;

	tcp_plan_header(flow, burst, change->now, TCP_ACK);
	burst->seq = seq;
	burst->end = end;
	burst->left = (payload + flow->mss - 1) / flow->mss + (end > fin);
	flow->owes &= ~(TCP_OWES_ACK | TCP_OWES_PROBE);
	flow->segments += burst->left;
	flow->data_segments += burst->left;
	change->data_segments = burst->left;
}

/* Plans the first hole, as far as the window allows; the first segment in any case. */
xway_inline int tcp_plan_repeat(struct tcp_flow *flow, struct tcp_burst *burst,
				struct tcp_change *change, const struct tcp_board *board)
{
	__u64 room = flow->cwnd > board->pipe ? flow->cwnd - board->pipe : 0;
	__u64 most = tcp_config.quantum * flow->mss;
	__u64 end = board->hole_end;

	if (room < flow->mss) {
		if (flow->repeated > flow->una)
			return 0;
		room = flow->mss;
	}
	room -= room % flow->mss;
	if (room > most)
		room = most;
	if (end > board->hole + room)
		end = board->hole + room;
	tcp_plan_stream(flow, burst, change, board->hole, end);
	flow->repeated = end;
	flow->repeated_at = flow->nxt;
	flow->has &= ~TCP_HAS_TIMING;
	if (flow->recovery == TCP_RECOVERY_FAST) {
		flow->fast_repeats += burst->left;
		change->fast_repeats = burst->left;
	} else {
		flow->timeout_repeats += burst->left;
		change->timeout_repeats = burst->left;
	}
	if (!flow->deadline)
		tcp_arm(flow, change->now);
	return 1;
}

/*
 * The number of bytes of `left` that may be sent now: whole segments, except at the end (RFC 9293,
 * 3.8.6.2.1).
 */
xway_inline __u64 tcp_allowed(struct tcp_flow *flow, __u64 pipe, __u64 left)
{
	__u64 open = flow->edge > flow->nxt ? flow->edge - flow->nxt : 0;
	__u64 room = flow->cwnd > pipe ? flow->cwnd - pipe : 0;
	__u64 most = tcp_config.quantum * flow->mss;
	__u64 allowed = open < most ? open : most;

	if (room < allowed) {
		/* The congestion window is the limit. */
		allowed = room;
		flow->limited = flow->nxt + room;
	} else if (room < most + flow->mss) {
		flow->limited = flow->nxt + allowed;
	}
	if (left <= allowed)
		return left;
	if (allowed >= flow->mss)
		return allowed - allowed % flow->mss;
	return !pipe && allowed && allowed >= flow->window_most / 2 ? allowed : 0;
}

/* Plans data that was never sent, and the FIN after all data. */
xway_inline int tcp_plan_new(struct tcp_flow *flow, struct tcp_burst *burst,
			     struct tcp_change *change, __u64 pipe)
{
	__u64 fin = flow->limit + 1;
	__u64 left = fin - flow->nxt;
	__u64 allowed = left ? tcp_allowed(flow, pipe, left) : 0;
	__u64 end = flow->nxt + allowed;
	int timer_is_free = flow->nxt == flow->una;

	if (!allowed && left) {
		/* The update that opens a closed window may be lost, so a probe is needed. */
		if (timer_is_free && !flow->deadline)
			tcp_arm(flow, change->now);
		return 0;
	}
	if (end == fin)
		end++;
	tcp_plan_stream(flow, burst, change, flow->nxt, end);
	tcp_start_timing(flow, change->now);
	flow->nxt = end;
	if (end > fin)
		flow->state = flow->state == TCP_STATE_ESTABLISHED ? TCP_STATE_FIN_WAIT_1 :
								     TCP_STATE_LAST_ACK;
	if (timer_is_free || !flow->deadline)
		tcp_arm(flow, change->now);
	return 1;
}

xway_inline int tcp_plan_data(struct tcp_flow *flow, struct tcp_burst *burst,
			      struct tcp_change *change)
{
	struct tcp_board board;

	tcp_look(flow, &board);
	if (board.hole < board.hole_end)
		return tcp_plan_repeat(flow, burst, change, &board);
	if (!tcp_may_send(flow))
		return 0;
	return tcp_plan_new(flow, burst, change, board.pipe);
}

/* Called under the lock; returns true if there is something to write. */
xway_inline int tcp_plan(struct tcp_flow *flow, struct tcp_burst *burst, struct tcp_change *change)
{
	if (flow->owes & TCP_OWES_RESET) {
		tcp_plan_reset(flow, burst, change->now);
		return 1;
	}
	if (flow->state == TCP_STATE_SYN_SENT) {
		if (!(flow->owes & TCP_OWES_SYN))
			return 0;
		tcp_plan_syn(flow, burst, change);
		return 1;
	}
	if (!tcp_is_open(flow))
		return 0;
	if (tcp_plan_data(flow, burst, change))
		return 1;
	if (!(flow->owes & (TCP_OWES_ACK | TCP_OWES_PROBE)))
		return 0;
	change->probes = !!(flow->owes & TCP_OWES_PROBE);
	/* A probe repeats an old position, which must be answered. */
	tcp_plan_empty(flow, burst, change->now, flow->nxt - change->probes, TCP_ACK);
	flow->owes &= ~(TCP_OWES_ACK | TCP_OWES_PROBE);
	return 1;
}

#endif
