/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Eight small programs, each with a purpose of its own, for the benchmark of chains; and the same
 * eight, and the first two, as one program, with the counters that a chain keeps and without.
 *
 * Rule: every step finds the headers anew, as programs of different authors do.
 */
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/udp.h>

#include <xway/bpf.h>
#include <xway/frame.h>

#define STEPS 8
/* Entries of a step's counters: the five verdicts and "no verdict", as in a chain. */
#define ENTRIES 6

struct count {
	__u64 packets;
	__u64 bytes;
};

/* The counters of all steps, which are looked up once for a packet, as in a chain. */
struct counts {
	struct count of_step[STEPS][ENTRIES];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, __u32);
	__type(value, struct counts);
	__uint(max_entries, 1);
} merged_verdicts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, __be16);
	__type(value, __u8);
	__uint(max_entries, 1024);
} blocked_ports SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, __be32);
	__type(value, __u8);
	__uint(max_entries, 1024);
} blocked_sources SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, 256);
} protocol_counts SEC(".maps");

xway_inline struct iphdr *ipv4(struct xdp_md *ctx)
{
	struct ethhdr *eth = xway_data(ctx);
	struct iphdr *ip = (void *)(eth + 1);

	if ((void *)(ip + 1) > xway_data_end(ctx) || xway_eth_type(eth) != xway_htons(ETH_P_IP))
		return NULL;
	return ip;
}

xway_inline int step_length(struct xdp_md *ctx)
{
	return xway_data(ctx) + 42 > xway_data_end(ctx) ? XDP_DROP : XDP_PASS;
}

xway_inline int step_types(struct xdp_md *ctx)
{
	struct ethhdr *eth = xway_data(ctx);

	if ((void *)(eth + 1) > xway_data_end(ctx))
		return XDP_DROP;
	switch (xway_eth_type(eth)) {
	case xway_htons(ETH_P_IP):
	case xway_htons(ETH_P_IPV6):
	case xway_htons(ETH_P_ARP):
		return XDP_PASS;
	default:
		return XDP_DROP;
	}
}

xway_inline int step_ttl(struct xdp_md *ctx)
{
	struct iphdr *ip = ipv4(ctx);

	return ip && ip->ttl == 0 ? XDP_DROP : XDP_PASS;
}

xway_inline int step_fragments(struct xdp_md *ctx)
{
	struct iphdr *ip = ipv4(ctx);

	return ip && ip->frag_off & xway_htons(0x3fff) ? XDP_DROP : XDP_PASS;
}

xway_inline int step_martians(struct xdp_md *ctx)
{
	struct iphdr *ip = ipv4(ctx);
	__u32 source;

	if (!ip)
		return XDP_PASS;
	source = xway_ntohl(ip->saddr);
	return source >> 24 == 127 || source >> 24 == 0 || source >> 28 == 14 ? XDP_DROP : XDP_PASS;
}

xway_inline int step_ports(struct xdp_md *ctx)
{
	struct iphdr *ip = ipv4(ctx);
	struct udphdr *udp;

	if (!ip || ip->protocol != IPPROTO_UDP || ip->ihl != 5)
		return XDP_PASS;
	udp = (void *)(ip + 1);
	if ((void *)(udp + 1) > xway_data_end(ctx))
		return XDP_DROP;
	__be16 port = udp->dest;

	return bpf_map_lookup_elem(&blocked_ports, &port) ? XDP_DROP : XDP_PASS;
}

xway_inline int step_sources(struct xdp_md *ctx)
{
	struct iphdr *ip = ipv4(ctx);
	__be32 source;

	if (!ip)
		return XDP_PASS;
	source = ip->saddr;
	return bpf_map_lookup_elem(&blocked_sources, &source) ? XDP_DROP : XDP_PASS;
}

xway_inline int step_protocols(struct xdp_md *ctx)
{
	struct iphdr *ip = ipv4(ctx);
	__u32 key = ip ? ip->protocol : 0;
	__u64 *count = bpf_map_lookup_elem(&protocol_counts, &key);

	if (count)
		*count += 1;
	return XDP_PASS;
}

/* Counts the verdict of a step, and returns whether the next one runs. */
xway_inline int counted(struct counts *counts, __u32 step, int verdict, __u32 bytes)
{
	__u32 entry = (__u32)verdict < ENTRIES - 1 ? (__u32)verdict : ENTRIES - 1;
	struct count *count = &counts->of_step[step][entry];

	count->packets += 1;
	count->bytes += bytes;
	return verdict == XDP_PASS;
}

#define FIRST_TWO(run) run(0, length) run(1, types)

#define EACH_STEP(run)                                                                             \
	FIRST_TWO(run) run(2, ttl) run(3, fragments) run(4, martians)                              \
		run(5, ports) run(6, sources) run(7, protocols)

#define MEMBER(number, name)                                                                       \
	SEC("xdp") int name(struct xdp_md *ctx)                                                    \
	{                                                                                          \
		return step_##name(ctx);                                                           \
	}

EACH_STEP(MEMBER)

#define RUN(number, name)                                                                          \
	verdict = step_##name(ctx);                                                                \
	if (verdict != XDP_PASS)                                                                   \
		return verdict;

#define RUN_COUNTED(number, name)                                                                  \
	verdict = step_##name(ctx);                                                                \
	if (!counted(counts, number, verdict, bytes))                                              \
		return verdict;

#define MERGED(name, steps)                                                                        \
	SEC("xdp") int name(struct xdp_md *ctx)                                                    \
	{                                                                                          \
		int verdict;                                                                       \
                                                                                                   \
		steps(RUN)                                                                         \
		return XDP_PASS;                                                                   \
	}

#define MERGED_COUNTED(name, steps)                                                                \
	SEC("xdp") int name(struct xdp_md *ctx)                                                    \
	{                                                                                          \
		__u32 bytes = xway_data_end(ctx) - xway_data(ctx), key = 0;                        \
		struct counts *counts = bpf_map_lookup_elem(&merged_verdicts, &key);               \
		int verdict;                                                                       \
                                                                                                   \
		if (!counts)                                                                       \
			return XDP_ABORTED;                                                        \
		steps(RUN_COUNTED)                                                                 \
		return XDP_PASS;                                                                   \
	}

MERGED(merged, EACH_STEP)
MERGED_COUNTED(merged_counted, EACH_STEP)
MERGED(merged_two, FIRST_TWO)
MERGED_COUNTED(merged_two_counted, FIRST_TWO)

char _license[] SEC("license") = "Dual MIT/GPL";
