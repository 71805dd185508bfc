/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Processes a received segment of a flow (RFC 9293, section 3.10.7), with the protection of RFC
 * 5961 against forged resets.
 */
#ifndef XWAY_TCP_STATE_H
#define XWAY_TCP_STATE_H

#include "ack.h"
#include "ready.h"

/* The receive window: constant, since no data is stored. Shifted by TCP_OUR_SCALE in segments. */
#define TCP_OUR_SCALE 7
#define TCP_OUR_WINDOW (65535u << TCP_OUR_SCALE)
#define TCP_TIMESTAMP_BYTES 12
/* The smallest MSS that is accepted, including timestamps: Linux's sysctl tcp_min_snd_mss. */
#define TCP_MSS_LEAST 48

xway_inline enum xway_reason tcp_unacceptable(struct tcp_flow *flow, struct tcp_change *change,
					      __u8 owes)
{
	flow->owes |= owes;
	change->unacceptable++;
	return XWAY_UNACCEPTABLE;
}

/* Reads the destination's options, from its SYN. */
xway_inline void tcp_agree(struct tcp_flow *flow, const struct segment *segment)
{
	__u32 mss = segment->mss ? segment->mss : tcp_config.ipv6 ? 1220 : 536;

	if (mss < TCP_MSS_LEAST)
		mss = TCP_MSS_LEAST;
	if (mss > tcp_config.mss)
		mss = tcp_config.mss;
	if (segment->has_timestamps) {
		flow->has |= TCP_HAS_TIMESTAMPS;
		flow->ts_recent = segment->ts_value;
		mss -= TCP_TIMESTAMP_BYTES;
	}
	if (segment->may_sack)
		flow->has |= TCP_HAS_SACK;
	flow->scale = segment->has_scale ? segment->scale : 0;
	flow->mss = mss;
}

/* Whether the echoed timestamp, if any, belongs to one of our SYNs (RFC 7323, 3.2). */
xway_inline int tcp_is_our_echo(const struct tcp_flow *flow, const struct segment *segment,
				__u64 now)
{
	__u32 since = segment->ts_echo - tcp_timestamp(flow->opened);

	return !segment->has_timestamps || !segment->ts_echo ||
	       since <= tcp_timestamp(now) - tcp_timestamp(flow->opened);
}

xway_inline enum xway_reason tcp_opening(struct tcp_flow *flow, const struct segment *segment,
					 struct tcp_change *change)
{
	int syn_was_lost = flow->silent > 0;

	if (!(segment->flags & TCP_ACK))
		return tcp_unacceptable(flow, change, 0);
	if (segment->ack != flow->iss + 1 || !tcp_is_our_echo(flow, segment, change->now)) {
		/*
		 * The other end remembers an older connection, which our next SYN no longer finds.
		 */
		if (!(segment->flags & TCP_RST))
			tcp_owe_reset(flow, segment->ack);
		return tcp_unacceptable(flow, change, 0);
	}
	if (segment->flags & TCP_RST) {
		tcp_close(flow, change, TCP_END_REFUSED);
		return XWAY_TAKEN;
	}
	if (!(segment->flags & TCP_SYN))
		return tcp_unacceptable(flow, change, 0);
	tcp_agree(flow, segment);
	flow->state = TCP_STATE_ESTABLISHED;
	flow->rcv_nxt = segment->seq + 1;
	flow->una = 1;
	flow->window = segment->window;
	flow->window_most = segment->window;
	flow->window_seq = segment->seq;
	flow->edge = 1 + segment->window;
	flow->deadline = 0;
	flow->backoff = 0;
	flow->silent = 0;
	flow->owes = TCP_OWES_ACK;
	flow->established = flow->progress = change->now;
	change->established = 1;
	if (flow->has & TCP_HAS_TIMESTAMPS)
		tcp_measure_echo(flow, change, segment->ts_echo);
	else if (!syn_was_lost)
		tcp_measured(flow, change, change->now - flow->opened);
	tcp_congestion_begin(flow, syn_was_lost);
	return XWAY_TAKEN;
}

xway_inline void tcp_wait_a_time(struct tcp_flow *flow, struct tcp_change *change)
{
	flow->state = TCP_STATE_TIME_WAIT;
	flow->deadline = change->now + tcp_config.time_wait;
	tcp_finish(flow, change, TCP_END_CLOSED);
}

/* Our FIN was acknowledged. */
xway_inline void tcp_fin_acknowledged(struct tcp_flow *flow, struct tcp_change *change)
{
	switch (flow->state) {
	case TCP_STATE_FIN_WAIT_1:
		flow->state = TCP_STATE_FIN_WAIT_2;
		break;
	case TCP_STATE_CLOSING:
		tcp_wait_a_time(flow, change);
		break;
	case TCP_STATE_LAST_ACK:
		tcp_close(flow, change, TCP_END_CLOSED);
		break;
	}
}

xway_inline void tcp_fin_arrived(struct tcp_flow *flow, struct tcp_change *change)
{
	flow->rcv_nxt++;
	flow->owes |= TCP_OWES_ACK;
	switch (flow->state) {
	case TCP_STATE_ESTABLISHED:
		flow->state = TCP_STATE_CLOSE_WAIT;
		break;
	case TCP_STATE_FIN_WAIT_1:
		flow->state = TCP_STATE_CLOSING;
		break;
	case TCP_STATE_FIN_WAIT_2:
		tcp_wait_a_time(flow, change);
		break;
	}
}

/* Whether the destination has not sent its FIN, after which nothing is accepted. */
xway_inline int tcp_may_receive(const struct tcp_flow *flow)
{
	__u32 states = 1 << TCP_STATE_ESTABLISHED | 1 << TCP_STATE_FIN_WAIT_1 |
		       1 << TCP_STATE_FIN_WAIT_2;
	__u32 may = states >> (flow->state & 15) & 1;

	xway_opaque(may);
	return may;
}

/* Payload is acknowledged and discarded; data that arrives out of order must be sent again. */
xway_inline void tcp_text_arrived(struct tcp_flow *flow, const struct segment *segment)
{
	__u32 end = segment->seq + segment->length;

	if (!tcp_may_receive(flow))
		return;
	flow->owes |= TCP_OWES_ACK;
	if ((__s32)(segment->seq - flow->rcv_nxt) <= 0 && (__s32)(end - flow->rcv_nxt) > 0)
		flow->rcv_nxt = end;
}

/* Keeps the peer's timestamp, unless it is older; without a branch, as tcp_most(). */
xway_inline void tcp_take_stamp(struct tcp_flow *flow, const struct segment *segment)
{
	__s64 newer = (__s32)(segment->ts_value - flow->ts_recent);

	xway_opaque(newer);
	flow->ts_recent += newer & ~(newer >> 63);
}

/* RFC 9293, 3.10.7.4, first check, and RFC 7323, 5.3. */
xway_inline int tcp_is_acceptable(const struct tcp_flow *flow, const struct segment *segment)
{
	__u32 length = segment->length + (segment->flags & TCP_FIN);
	__s32 start = segment->seq - flow->rcv_nxt;

	if (start >= (__s32)TCP_OUR_WINDOW || start + (__s32)(length ? length : 1) <= 0)
		return 0;
	/* A timestamp that is one tick older results from reordering: Linux's TCP_PAWS_WINDOW. */
	return !(flow->has & TCP_HAS_TIMESTAMPS) || !segment->has_timestamps ||
	       (__s32)(segment->ts_value - flow->ts_recent) >= -1;
}

/*
 * Whether this is an acknowledgement without data that later segments overtook: Linux does not
 * answer it.
 */
xway_inline int tcp_is_overtaken(const struct tcp_flow *flow, const struct segment *segment)
{
	return !segment->length && !(segment->flags & (TCP_SYN | TCP_FIN)) &&
	       (flow->has & TCP_HAS_TIMESTAMPS) && segment->has_timestamps &&
	       (__s32)(segment->ts_value - flow->ts_recent) < -1 &&
	       (__s32)(segment->seq - flow->rcv_nxt) < 0;
}

xway_inline enum xway_reason tcp_reset_arrived(struct tcp_flow *flow,
					       const struct segment *segment,
					       struct tcp_change *change)
{
	__u32 ahead = segment->seq - flow->rcv_nxt;

	if (ahead) /* RFC 5961, 3.2: a sender that means it will send it where it counts. */
		return tcp_unacceptable(flow, change,
					ahead < TCP_OUR_WINDOW ? TCP_OWES_ACK : 0);
	tcp_close(flow, change, TCP_END_RESET);
	return XWAY_TAKEN;
}

xway_inline enum xway_reason tcp_continuing(struct tcp_flow *flow,
					    const struct segment *segment,
					    struct tcp_change *change)
{
	__u64 ack = tcp_position(flow, segment->ack);
	__u64 oldest;

	if (segment->flags & TCP_RST)
		return tcp_reset_arrived(flow, segment, change);
	/*
	 * Linux does not answer segments that are neither acknowledgements nor SYNs, at any
	 * position.
	 */
	if (!(segment->flags & (TCP_ACK | TCP_SYN)))
		return tcp_unacceptable(flow, change, 0);
	if (!tcp_is_acceptable(flow, segment) || (segment->flags & TCP_SYN))
		return tcp_unacceptable(flow, change,
					tcp_is_overtaken(flow, segment) ? 0 : TCP_OWES_ACK);
	/* RFC 5961, 5.2. */
	if ((__s64)ack > (__s64)flow->nxt)
		return tcp_unacceptable(flow, change, TCP_OWES_ACK);
	/* Older than a window, or acknowledging data that was never sent. */
	oldest = flow->una - tcp_least(flow->una, flow->window_most);
	if ((__s64)ack < (__s64)oldest)
		return tcp_unacceptable(flow, change, 0);

	flow->silent = 0;
	if (segment->has_timestamps && (__s32)(segment->seq - flow->rcv_nxt) <= 0)
		tcp_take_stamp(flow, segment);
	tcp_acknowledged(flow, segment, change, ack);
	if (flow->una == tcp_end_of(flow))
		tcp_fin_acknowledged(flow, change);
	if (segment->length)
		tcp_text_arrived(flow, segment);
	if (segment->flags & tcp_may_receive(flow) * TCP_FIN &&
	    segment->seq + segment->length == flow->rcv_nxt)
		tcp_fin_arrived(flow, change);
	return XWAY_TAKEN;
}

/* Called under the lock. */
xway_inline enum xway_reason tcp_arrived(struct tcp_flow *flow, const struct segment *segment,
					 struct tcp_change *change)
{
	if (flow->state == TCP_STATE_SYN_SENT)
		return tcp_opening(flow, segment, change);
	if (tcp_is_open(flow))
		return tcp_continuing(flow, segment, change);
	/* The connection does not exist (any more): RFC 9293, 3.10.7.1. */
	if ((segment->flags & (TCP_ACK | TCP_RST)) == TCP_ACK)
		tcp_owe_reset(flow, segment->ack);
	return tcp_unacceptable(flow, change, 0);
}

/* Processes a segment of flow `id`; returns enum xway_reason. */
xway_global int tcp_take_segment(__u32 id, const struct segment *segment)
{
	struct flow_entry *entry = bpf_map_lookup_elem(&tcp_flows, &id);
	struct tcp_change change = { .flow = id };
	__u32 *tick = tcp_tick(id);
	enum xway_reason reason;

	if (!entry || !tick || !segment)
		return XWAY_NOT_OURS;
	change.now = bpf_ktime_get_ns();
	bpf_spin_lock(&entry->lock);
	reason = tcp_arrived(&entry->flow, segment, &change);
	change.wake = tcp_take_place(&entry->flow);
	tcp_hint(&entry->flow, tick);
	bpf_spin_unlock(&entry->lock);
	tcp_tell(&change);
	return reason;
}

/* Processes the SACK blocks of an accepted segment. */
xway_global int tcp_take_sack(__u32 id, struct segment *segment)
{
	struct flow_entry *entry = bpf_map_lookup_elem(&tcp_flows, &id);
	struct tcp_change change = { .flow = id };

	if (!entry || !segment)
		return 0;
	bpf_spin_lock(&entry->lock);
	if (tcp_is_open(&entry->flow) && (entry->flow.has & TCP_HAS_SACK)) {
		tcp_take_blocks(&entry->flow, segment, &change);
		tcp_recover_sack(&entry->flow);
		change.wake = tcp_take_place(&entry->flow);
	}
	bpf_spin_unlock(&entry->lock);
	tcp_tell(&change);
	return 0;
}

#endif
