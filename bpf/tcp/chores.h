/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The periodic work of a sender between bursts: opens flows when they are due, ends them when the
 * run ends, and searches for expired timers.
 */
#ifndef XWAY_TCP_CHORES_H
#define XWAY_TCP_CHORES_H

#include "ready.h"
#include "timer.h"

/* Interval between two rounds, in ns. */
#define TCP_LOOK_EVERY 100000ull
/* All deadlines are scanned in this number of rounds, but at least this number of lines in each. */
#define TCP_LOOKS 64
#define TCP_LINES 4
/* Maximum number of flows that are opened or ended in one round. */
#define TCP_FLOWS 64

struct chore {
	struct tcp_sender *sender;
	__u64 now;
};

/* The first flow of this sender, and the number of its flows. */
xway_inline __u32 tcp_first(void)
{
	return tcp_config.sender * tcp_config.share;
}

xway_inline __u32 tcp_share(void)
{
	__u32 left = tcp_config.flows - tcp_first();

	return left < tcp_config.share ? left : tcp_config.share;
}

xway_inline void tcp_open(struct tcp_flow *flow, struct tcp_change *change)
{
	flow->iss = tcp_config.seed + change->flow * 0x9e3779b1u;
	flow->limit = tcp_config.bytes;
	flow->nxt = 1;
	flow->state = TCP_STATE_SYN_SENT;
	flow->owes = TCP_OWES_SYN;
	flow->timeout = TCP_FIRST_TIMEOUT;
	flow->opened = change->now;
	change->opened = 1;
	tcp_arm(flow, change->now);
}

/* Sets the FIN after the data that was sent so far. A flow without an answer yet is aborted. */
xway_inline int tcp_end_stream(struct tcp_flow *flow, struct tcp_change *change)
{
	if (flow->state == TCP_STATE_SYN_SENT)
		tcp_close(flow, change, TCP_END_ABORTED);
	if (!tcp_may_send(flow))
		return 0;
	flow->limit = flow->nxt - 1;
	return 1;
}

/*
 * The RST is at the end of the receiver's window if that is below what was sent: beyond it, the
 * receiver would ignore it.
 */
xway_inline int tcp_abort(struct tcp_flow *flow, struct tcp_change *change)
{
	__u64 seq = tcp_least(flow->nxt, flow->edge);

	if (flow->state == TCP_STATE_IDLE || flow->state == TCP_STATE_CLOSED ||
	    flow->state == TCP_STATE_TIME_WAIT)
		return 0;
	tcp_close(flow, change, TCP_END_ABORTED);
	tcp_owe_reset(flow, flow->iss + (__u32)seq);
	return 1;
}

/* Actions on a flow, which tcp_do() executes under its lock. */
enum deed { DEED_OPEN, DEED_END, DEED_ABORT, DEED_TIMER };

xway_inline int tcp_deed(struct tcp_flow *flow, struct tcp_change *change, enum deed deed)
{
	switch (deed) {
	case DEED_OPEN:
		tcp_open(flow, change);
		return 1;
	case DEED_END:
		return tcp_end_stream(flow, change);
	case DEED_ABORT:
		return tcp_abort(flow, change);
	default:
		return tcp_expired(flow, change);
	}
}

xway_global int tcp_do(__u32 id, __u64 now, enum deed deed)
{
	struct flow_entry *entry = bpf_map_lookup_elem(&tcp_flows, &id);
	struct tcp_change change = { .flow = id, .now = now };
	__u32 *tick = tcp_tick(id);

	if (!entry || !tick)
		return 0;
	bpf_spin_lock(&entry->lock);
	if (deed == DEED_TIMER)
		*tick = 0;
	if (tcp_deed(&entry->flow, &change, deed))
		change.wake = tcp_take_place(&entry->flow);
	tcp_hint(&entry->flow, tick);
	bpf_spin_unlock(&entry->lock);
	tcp_tell(&change);
	return 0;
}

/*
 * Opens the next flow if it is due; 1 ends the loop. Delays are not made up for: many SYNs in a
 * burst would overflow the listener's queue.
 */
static long tcp_open_next(__u32 index, struct chore *chore)
{
	struct tcp_sender *sender = chore->sender;
	__u64 time = (chore->now - tcp_config.start) << 16;
	__u64 late = TCP_LOOK_EVERY << 16;

	(void)index;
	if (sender->opened >= tcp_share() || time < sender->open_due)
		return 1;
	if (sender->open_due + late < time)
		sender->open_due = time - late;
	sender->open_due += tcp_config.open_interval;
	tcp_do(tcp_first() + sender->opened, chore->now, DEED_OPEN);
	sender->opened++;
	return 0;
}

/* Ends the next flow, in the way of the phase. */
static long tcp_sweep_next(__u32 index, struct chore *chore)
{
	struct tcp_sender *sender = chore->sender;

	(void)index;
	if (sender->swept >= sender->opened)
		return 1;
	tcp_do(tcp_first() + sender->swept, chore->now,
	       sender->phase == TCP_PHASE_FINISH ? DEED_END : DEED_ABORT);
	sender->swept++;
	return 0;
}

/* The first hint of a line that is due, or TCP_DEADLINES. */
xway_inline __u32 tcp_due(const struct flow_deadlines *line, __u32 tick)
{
	__u32 found = TCP_DEADLINES;

#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < TCP_DEADLINES; i++)
		if (line->tick[i] && line->tick[i] <= tick)
			found = i;
	return found;
}

/* Handles a line of deadlines: proceeds to the next, or to one flow whose timer has expired. */
static long tcp_look_at_line(__u32 index, struct chore *chore)
{
	struct tcp_sender *sender = chore->sender;
	__u32 first = tcp_first() / TCP_DEADLINES;
	__u32 number = first + sender->line;
	struct flow_deadlines *line = bpf_map_lookup_elem(&tcp_deadlines, &number);
	__u32 due = TCP_DEADLINES;

	(void)index;
	if (line)
		due = tcp_due(line, tcp_tick_of(chore->now) - 1);
	if (due < TCP_DEADLINES) {
		tcp_do(number * TCP_DEADLINES + due, chore->now, DEED_TIMER);
		return 0;
	}
	sender->line++;
	if (sender->line * TCP_DEADLINES >= sender->opened)
		sender->line = 0;
	return 0;
}

/* User space has changed the phase: flows are ended beginning with the first one. */
xway_inline void tcp_follow(struct tcp_sender *sender, __u64 phase)
{
	if (sender->phase == phase)
		return;
	sender->phase = phase;
	sender->swept = 0;
}

/* Does a part of all periodic work when it is due. */
xway_inline void tcp_chores(struct tcp_sender *sender, __u64 phase, __u64 now)
{
	struct chore chore = { .sender = sender, .now = now };

	if (now < sender->look)
		return;
	sender->look = now + TCP_LOOK_EVERY;
	tcp_follow(sender, phase);
	if (phase == TCP_PHASE_RUN)
		bpf_loop(TCP_FLOWS, tcp_open_next, &chore, 0);
	else
		bpf_loop(TCP_FLOWS, tcp_sweep_next, &chore, 0);
	bpf_loop(sender->opened / (TCP_DEADLINES * TCP_LOOKS) + TCP_LINES, tcp_look_at_line,
		 &chore, 0);
}

#endif
