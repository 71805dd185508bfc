// SPDX-License-Identifier: Dual MIT/GPL
/*
 * redirect: passes packets to AF_XDP sockets, all of a queue or those that match rules; the others
 * go to the stack unchanged.
 *
 * Path of a packet: for a whole queue, nothing is parsed; otherwise parse up to the ports, find a
 * group with a matching rule and a socket, and store the packet's metadata before it. Rule:
 * whatever is missing (a socket, a map, headroom) results in XDP_PASS or in a packet without
 * metadata, never in a drop. The entries differ in what kernels and devices support: xway/frame.h
 * describes `frags`.
 */
#include "redirect.abi.h"

#include <xway/bpf.h>
#include <xway/parse.h>

#include "metadata.h"

const volatile enum redirect_work redirect_work = REDIRECT_WORK_NONE;
/* Number of receive queues of the interface. */
const volatile __u32 redirect_queues = 1;

/* The loader sets the size, see redirect.abi.h. */
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
 * The fields of the current packet. They are in a map rather than on the stack, so that the
 * verifier does not track their values: it would combine each path through the headers with all
 * rules.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct redirect_fields);
} redirect_fields SEC(".maps");

/* Source and destination port, if the packet has them. */
xway_inline void redirect_read_ports(struct xway_cursor *cur, struct redirect_fields *fields)
{
	struct xway_ports *ports;

	if (!xway_has_ports(fields->protocol) || xway_is_later_fragment(cur))
		return;
	if (xway_parse_ports(cur, &ports) < 0)
		return;
	fields->source_port = xway_ntohs(ports->source);
	fields->port = xway_ntohs(ports->dest);
	fields->known |= REDIRECT_KNOWN_PORTS;
}

xway_inline void redirect_read_ipv4(struct xway_cursor *cur, struct redirect_fields *fields)
{
	struct iphdr *ip;
	int protocol = xway_parse_ipv4(cur, &ip);

	if (protocol < 0)
		return;
	fields->source[0] = ip->saddr;
	fields->destination[0] = ip->daddr;
	fields->protocol = protocol;
	fields->known = REDIRECT_KNOWN_IP;
	redirect_read_ports(cur, fields);
}

xway_inline void redirect_read_ipv6(struct xway_cursor *cur, struct redirect_fields *fields)
{
	struct ipv6hdr *ip;
	int protocol = xway_parse_ipv6(cur, &ip);

	if (protocol < 0)
		return;
	xway_memcpy(fields->source, &ip->saddr, sizeof(fields->source));
	xway_memcpy(fields->destination, &ip->daddr, sizeof(fields->destination));
	fields->protocol = protocol;
	fields->known = REDIRECT_KNOWN_IP;
	redirect_read_ports(cur, fields);
}

/* Reads the fields; returns -1 if not even the EtherType can be read. */
xway_inline int redirect_read(struct xdp_md *ctx, int frags, struct redirect_fields *fields)
{
	struct xway_cursor cur;
	struct ethhdr *eth;
	int type;

	*fields = (struct redirect_fields){};
	xway_cursor(&cur, ctx, frags);
	type = xway_parse_eth(&cur, &eth);
	if (type < 0)
		return -1;
	fields->ethertype = type;
	if (type == ETH_P_IP)
		redirect_read_ipv4(&cur, fields);
	else if (type == ETH_P_IPV6)
		redirect_read_ipv6(&cur, fields);
	return 0;
}

/* Not zero if the port is neither `first` nor one of the `more` after it. */
xway_inline __u64 redirect_outside(__u16 port, __u16 first, __u16 more)
{
	return ((__u64)more - (__u16)(port - first)) >> 63;
}

/* Without branches, since the verifier would follow all of their combinations. */
xway_inline int redirect_rule_matches(const struct redirect_fields *fields,
				      const struct redirect_rule *rule)
{
	const __u64 *fact = (const __u64 *)fields;
	const __u64 *mask = (const __u64 *)&rule->mask;
	const __u64 *value = (const __u64 *)&rule->value;
	__u64 differs;

	differs = redirect_outside(fields->source_port, rule->source_first, rule->source_more);
	differs |= redirect_outside(fields->port, rule->first, rule->more);
	xway_unroll
	for (__u32 i = 0; i < sizeof(*fields) / sizeof(*fact); i++)
		differs |= (fact[i] & mask[i]) ^ value[i];
	return !differs;
}

xway_inline int redirect_group_matches(const struct redirect_fields *fields,
				       const struct redirect_state *state, __u32 group)
{
	__u64 rules = state->rules[group];

	for (__u32 i = 0; i < REDIRECT_RULES; i++) {
		if (i >= rules)
			return 0;
		if (redirect_rule_matches(fields, &state->groups[group].rules[i]))
			return 1;
	}
	return 0;
}

/* The first group that matches the packet and has a socket for its queue gets it. */
xway_inline int redirect_by_rules(struct xdp_md *ctx, int frags)
{
	__u32 only = 0;
	struct redirect_state *state = bpf_map_lookup_elem(&redirect_state, &only);
	struct redirect_fields *fields = bpf_map_lookup_elem(&redirect_fields, &only);
	__u32 queue = ctx->rx_queue_index;

	if (!state || !fields || queue >= redirect_queues || redirect_read(ctx, frags, fields) < 0)
		return XDP_PASS;
	for (__u32 group = 0; group < REDIRECT_GROUPS; group++) {
		__u32 slot = group * redirect_queues + queue;

		if (!redirect_group_matches(fields, state, group))
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

/* Bound to one device, whose metadata it queries. Linux 6.8. */
SEC("?xdp.frags")
int xway_redirect_device(struct xdp_md *ctx)
{
	return redirect_packet(ctx, 1, 1);
}

char xway_license[] SEC("license") = "Dual MIT/GPL";
