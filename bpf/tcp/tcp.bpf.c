// SPDX-License-Identifier: Dual MIT/GPL
/*
 * tcp: many TCP connections to one destination, with all of their state in maps.
 *
 * `xway_tcp_send` runs on live frames, once per frame: it continues the burst that it is writing,
 * or takes the next ready flow and plans a burst for it. `xway_tcp_receive` is attached to the same
 * interface: a segment of one of our flows changes that flow, puts it into the ready ring, and is
 * dropped; everything else is passed to the stack. A segment counts only if the stack would deliver
 * it to a socket: it is sent to our MAC address, and its checksums are correct.
 */
#include "tcp.abi.h"

#include <xway/bpf.h>
#include <xway/parse.h>
#include <xway/stats.h>
#include <xway/sum.h>

#include "chores.h"
#include "flow.h"
#include "options.h"
#include "plan.h"
#include "ready.h"
#include "segment.h"
#include "state.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct tcp_control);
} tcp_control SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct tcp_sender);
} tcp_senders SEC(".maps");

/* Maximum number of flows that are tried for a burst before a frame is returned. */
#define TCP_TRIES 64
/* Maximum number of polls of the empty ring, some 50 ns each. */
#define TCP_WAIT 256

struct wait {
	struct tcp_sender *sender;
	__u64 now;
};

/* Plans a burst of a ready flow; true if there is one. */
xway_global int tcp_plan_flow(__u32 id, __u64 now)
{
	__u32 own = tcp_config.sender;
	struct tcp_sender *sender = bpf_map_lookup_elem(&tcp_senders, &own);
	struct flow_entry *entry = bpf_map_lookup_elem(&tcp_flows, &id);
	struct tcp_change change = { .flow = id, .now = now };
	__u32 *tick = tcp_tick(id);
	struct tcp_burst *burst;
	int planned;

	if (!sender || !entry || !tick)
		return 0;
	burst = &sender->burst;
	bpf_spin_lock(&entry->lock);
	planned = tcp_plan(&entry->flow, burst, &change);
	/* The flow may have more to send, and then waits for its next turn. */
	if (!planned)
		entry->flow.has &= ~TCP_HAS_PLACE;
	tcp_hint(&entry->flow, tick);
	bpf_spin_unlock(&entry->lock);
	if (!planned)
		return 0;
	burst->flow = id;
	change.segments = burst->left;
	change.wake = 1;
	tcp_prepare(burst);
	tcp_tell(&change);
	return 1;
}

/* Returns 1 to end the loop: a burst was planned, or no flow is ready. */
static long tcp_try_next(__u32 index, struct wait *wait)
{
	__u32 flow = tcp_ready_take(wait->sender);

	(void)index;
	if (!flow)
		return 1;
	tcp_plan_flow(flow - 1, wait->now);
	return wait->sender->burst.left != 0;
}

/* Returns 1 to end the loop: a flow is ready, or other work is due. */
static long tcp_wait_look(__u32 index, struct wait *wait)
{
	(void)index;
	wait->now = bpf_ktime_get_ns();
	return tcp_is_ready(wait->sender) || wait->now >= wait->sender->look;
}

/* Whether the rate allows a burst now. Unused time is not made up for. */
xway_inline int tcp_is_due(const struct tcp_sender *sender, __u64 now)
{
	return !tcp_config.byte_interval || (now - tcp_config.start) << 16 >= sender->due;
}

xway_inline void tcp_spend(struct tcp_sender *sender, __u64 now)
{
	__u64 time = (now - tcp_config.start) << 16;

	if (!tcp_config.byte_interval)
		return;
	if (sender->due < time)
		sender->due = time;
	sender->due += (sender->burst.end - sender->burst.seq) * tcp_config.byte_interval;
}

/* Plans the next burst; false if this frame has nothing to carry. */
xway_inline int tcp_next(struct tcp_sender *sender, const struct tcp_control *control)
{
	struct wait wait = {
		.sender = sender,
		.now = bpf_ktime_get_ns(),
	};

	tcp_chores(sender, control->phase, wait.now);
	/*
	 * If this batch has segments in flight, their answers may wait for its end. Otherwise only
	 * another processor can make a flow ready, and returning frames would slow it down.
	 */
	if (!tcp_is_ready(sender) && sender->runs - sender->last > tcp_config.batch)
		bpf_loop(TCP_WAIT, tcp_wait_look, &wait, 0);
	if (!tcp_is_due(sender, wait.now))
		return 0;
	bpf_loop(TCP_TRIES, tcp_try_next, &wait, 0);
	if (!sender->burst.left)
		return 0;
	tcp_spend(sender, wait.now);
	return 1;
}

/* Whether this batch has nothing more to send; determined once per batch. */
xway_inline int tcp_is_idle(struct tcp_sender *sender)
{
	if (sender->runs % tcp_config.batch == 0)
		sender->idle = 0;
	sender->runs++;
	return sender->idle;
}

SEC("xdp")
int xway_tcp_send(struct xdp_md *ctx)
{
	__u32 own = tcp_config.sender, only = 0;
	struct tcp_sender *sender = bpf_map_lookup_elem(&tcp_senders, &own);
	struct tcp_control *control = bpf_map_lookup_elem(&tcp_control, &only);

	if (!sender || !control || tcp_is_idle(sender) || control->phase == TCP_PHASE_HALT)
		return XDP_DROP;
	if (!sender->burst.left && !tcp_next(sender, control)) {
		sender->idle = 1;
		return XDP_DROP;
	}
	if (!tcp_write(ctx, &sender->burst)) {
		sender->burst.left = 0;
		return XDP_ABORTED;
	}
	sender->sent++;
	sender->last = sender->runs;
	return bpf_redirect(tcp_config.ifindex, 0);
}

/* Flow number of a packet from the destination to one of our addresses and ports; or none. */
xway_inline __u32 tcp_flow_number(__u32 address, __u16 port)
{
	__u32 place = port - tcp_config.first_port;
	/* The product of an address far from ours does not fit into 32 bits. */
	__u64 number = (__u64)address * tcp_config.ports + place;

	if (place >= tcp_config.ports || number >= tcp_config.flows)
		return tcp_config.flows;
	return number;
}

/* Distance of an IPv4 packet's destination from our first address; -1 if it is not a flow's. */
xway_inline __s64 tcp_address4(const struct iphdr *ip)
{
	if (tcp_config.ipv6 || ip->saddr != tcp_config.destination[0])
		return -1;
	return xway_ntohl(ip->daddr) - xway_ntohl(tcp_config.source[0]);
}

xway_inline __s64 tcp_address6(const struct ipv6hdr *ip)
{
	const __be32 *source = (const void *)&ip->saddr;
	const __be32 *destination = (const void *)&ip->daddr;
	__u32 other = 0;

	if (!tcp_config.ipv6)
		return -1;
	for (int i = 0; i < 4; i++)
		other |= source[i] ^ tcp_config.destination[i];
	for (int i = 0; i < 3; i++)
		other |= destination[i] ^ tcp_config.source[i];
	if (other)
		return -1;
	return xway_ntohl(destination[3]) - xway_ntohl(tcp_config.source[3]);
}

/* Whether the frame is sent to the MAC address of our flows: the stack drops all others. */
xway_inline int tcp_is_own_mac(const struct ethhdr *eth)
{
	int other = 0;

	for (int i = 0; i < ETH_ALEN; i++)
		other |= eth->h_dest[i] ^ tcp_config.macs[ETH_ALEN + i];
	return !other;
}

/* The properties of a segment from the headers before TCP. */
struct tcp_outer {
	/* Distance from our first address; negative if it is not a flow's. */
	__s64 address;
	/* Sum of the addresses, for the checksum of TCP. */
	__u64 sum;
	/* The IPv4 header is damaged. */
	__u8 damaged;
	__u8 options;
};

xway_inline int tcp_parse_ipv4(struct xway_cursor *cur, struct tcp_outer *outer)
{
	struct iphdr *ip;
	int protocol = xway_parse_ipv4(cur, &ip);
	const __u32 *words;

	if (protocol != IPPROTO_TCP)
		return protocol;
	words = (const __u32 *)ip;
	outer->address = tcp_address4(ip);
	outer->sum = (__u64)ip->saddr + ip->daddr;
	outer->options = ip->ihl != 5;
	outer->damaged = !outer->options && xway_csum_fold((__u64)words[0] + words[1] + words[2] +
							   words[3] + words[4]) != 0xffff;
	return protocol;
}

xway_inline int tcp_parse_ipv6(struct xway_cursor *cur, struct tcp_outer *outer)
{
	struct ipv6hdr *ip;
	int protocol = xway_parse_ipv6(cur, &ip);

	if (protocol != IPPROTO_TCP)
		return protocol;
	outer->address = tcp_address6(ip);
	for (int i = 0; i < 4; i++)
		outer->sum += (__u64)ip->saddr.s6_addr32[i] + ip->daddr.s6_addr32[i];
	outer->options = cur->extensions != 0;
	return protocol;
}

/* Parses TCP after either IP header; returns 0, or -1 with the cursor's fault. */
xway_inline int tcp_parse(struct xway_cursor *cur, struct tcp_outer *outer)
{
	struct ethhdr *eth;
	int protocol;

	*outer = (struct tcp_outer){ .address = -1 };
	switch (xway_parse_eth(cur, &eth)) {
	case ETH_P_IP:
		protocol = tcp_parse_ipv4(cur, outer);
		break;
	case ETH_P_IPV6:
		protocol = tcp_parse_ipv6(cur, outer);
		break;
	case -1:
		return -1;
	default:
		return xway_fault(cur, XWAY_NOT_OURS);
	}
	if (protocol < 0)
		return -1;
	if (outer->address < 0 || cur->tags || xway_is_fragment(cur) || !tcp_is_own_mac(eth))
		return xway_fault(cur, XWAY_NOT_OURS);
	return 0;
}

/*
 * Whether the checksum is wrong; `part` is the segment. A peer on this host that offloads checksums
 * to its veth device sends a partial one: the sum of the pseudo header, not complemented.
 */
xway_inline int tcp_is_damaged(const struct tcphdr *tcp, struct xway_part *part, int frags)
{
	if (tcp->check == xway_csum_fold(part->sum))
		return 0;
	return xway_sum_is_wrong(part, frags);
}

xway_inline enum xway_reason tcp_receive(struct xdp_md *ctx, int frags)
{
	struct xway_part part = { .ctx = ctx };
	struct segment segment = {};
	enum xway_reason reason;
	struct xway_cursor cur;
	struct tcp_outer outer;
	struct tcphdr *tcp;
	int payload;
	__u32 flow;

	xway_cursor(&cur, ctx, frags);
	if (tcp_parse(&cur, &outer) < 0)
		return cur.fault;
	part.at = cur.pos - xway_data(ctx);
	part.left = cur.left;
	part.sum = outer.sum + xway_sum_pseudo(IPPROTO_TCP, cur.left);
	payload = xway_parse_tcp(&cur, &tcp);
	if (payload < 0)
		return cur.fault;
	if (tcp->source != tcp_config.port)
		return XWAY_NOT_OURS;
	flow = tcp_flow_number(outer.address, xway_ntohs(tcp->dest));
	if (flow >= tcp_config.flows)
		return XWAY_NOT_OURS;
	if (outer.options || outer.damaged || tcp_is_damaged(tcp, &part, frags))
		return XWAY_REFUSED;
	tcp_read_segment(tcp, cur.end, payload, &segment);
	if (segment.is_refused)
		return XWAY_REFUSED;
	reason = tcp_take_segment(flow, &segment);
	if (segment.blocks && reason == XWAY_TAKEN)
		tcp_take_sack(flow, &segment);
	return reason;
}

xway_inline int tcp_packet(struct xdp_md *ctx, int frags)
{
	enum xway_reason reason = tcp_receive(ctx, frags);
	__u32 verdict = reason >= XWAY_TAKEN ? XDP_DROP : XDP_PASS;

	return xway_done(ctx, frags, verdict, reason);
}

SEC("xdp")
int xway_tcp_receive(struct xdp_md *ctx)
{
	return tcp_packet(ctx, 0);
}

SEC("?xdp.frags")
int xway_tcp_receive_frags(struct xdp_md *ctx)
{
	return tcp_packet(ctx, 1);
}

char xway_license[] SEC("license") = "Dual MIT/GPL";
