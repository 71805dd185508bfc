/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Lowers the MSS that this host announces to clients of its services.
 *
 * What clients send is longer in the tunnel, and the balancer would have to refuse it. SYN-ACKs
 * leave by the stack, so this program is at the traffic-control hook (Linux 6.6).
 */
#ifndef BACKEND_MSS_H
#define BACKEND_MSS_H

#include "backend.abi.h"

#include <xway/bpf.h>
#include <xway/parse.h>

#include "setting.h"

XWAY_HELPER long (*const bpf_skb_load_bytes)(const void *skb, __u32 at, void *to, __u32 size) =
	(void *)BPF_FUNC_skb_load_bytes;
XWAY_HELPER long (*const bpf_skb_store_bytes)(struct __sk_buff *skb, __u32 at, const void *from,
					      __u32 size, __u64 flags) =
	(void *)BPF_FUNC_skb_store_bytes;
XWAY_HELPER long (*const bpf_l4_csum_replace)(struct __sk_buff *skb, __u32 at, __u64 from, __u64 to,
					      __u64 flags) = (void *)BPF_FUNC_l4_csum_replace;

/* The next program decides: TCX_NEXT. */
#define MSS_DONE -1

/* Number of announcements that were lowered. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} backend_lowered SEC(".maps");

#define MSS_KIND 2
#define MSS_LENGTH 4
#define MSS_OPTIONS 40

/* The options of a segment, with space for what the verifier takes for possible. */
struct mss_options {
	__u8 bytes[2 * (MSS_OPTIONS + 24)];
};

/* Where the MSS option begins; -1 if there is none. */
xway_inline int mss_find(const struct mss_options *options, __u32 length)
{
	__u32 at = 0;

	for (int i = 0; i < MSS_OPTIONS; i++) {
		__u8 kind, size;

		if (at + MSS_LENGTH > length || at > MSS_OPTIONS)
			return -1;
		kind = options->bytes[at & 63];
		size = options->bytes[(at & 63) + 1];
		if (kind == MSS_KIND)
			return size == MSS_LENGTH ? (int)at : -1;
		if (!kind || (kind != 1 && size < 2))
			return -1;
		at += kind == 1 ? 1 : size;
	}
	return -1;
}

/* Lowers the MSS of a segment whose TCP header begins after these bytes, to at most `limit`. */
xway_inline void mss_lower(struct __sk_buff *skb, __u32 tcp, __u32 limit)
{
	struct mss_options options = {};
	__u32 only = 0, length;
	struct tcphdr header;
	__u64 *count;
	__be16 from, to;
	int at;

	if (bpf_skb_load_bytes(skb, tcp, &header, sizeof(header)) || header.doff <= 5)
		return;
	length = (header.doff - 5) * 4;
	xway_opaque(length);
	if (length < MSS_LENGTH || length > MSS_OPTIONS ||
	    bpf_skb_load_bytes(skb, tcp + sizeof(header), &options, length))
		return;
	at = mss_find(&options, length);
	if (at < 0)
		return;
	from = options.bytes[(at & 63) + 2] | options.bytes[(at & 63) + 3] << 8;
	if (xway_ntohs(from) <= limit)
		return;
	to = xway_htons((__u16)limit);
	if (bpf_skb_store_bytes(skb, tcp + sizeof(header) + at + 2, &to, sizeof(to), 0))
		return;
	/* Options may begin at any byte, and the sum is of words. */
	if (at & 1) {
		from = __builtin_bswap16(from);
		to = __builtin_bswap16(to);
	}
	bpf_l4_csum_replace(skb, tcp + __builtin_offsetof(struct tcphdr, check), from, to,
			    sizeof(to));
	count = bpf_map_lookup_elem(&backend_lowered, &only);
	if (count)
		*count += 1;
}

/* Lowers what a SYN or SYN-ACK from the address of a service announces. */
xway_inline int mss_packet(struct __sk_buff *skb)
{
	const struct backend_settings *settings = backend_find_settings();
	void *end = (void *)(unsigned long)skb->data_end;
	void *data = (void *)(unsigned long)skb->data;
	__be32 source[4] = { 0, 0, BACKEND_MAPPED };
	const struct tcphdr *tcp;
	struct ethhdr *eth = data;
	__u32 at = sizeof(*eth), limit;

	if (!settings || (void *)(eth + 1) + sizeof(struct iphdr) > end)
		return MSS_DONE;
	if (xway_eth_type(eth) == xway_htons(ETH_P_IP)) {
		const struct iphdr *ip = data + at;

		if (ip->protocol != IPPROTO_TCP || ip->frag_off & xway_htons(XWAY_OFFSET4))
			return MSS_DONE;
		source[3] = ip->saddr;
		limit = settings->mss4;
		at += ip->ihl * 4;
	} else if (xway_eth_type(eth) == xway_htons(ETH_P_IPV6)) {
		const struct ipv6hdr *ip = data + at;

		if ((void *)(ip + 1) > end || ip->nexthdr != IPPROTO_TCP)
			return MSS_DONE;
		xway_memcpy(source, &ip->saddr, sizeof(source));
		limit = settings->mss6;
		at += sizeof(*ip);
	} else {
		return MSS_DONE;
	}
	tcp = data + at;
	if ((void *)(tcp + 1) > end || !tcp->syn || !limit || !backend_has(BACKEND_SERVICE, source))
		return MSS_DONE;
	mss_lower(skb, at, limit);
	return MSS_DONE;
}

#endif
