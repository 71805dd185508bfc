// SPDX-License-Identifier: Dual MIT/GPL
/*
 * filter: rules decide what becomes of a packet.
 *
 * Path of a packet: parse what some rule asks for → what is odd has a policy → the rules, as code
 * generated from them → act → count, leave. filter_match() is the place of the generated code.
 */
#include "filter.abi.h"

#include <xway/bpf.h>
#include <xway/parse.h>
#include <xway/stats.h>

#include "act.h"
#include "try.h"

/* Policy by oddity, see enum filter_policy. */
const volatile enum filter_policy filter_policies[FILTER_ODDITIES];
/* Bits of enum filter_need. */
const volatile enum filter_need filter_needs = 0xffffffff;

/*
 * The number of the first rule that matches and decides, or FILTER_NO_RULE. The loader puts code
 * generated from the rules in the place of this body; a rule that does not decide is given to
 * filter_effect() when it matches.
 */
static __attribute__((noinline)) __u32 filter_match(struct filter_packet *packet)
{
	__u32 rule = FILTER_NO_RULE;

	asm volatile("" : "+r"(rule), "+r"(packet) : : "memory");
	if (rule != FILTER_NO_RULE && filter_effect(packet, rule))
		return rule;
	return FILTER_NO_RULE;
}

xway_inline void filter_read_transport(struct xway_cursor *cur, struct filter_packet *packet,
				       int protocol)
{
	struct xway_ports *ports;

	packet->protocol = protocol;
	packet->known |= FILTER_PROTOCOL;
	if (!xway_has_ports(protocol) || xway_is_later_fragment(cur))
		return;
	if (xway_parse_ports(cur, &ports) < 0)
		return;
	packet->source_port = xway_ntohs(ports->source);
	packet->dest_port = xway_ntohs(ports->dest);
	packet->known |= FILTER_PORTS;
}

xway_inline int filter_read_ipv4(struct xway_cursor *cur, struct filter_packet *packet)
{
	struct iphdr *ip;
	int protocol = xway_parse_ipv4(cur, &ip);

	if (protocol < 0)
		return -1;
	packet->source[1] = xway_ntohl(ip->saddr);
	packet->dest[1] = xway_ntohl(ip->daddr);
	packet->ttl = ip->ttl;
	packet->dscp = ip->tos >> 2;
	packet->known |= FILTER_IPV4;
	filter_read_transport(cur, packet, protocol);
	return 0;
}

/* 0, or -1 with the reason in the cursor. */
xway_inline int filter_read(struct xway_cursor *cur, struct filter_packet *packet)
{
	struct ethhdr *eth;
	int type = xway_parse_eth(cur, &eth);

	if (type < 0)
		return -1;
	packet->ethertype = type;
	if (type == ETH_P_IP)
		return filter_read_ipv4(cur, packet);
	return 0;
}

xway_inline struct filter_end filter_judge(struct xdp_md *ctx, struct filter_packet *packet,
					   int frags)
{
	struct xway_cursor cur;
	int fault;
	__u32 rule;

	xway_cursor(&cur, ctx, frags);
	fault = filter_read(&cur, packet);
	/* Nothing that is odd about a packet helps a banned source. */
	if (filter_is_banned(packet))
		return (struct filter_end){ XDP_DROP, XWAY_BANNED };
	if (fault < 0) {
		enum filter_policy policy = FILTER_JUDGE;

		if (cur.fault < FILTER_ODDITIES)
			policy = filter_policies[cur.fault];
		if (policy != FILTER_JUDGE)
			return (struct filter_end){
				policy == FILTER_PASS ? XDP_PASS : XDP_DROP,
				cur.fault,
			};
	}
	rule = filter_match(packet);
	if (rule == FILTER_NO_RULE)
		return (struct filter_end){ filter_default, XWAY_DEFAULT };
	return filter_decided(ctx, packet, rule);
}

xway_inline int filter_run(struct xdp_md *ctx, int frags)
{
	struct filter_packet packet = {
		.ctx = (unsigned long)ctx,
		.length = xway_frame_bytes(ctx, frags),
		.sampled_by = FILTER_NO_RULE,
		.decided_by = FILTER_NO_RULE,
	};
	struct filter_end end = filter_judge(ctx, &packet, frags);

	filter_end_with(ctx, &packet, &end);
	return xway_done(ctx, frags, end.verdict, end.reason);
}

SEC("xdp")
int xway_filter(struct xdp_md *ctx)
{
	return filter_run(ctx, 0);
}

SEC("?xdp.frags")
int xway_filter_frags(struct xdp_md *ctx)
{
	return filter_run(ctx, 1);
}

char xway_license[] SEC("license") = "Dual MIT/GPL";
