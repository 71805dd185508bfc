/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The paper's listing: count by IP protocol in a per-CPU array, send UDP back with its MAC
 * addresses swapped, drop the rest.
 */
#include "old.h"

struct bpf_map_def SEC("maps") rxcnt = {
	.type = BPF_MAP_TYPE_PERCPU_ARRAY,
	.key_size = sizeof(__u32),
	.value_size = sizeof(long),
	.max_entries = 256,
};

struct vlan_hdr {
	__be16 tci;
	__be16 proto;
};

static __attribute__((always_inline)) inline void swap_mac(struct ethhdr *eth)
{
	unsigned char mac[ETH_ALEN];

	__builtin_memcpy(mac, eth->h_source, ETH_ALEN);
	__builtin_memcpy(eth->h_source, eth->h_dest, ETH_ALEN);
	__builtin_memcpy(eth->h_dest, mac, ETH_ALEN);
}

SEC("xdp1")
int count_and_reflect(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	struct vlan_hdr *vlan;
	__u32 protocol = 0;
	void *header = eth + 1;
	__be16 proto;
	long *count;

	if (header > end)
		return XDP_DROP;
	proto = eth->h_proto;
	if (proto == htons(ETH_P_8021Q) || proto == htons(ETH_P_8021AD)) {
		vlan = header;
		header = vlan + 1;
		if (header > end)
			return XDP_DROP;
		proto = vlan->proto;
	}
	if (proto == htons(ETH_P_IP) && header + sizeof(struct iphdr) <= end)
		protocol = ((struct iphdr *)header)->protocol;
	else if (proto == htons(ETH_P_IPV6) && header + sizeof(struct ipv6hdr) <= end)
		protocol = ((struct ipv6hdr *)header)->nexthdr;
	count = bpf_map_lookup_elem(&rxcnt, &protocol);
	if (count)
		*count += 1;
	if (protocol != IPPROTO_UDP)
		return XDP_DROP;
	swap_mac(eth);
	return XDP_TX;
}

char _license[] SEC("license") = "GPL";
