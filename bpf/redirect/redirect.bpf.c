// SPDX-License-Identifier: Dual MIT/GPL
/*
 * redirect: gives packets to AF_XDP sockets, all of a queue or those that rules match; the rest
 * goes to the stack untouched.
 *
 * Path of a packet: nothing at all for a whole queue; else parse to the ports, find a group with
 * a matching rule and a socket, note what is known of the packet in front of it. Rule: whatever
 * is missing (a socket, a map, room in front) ends in XDP_PASS or in doing without, never in a
 * drop. The entries differ in what kernels and devices take: xway/frame.h tells of `frags`.
 */
#include "redirect.abi.h"

#include <xway/bpf.h>
#include <xway/parse.h>

#include "metadata.h"

const volatile enum redirect_work redirect_work = REDIRECT_WORK_NONE;
/* Receive queues of the interface. */
const volatile __u32 redirect_queues = 1;

/* The loader sets the size: see redirect.abi.h. */
struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} redirect_xsks SEC(".maps");

/* Written by all owners of groups through shared memory. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct redirect_state);
} redirect_state SEC(".maps");

/*
 * What was read of the packet at hand. In a map and not on the stack, so that the verifier
 * forgets what it knows of it: it would compare each way through the headers with all rules.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct redirect_facts);
} redirect_facts SEC(".maps");

/* Source and destination port, where this packet has them. */
xway_inline void redirect_read_ports(struct xway_cursor *cur, struct redirect_facts *facts)
{
	struct xway_ports *ports;

	if (!xway_has_ports(facts->protocol) || xway_is_later_fragment(cur))
		return;
	if (xway_parse_ports(cur, &ports) < 0)
		return;
	facts->source_port = xway_ntohs(ports->source);
	facts->port = xway_ntohs(ports->dest);
	facts->known |= REDIRECT_KNOWN_PORTS;
}

xway_inline void redirect_read_ipv4(struct xway_cursor *cur, struct redirect_facts *facts)
{
	struct iphdr *ip;
	int protocol = xway_parse_ipv4(cur, &ip);

	if (protocol < 0)
		return;
	facts->source[0] = ip->saddr;
	facts->destination[0] = ip->daddr;
	facts->protocol = protocol;
	facts->known = REDIRECT_KNOWN_IP;
	redirect_read_ports(cur, facts);
}

xway_inline void redirect_read_ipv6(struct xway_cursor *cur, struct redirect_facts *facts)
{
	struct ipv6hdr *ip;
	int protocol = xway_parse_ipv6(cur, &ip);

	if (protocol < 0)
		return;
	xway_memcpy(facts->source, &ip->saddr, sizeof(facts->source));
	xway_memcpy(facts->destination, &ip->daddr, sizeof(facts->destination));
	facts->protocol = protocol;
	facts->known = REDIRECT_KNOWN_IP;
	redirect_read_ports(cur, facts);
}

/* What can be read; -1 when not even the EtherType can. */
xway_inline int redirect_read(struct xdp_md *ctx, int frags, struct redirect_facts *facts)
{
	struct xway_cursor cur;
	struct ethhdr *eth;
	int type;

	*facts = (struct redirect_facts){};
	xway_cursor(&cur, ctx, frags);
	type = xway_parse_eth(&cur, &eth);
	if (type < 0)
		return -1;
	facts->ethertype = type;
	if (type == ETH_P_IP)
		redirect_read_ipv4(&cur, facts);
	else if (type == ETH_P_IPV6)
		redirect_read_ipv6(&cur, facts);
	return 0;
}

/* Not zero when the port is none of `first` and the `more` behind it. */
xway_inline __u64 redirect_outside(__u16 port, __u16 first, __u16 more)
{
	return ((__u64)more - (__u16)(port - first)) >> 63;
}

/* Without a branch for each part: the verifier would walk through all combinations. */
xway_inline int redirect_rule_matches(const struct redirect_facts *facts,
				      const struct redirect_rule *rule)
{
	const __u64 *fact = (const __u64 *)facts;
	const __u64 *mask = (const __u64 *)&rule->mask;
	const __u64 *value = (const __u64 *)&rule->value;
	__u64 differs;

	differs = redirect_outside(facts->source_port, rule->source_first, rule->source_more);
	differs |= redirect_outside(facts->port, rule->first, rule->more);
	xway_unroll
	for (__u32 i = 0; i < sizeof(*facts) / sizeof(*fact); i++)
		differs |= (fact[i] & mask[i]) ^ value[i];
	return !differs;
}

xway_inline int redirect_group_matches(const struct redirect_facts *facts,
				       const struct redirect_state *state, __u32 group)
{
	__u64 rules = state->rules[group];

	for (__u32 i = 0; i < REDIRECT_RULES; i++) {
		if (i >= rules)
			return 0;
		if (redirect_rule_matches(facts, &state->groups[group].rules[i]))
			return 1;
	}
	return 0;
}

/* The first group that wants the packet and has a socket for its queue gets it. */
xway_inline int redirect_by_rules(struct xdp_md *ctx, int frags)
{
	__u32 only = 0;
	struct redirect_state *state = bpf_map_lookup_elem(&redirect_state, &only);
	struct redirect_facts *facts = bpf_map_lookup_elem(&redirect_facts, &only);
	__u32 queue = ctx->rx_queue_index;

	if (!state || !facts || queue >= redirect_queues || redirect_read(ctx, frags, facts) < 0)
		return XDP_PASS;
	for (__u32 group = 0; group < REDIRECT_GROUPS; group++) {
		__u32 slot = group * redirect_queues + queue;

		if (!redirect_group_matches(facts, state, group))
			continue;
		if (bpf_redirect_map(&redirect_xsks, slot, XDP_PASS) == XDP_REDIRECT)
			return XDP_REDIRECT;
	}
	return XDP_PASS;
}

xway_inline int redirect_packet(struct xdp_md *ctx, int frags, int bound)
{
	__u32 queue = ctx->rx_queue_index;
	int verdict;

	if (redirect_work == REDIRECT_WORK_NONE)
		return bpf_redirect_map(&redirect_xsks, queue, XDP_PASS);
	if (redirect_work & REDIRECT_WORK_RULES)
		verdict = redirect_by_rules(ctx, frags);
	else
		verdict = bpf_redirect_map(&redirect_xsks, queue, XDP_PASS);
	if (redirect_work & REDIRECT_WORK_METADATA && verdict == XDP_REDIRECT)
		redirect_annotate(ctx, bound);
	return verdict;
}

SEC("xdp")
int xway_redirect(struct xdp_md *ctx)
{
	return redirect_packet(ctx, 0, 0);
}

SEC("?xdp.frags")
int xway_redirect_frags(struct xdp_md *ctx)
{
	return redirect_packet(ctx, 1, 0);
}

/* Bound to one device, whose metadata it asks for. Linux 6.8. */
SEC("?xdp.frags")
int xway_redirect_device(struct xdp_md *ctx)
{
	return redirect_packet(ctx, 1, 1);
}

char xway_license[] SEC("license") = "Dual MIT/GPL";
