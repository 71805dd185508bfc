// SPDX-License-Identifier: Dual MIT/GPL
/*
 * answer: receives the answers of a scan.
 *
 * Genuine answers, the first one of each target, become records for user space. All packets go to
 * the stack except genuine answers, which it does not expect: a SYN-ACK is answered with a reset.
 * Forged answers go to the stack as any other packet.
 */
#include "answer.abi.h"

#include <xway/bpf.h>
#include <xway/parse.h>
#include <xway/stats.h>

#include "judge.h"
#include "reset.h"
#include "seen.h"

/* Records that user space has not read. User space sets the size. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} answer_records SEC(".maps");

/* Their types bring names into the object's BTF. */
const volatile enum answer_state answer_last_state = ANSWER_UNREACHABLE;
const volatile struct answer_record answer_no_record;

xway_inline enum answer_state answer_state(enum xway_reason reason)
{
	if (reason == XWAY_OPEN)
		return ANSWER_OPEN;
	return reason == XWAY_CLOSED ? ANSWER_CLOSED : ANSWER_UNREACHABLE;
}

/* Writes the record of a genuine answer. */
xway_inline void answer_write(struct answer_record *record, const struct answer *answer,
			      enum xway_reason reason)
{
	*record = (struct answer_record){
		.time_ns = bpf_ktime_get_ns(),
		.port = answer->port,
		.state = answer_state(reason),
		.ttl = answer->ttl,
		.icmp_type = answer->icmp_type,
		.icmp_code = answer->icmp_code,
	};
	__builtin_memcpy(record->target, &answer->target, sizeof(record->target));
	__builtin_memcpy(record->from, &answer->from, sizeof(record->from));
}

/*
 * Passes the first genuine answer of a target to user space; returns the reason to count. A target
 * is remembered only with its record, so that a later answer counts where one was lost here.
 */
xway_inline enum xway_reason answer_take(const struct answer *answer, enum xway_reason reason)
{
	struct answer_record *record;

	if (reason < XWAY_OPEN || reason > XWAY_UNREACHABLE)
		return reason;
	record = bpf_ringbuf_reserve(&answer_records, sizeof(*record), 0);
	if (!record)
		return XWAY_RING_FULL;
	if (answer_was_seen(answer_expected.seen_mask, answer->cookie)) {
		bpf_ringbuf_discard(record, 0);
		return XWAY_DOUBLED;
	}
	answer_write(record, answer, reason);
	bpf_ringbuf_submit(record, 0);
	return reason;
}

/* The verdict for a judged packet, which may have been turned into a reset. */
xway_inline __u32 answer_verdict(enum xway_reason reason, int is_reset)
{
	if (reason < XWAY_OPEN || reason == XWAY_FALSE)
		return XDP_PASS;
	return is_reset ? XDP_TX : XDP_DROP;
}

/* Handles what follows an IP header to the source of the probes. */
xway_inline int answer_receive(struct xdp_md *ctx, struct xway_cursor *cur,
			       const struct ethhdr *eth, const void *ip, int protocol,
			       struct answer *answer, int is_ipv6)
{
	__u64 bytes = xway_frame_bytes(ctx, 0);
	struct tcphdr *tcp = NULL;
	enum xway_reason reason;
	int is_reset;

	answer->target = answer->from;
	reason = answer_judge(cur, protocol, answer, &tcp, is_ipv6);
	is_reset = reason == XWAY_OPEN && tcp && answer_expected.resets;
	reason = answer_take(answer, reason);
	/* Without a reset, the target repeats an answer that was lost here. */
	if (is_reset && reason != XWAY_RING_FULL)
		is_reset = is_ipv6 ? reset_send6(ctx, eth, ip, tcp) :
				     reset_send4(ctx, eth, ip, tcp);
	else
		is_reset = 0;
	return xway_done_bytes(bytes, answer_verdict(reason, is_reset), reason);
}

xway_inline int answer_packet4(struct xdp_md *ctx, struct xway_cursor *cur,
			       const struct ethhdr *eth)
{
	struct answer answer = {};
	struct iphdr *ip;
	int protocol = xway_parse_ipv4(cur, &ip);

	if (protocol < 0)
		return xway_done(ctx, 0, XDP_PASS, cur->fault);
	if (!answer_is_source(&ip->daddr, 0))
		return xway_done(ctx, 0, XDP_PASS, XWAY_OTHER);
	answer_copy(&answer.from, &ip->saddr, 0);
	answer.ttl = ip->ttl;
	return answer_receive(ctx, cur, eth, ip, protocol, &answer, 0);
}

xway_inline int answer_packet6(struct xdp_md *ctx, struct xway_cursor *cur,
			       const struct ethhdr *eth)
{
	struct answer answer = {};
	struct ipv6hdr *ip;
	int protocol = xway_parse_ipv6(cur, &ip);

	if (protocol < 0)
		return xway_done(ctx, 0, XDP_PASS, cur->fault);
	if (!answer_is_source(ip->daddr.s6_addr32, 1))
		return xway_done(ctx, 0, XDP_PASS, XWAY_OTHER);
	answer_copy(&answer.from, ip->saddr.s6_addr32, 1);
	answer.ttl = ip->hop_limit;
	return answer_receive(ctx, cur, eth, ip, protocol, &answer, 1);
}

SEC("xdp")
int xway_answer(struct xdp_md *ctx)
{
	struct xway_cursor cur;
	struct ethhdr *eth;
	int type;

	xway_cursor(&cur, ctx, 0);
	type = xway_parse_eth(&cur, &eth);
	if (type < 0)
		return xway_done(ctx, 0, XDP_PASS, cur.fault);
	/* A tagged frame cannot be turned into a reset without its tag. */
	if (cur.tags)
		return xway_done(ctx, 0, XDP_PASS, XWAY_OTHER);
	if (type == ETH_P_IP && !answer_expected.is_ipv6)
		return answer_packet4(ctx, &cur, eth);
	if (type == ETH_P_IPV6 && answer_expected.is_ipv6)
		return answer_packet6(ctx, &cur, eth);
	return xway_done(ctx, 0, XDP_PASS, XWAY_OTHER);
}

char xway_license[] SEC("license") = "Dual MIT/GPL";
