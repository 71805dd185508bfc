// SPDX-License-Identifier: Dual MIT/GPL
/*
 * drop: discards packets by destination address, protocol and destination port.
 *
 * Path of a packet: parse to the ports, look up under each shape in use, count, leave. All else
 * passes. Ports decide even where the rest of the transport header is nonsense, and addresses where
 * headers after them are: a flood need not be well-formed. The two entries are described in
 * xway/frame.h.
 */
#include "drop.abi.h"

#include <xway/bpf.h>
#include <xway/parse.h>
#include <xway/stats.h>
#include <xway/store.h>

/*
 * Verdict for packets that are cut short, malformed or have too many tags, which no rule about
 * addresses matches: the stack can judge them, too.
 */
const volatile __u32 drop_malformed = XDP_PASS;
/* Verdict for later fragments that only a rule with a port could match. */
const volatile __u32 drop_later_fragments = XDP_PASS;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct drop_shapes);
} drop_shapes SEC(".maps");

/* All rules. The values have no meaning; only the keys count. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct drop_rule4);
	__type(value, __u32);
} drop_rules4 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct drop_rule6);
	__type(value, __u32);
} drop_rules6 SEC(".maps");

/* The fields of a packet after its address that rules can match. */
struct drop_flow {
	__u8 protocol;
	/* 0xff when the protocol was found, else 0: shapes with a protocol do not apply. */
	__u8 protocol_known;
	__be16 port;
	/* 0xffff when the packet has a port, else 0: shapes with a port do not apply. */
	__be16 port_known;
	/* The reason for the packet if no rule matches. */
	enum xway_reason otherwise;
};

/*
 * The flow after an IP header. Without a readable port only rules without a port can match, and
 * without a protocol (-1) only rules about addresses.
 */
xway_inline void drop_read_flow(struct xway_cursor *cur, int protocol, struct drop_flow *flow)
{
	struct xway_ports *ports;

	if (protocol < 0) {
		*flow = (struct drop_flow){ .otherwise = cur->fault };
		return;
	}
	*flow = (struct drop_flow){
		.protocol = protocol,
		.protocol_known = 0xff,
		.otherwise = XWAY_NO_RULE,
	};
	if (!xway_has_ports(protocol))
		return;
	if (xway_is_later_fragment(cur)) {
		flow->otherwise = XWAY_LATER_FRAGMENT;
		return;
	}
	if (xway_parse_ports(cur, &ports) < 0) {
		flow->otherwise = XWAY_TRUNCATED;
		return;
	}
	flow->port = ports->dest;
	flow->port_known = 0xffff;
}

/* Whether a shape asks only for what is known of the packet. */
xway_inline int drop_applies(const struct drop_flow *flow, __be16 port, __u8 protocol)
{
	return !(port & ~flow->port_known) && !(protocol & ~flow->protocol_known);
}

/* `rule` &= `mask`, word by word. */
xway_inline void drop_mask(__u64 *rule, const __u64 *mask, int words)
{
	for (int i = 0; i < words; i++)
		rule[i] &= mask[i];
}

xway_inline int drop_equal(const __u64 *a, const __u64 *b, int words)
{
	__u64 difference = 0;

	for (int i = 0; i < words; i++)
		difference |= a[i] ^ b[i];
	return !difference;
}

xway_inline enum xway_reason drop_ipv4(struct xway_cursor *cur, struct drop_shapes *shapes)
{
	struct drop_flow flow;
	struct iphdr *ip;
	int protocol = xway_parse_ipv4(cur, &ip);

	if (!ip || ip->version != 4)
		return cur->fault;
	drop_read_flow(cur, protocol, &flow);

	for (int i = 0; i < DROP_SHAPES; i++) {
		struct drop_shape4 *shape = &shapes->v4[i];
		struct drop_rule4 rule = {
			.address = ip->daddr,
			.port = flow.port,
			.protocol = flow.protocol,
		};

		if (!shape->rules)
			break;
		if (!drop_applies(&flow, shape->mask.port, shape->mask.protocol))
			continue;
		drop_mask((__u64 *)&rule, (__u64 *)&shape->mask, 1);
		rule.shape = shape->mask.shape;
		if (drop_equal((__u64 *)&rule, (__u64 *)&shape->first, 1))
			return XWAY_RULE;
		if (shape->rules > 1 && bpf_map_lookup_elem(&drop_rules4, &rule))
			return XWAY_RULE;
	}
	return flow.otherwise;
}

xway_inline enum xway_reason drop_ipv6(struct xway_cursor *cur, struct drop_shapes *shapes)
{
	struct drop_flow flow;
	struct ipv6hdr *ip;
	int protocol = xway_parse_ipv6(cur, &ip);

	if (!ip || ip->version != 6)
		return cur->fault;
	drop_read_flow(cur, protocol, &flow);
	/* No rule is hidden by the headers. */
	if (flow.otherwise == XWAY_TOO_MANY_EXTENSIONS && !shapes->v6[0].rules)
		return XWAY_NO_RULE;

	for (int i = 0; i < DROP_SHAPES; i++) {
		struct drop_shape6 *shape = &shapes->v6[i];
		struct drop_rule6 rule = { .port = flow.port, .protocol = flow.protocol };

		if (!shape->rules)
			break;
		if (!drop_applies(&flow, shape->mask.port, shape->mask.protocol))
			continue;
		xway_memcpy(rule.address, &ip->daddr, sizeof(rule.address));
		drop_mask((__u64 *)&rule, (__u64 *)&shape->mask, 3);
		rule.shape = shape->mask.shape;
		if (drop_equal((__u64 *)&rule, (__u64 *)&shape->first, 3))
			return XWAY_RULE;
		if (shape->rules > 1 && bpf_map_lookup_elem(&drop_rules6, &rule))
			return XWAY_RULE;
	}
	return flow.otherwise;
}

xway_inline enum xway_reason drop_judge(struct xdp_md *ctx, int frags)
{
	__u32 only = 0;
	struct drop_shapes *shapes = bpf_map_lookup_elem(&drop_shapes, &only);
	struct xway_cursor cur;
	struct ethhdr *eth;

	if (!shapes)
		return XWAY_NO_RULE;
	xway_cursor(&cur, ctx, frags);
	switch (xway_parse_eth(&cur, &eth)) {
	case ETH_P_IP:
		return drop_ipv4(&cur, shapes);
	case ETH_P_IPV6:
		return drop_ipv6(&cur, shapes);
	case -1:
		return cur.fault;
	default:
		return XWAY_NOT_IP;
	}
}

xway_inline __u32 drop_verdict(enum xway_reason reason)
{
	switch (reason) {
	case XWAY_RULE:
	/* The stack reads all of them, so that a rule could be evaded. */
	case XWAY_TOO_MANY_EXTENSIONS:
		return XDP_DROP;
	case XWAY_NO_RULE:
	case XWAY_NOT_IP:
		return XDP_PASS;
	case XWAY_LATER_FRAGMENT:
		return drop_later_fragments;
	default:
		return drop_malformed;
	}
}

xway_inline int drop_packet(struct xdp_md *ctx, int frags)
{
	enum xway_reason reason = drop_judge(ctx, frags);
	__u32 verdict = drop_verdict(reason);

	xway_decided(XWAY_UNNUMBERED, verdict, reason);
	return xway_done(ctx, frags, verdict, reason);
}

SEC("xdp")
int xway_drop(struct xdp_md *ctx)
{
	return drop_packet(ctx, 0);
}

SEC("?xdp.frags")
int xway_drop_frags(struct xdp_md *ctx)
{
	return drop_packet(ctx, 1);
}

char xway_license[] SEC("license") = "Dual MIT/GPL";
