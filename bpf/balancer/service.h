/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Which service a packet is for, and its hash.
 *
 * There is one lookup for each pattern that is in use, the most specific one first. Patterns change
 * in one step: user space writes the set that is not in use, then selects it.
 *
 * Each processor remembers what was found for a destination, also that there is no service. What it
 * remembers is of a generation of the services: user space begins a new one after each change.
 */
#ifndef BALANCER_SERVICE_H
#define BALANCER_SERVICE_H

#include "balancer.abi.h"

#include <xway/bpf.h>
#include <xway/parse.h>

/* Index: the set. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct balancer_patterns);
} balancer_patterns SEC(".maps");

/* The generation of services and patterns; its lowest bit is the set in use. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} balancer_active SEC(".maps");

/* Secret numbers of the hash; balancers that share clients have the same. */
const volatile __u64 balancer_seed[6] = {
	0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9, 0x94d049bb133111eb,
	0xd6e8feb86659fd93, 0xa0761d6478bd642f, 0xe7037ed1a0b428db,
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct balancer_key);
	__type(value, struct balancer_service);
} balancer_services SEC(".maps");

/* What a packet needs of its service: the beginning of `struct balancer_service`. */
struct service_rule {
	__u64 source[2];
	__u64 dest;
	__be32 ports;
	__u32 table;
	__u32 former;
	__u32 flags;
};
_Static_assert(sizeof(struct service_rule) == 40, "no hidden padding");

/* What was found for a destination. */
struct service_memo {
	__u64 dest[2];
	/* Port, protocol, family and generation; 0 in an entry that is empty. */
	__u64 rest;
	/* Its table is BALANCER_NO_TABLE if there is no service. */
	struct service_rule rule;
};
_Static_assert(sizeof(struct service_memo) == 64, "one cache line");

#define BALANCER_MEMO_BITS 10

/* Index: a hash of the destination. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1 << BALANCER_MEMO_BITS);
	__type(key, __u32);
	__type(value, struct service_memo);
} balancer_memos SEC(".maps");

/* The flow of a packet, in the direction from the client to the service. */
struct flow_facts {
	/* IPv4 addresses are mapped. */
	__be32 source[4];
	__be32 dest[4];
	__be16 source_port;
	__be16 dest_port;
	/* IPPROTO_ICMP for echo requests of both families. */
	__u8 protocol;
	__u8 is_ipv6;
	/* Of the packet's IP header. */
	__u8 traffic_class;
	__u8 may_fragment;
	/* Of TCP: its sequence number. */
	__u32 sequence;
	/* enum flow_signal */
	__u8 signal;
	/* The checksum of its transport is that of the whole packet. */
	__u8 is_whole;
	/* A later fragment. */
	__u8 is_later;
	/* That or a first one. */
	__u8 is_fragment;
	/* Of a fragment. */
	__be32 identification;
	/* Bytes of the IP packet. */
	__u32 length;
	/* Bytes after the transport header that was read, which is the quoted one in errors. */
	__u32 left;
	/* Only for translation: where its transport is in the frame, and what is known of it. */
	__u32 transport;
	__u32 transport_left;
	__u32 known;
};

#define BALANCER_MAPPED xway_htonl(0xffff)

xway_inline void balancer_map4(__be32 to[4], __be32 address)
{
	to[0] = 0;
	to[1] = 0;
	to[2] = BALANCER_MAPPED;
	to[3] = address;
}

/* Copies an address in two loads. */
xway_inline void balancer_copy6(__be32 to[4], const struct in6_addr *from)
{
	__u64 low = *(const __u64 *)from, high = *((const __u64 *)from + 1);

	xway_memcpy(to, &low, sizeof(low));
	xway_memcpy(to + 2, &high, sizeof(high));
}

xway_inline __u64 balancer_pair(const __be32 *words)
{
	return words[0] | (__u64)words[1] << 32;
}

/* `rest` of a memo, from below: port, protocol, family, generation. */
#define REST_PORT 0xffff
#define REST_PROTOCOL 0xff0000
#define REST_IPV6 0x1000000
#define REST_GENERATION_SHIFT 32

/* `struct balancer_key` in words: what smaller stores wrote takes longer to read. */
struct key_words {
	__u64 address[2];
	__u64 rest;
};
_Static_assert(sizeof(struct key_words) == sizeof(struct balancer_key), "the same key");

/* Port, protocol, and how many bits of address and port count. */
xway_inline __u64 balancer_key_rest(__u64 rest, __u64 port, __u64 address_bits, __u64 port_bits)
{
	return (rest & port & REST_PORT) | (rest & REST_PROTOCOL) | address_bits << 24 |
	       port_bits << 32;
}

xway_inline struct balancer_service *balancer_find4(__u64 high, __u64 rest,
						    const struct balancer_patterns *patterns)
{
	for (__u32 i = 0; i < BALANCER_PATTERNS && i < patterns->count4; i++) {
		const struct balancer_pattern4 *pattern = &patterns->v4[i];
		__u64 address = high >> 32 & pattern->address;
		struct key_words key = {
			.address = { 0, BALANCER_MAPPED | address << 32 },
			.rest = balancer_key_rest(rest, pattern->port, pattern->address_bits,
						  pattern->port_bits),
		};
		struct balancer_service *service = bpf_map_lookup_elem(&balancer_services, &key);

		if (service)
			return service;
	}
	return NULL;
}

xway_inline struct balancer_service *balancer_find6(__u64 low, __u64 high, __u64 rest,
						    const struct balancer_patterns *patterns)
{
	for (__u32 i = 0; i < BALANCER_PATTERNS && i < patterns->count6; i++) {
		const struct balancer_pattern6 *pattern = &patterns->v6[i];
		struct key_words key = {
			.address = { low & balancer_pair(pattern->address),
				     high & balancer_pair(pattern->address + 2) },
			.rest = balancer_key_rest(rest, pattern->port, pattern->address_bits,
						  pattern->port_bits),
		};
		struct balancer_service *service = bpf_map_lookup_elem(&balancer_services, &key);

		if (service)
			return service;
	}
	return NULL;
}

/*
 * Looks a service up by all patterns and remembers it; 0 if there is none. That there is none is
 * remembered, too, but does not displace a service, so that packets to many other destinations
 * leave the services remembered. The address is in two words. Verified once: the program has too
 * many paths otherwise.
 */
xway_global int balancer_seek(__u64 low, __u64 high, __u64 rest, struct service_memo *memo)
{
	__u32 set = rest >> REST_GENERATION_SHIFT & 1;
	const struct balancer_patterns *patterns = bpf_map_lookup_elem(&balancer_patterns, &set);
	const struct balancer_service *service;

	if (!patterns || !memo)
		return 0;
	service = rest & REST_IPV6 ? balancer_find6(low, high, rest, patterns) :
				     balancer_find4(high, rest, patterns);
	if (service)
		xway_memcpy(&memo->rule, service, sizeof(memo->rule));
	else if (memo->rule.table != BALANCER_NO_TABLE &&
		 memo->rest >> REST_GENERATION_SHIFT == rest >> REST_GENERATION_SHIFT)
		return 0;
	else
		memo->rule.table = BALANCER_NO_TABLE;
	memo->dest[0] = low;
	memo->dest[1] = high;
	memo->rest = rest;
	return !!service;
}

/* What a packet needs of the service that it is for; NULL if it is for none. */
xway_inline const struct service_rule *balancer_find_service(const struct flow_facts *flow)
{
	__u32 only = 0, index, generation;
	const volatile __u32 *active = bpf_map_lookup_elem(&balancer_active, &only);
	struct service_memo *memo;
	__u64 low, high, rest;

	if (!active)
		return NULL;
	generation = *active;
	low = balancer_pair(flow->dest);
	high = balancer_pair(flow->dest + 2);
	rest = flow->dest_port | (__u64)flow->protocol << 16 | (__u64)flow->is_ipv6 << 24 |
	       (__u64)generation << REST_GENERATION_SHIFT;
	index = ((low ^ high ^ rest) * 0x9e3779b97f4a7c15) >> (64 - BALANCER_MEMO_BITS);
	memo = bpf_map_lookup_elem(&balancer_memos, &index);
	if (!memo)
		return NULL;
	if ((memo->dest[0] != low || memo->dest[1] != high || memo->rest != rest) &&
	    !balancer_seek(low, high, rest, memo))
		return NULL;
	return memo->rule.table != BALANCER_NO_TABLE ? &memo->rule : NULL;
}

/*
 * The hash of a flow, by the fields that the service selects. Each product has a secret factor
 * that is not multiplied by another field of the sender's choice alone; the end spreads the sum
 * over the bits of which slot, line and tag are.
 */
xway_inline __u64 balancer_hash(const struct flow_facts *flow,
				const struct service_rule *service)
{
	__u64 ports = (flow->source_port | (__u32)flow->dest_port << 16) & service->ports;
	__u64 hash = ((balancer_pair(flow->source) & service->source[0]) + balancer_seed[0]) *
		     ((balancer_pair(flow->source + 2) & service->source[1]) + balancer_seed[1]);

	hash += ((balancer_pair(flow->dest) & service->dest) + balancer_seed[2]) *
		((balancer_pair(flow->dest + 2) & service->dest) + balancer_seed[3]);
	hash += ((ports | (__u64)flow->protocol << 32) + balancer_seed[4]) * balancer_seed[5];
	hash ^= hash >> 32;
	hash *= 0xd6e8feb86659fd93;
	return hash ^ hash >> 32;
}

#endif
