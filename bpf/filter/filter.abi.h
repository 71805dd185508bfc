/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Layouts that the filter program, the code generated for its rules and its Rust half share:
 * reasons, the fields of a packet, actions, counters.
 *
 * The program is C, except the decision between rules, which is generated: the loader replaces
 * filter_match() in filter.bpf.c. Generated code reads `struct filter_packet` and, for rules that
 * match bytes, the packet, but nothing else, so this header is the complete interface.
 */
#ifndef XWAY_FILTER_ABI_H
#define XWAY_FILTER_ABI_H

#include <linux/types.h>

#include <xway/decision.h>
#include <xway/reason.h>

/* Anomalies of packets come first; each of them has a policy. */
enum xway_reason {
	XWAY_COMMON_REASONS,
	/* The length in the UDP header exceeds the IP packet, or is less than a header. */
	XWAY_BAD_LENGTH,
	/* A route chosen by the sender: source route of IPv4, or IPv6 routing header of type 0. */
	XWAY_SOURCE_ROUTE,
	/* Other IPv4 options, or an IPv6 routing header that is not type 2 to 4. */
	XWAY_OPTIONS,
	/* An IP protocol whose header the filter does not read. */
	XWAY_UNKNOWN_PROTOCOL,
	XWAY_FIRST_FRAGMENT,
	XWAY_LATER_FRAGMENT,
	/* A later fragment that must be treated as its first one, which is unknown. */
	XWAY_UNKNOWN_FRAGMENT,
	/* An encapsulated packet that is nested too deeply or cannot be read. */
	XWAY_TUNNEL,
	/* A rule decided. */
	XWAY_RULE,
	/* No rule matched: the default decided. */
	XWAY_DEFAULT,
	/* The source is banned. */
	XWAY_BANNED,
	/* Over a rule's limit. */
	XWAY_LIMITED,
	/* Answered with a SYN cookie, or dropped because of an invalid one. */
	XWAY_SYN_PROXY,
};
#define XWAY_REASONS (XWAY_SYN_PROXY + 1)
/* Reasons below this one have a policy. */
#define FILTER_ANOMALIES XWAY_RULE

/* The treatment of a packet with an anomaly. */
enum filter_policy {
	/* The rules judge it by the fields that could be read. */
	FILTER_JUDGE,
	FILTER_PASS,
	FILTER_DROP,
	/* It is treated as its first fragment; for XWAY_LATER_FRAGMENT only. */
	FILTER_TRACK,
};

/*
 * The headers that rules need, as a set of bits. Other headers are not read, so they have no
 * anomalies. Link: tags and EtherType. Network: everything up to the protocol. Transport: the
 * header after that. Inner: encapsulated packets, which are judged too.
 */
enum filter_need {
	FILTER_NEED_ARRIVAL = 1 << 0,
	FILTER_NEED_MACS = 1 << 1,
	FILTER_NEED_LINK = 1 << 2,
	FILTER_NEED_NETWORK = 1 << 3,
	FILTER_NEED_TRANSPORT = 1 << 4,
	FILTER_NEED_INNER = 1 << 5,
};

/* The most nested packets that are read. */
#define FILTER_LAYERS 3

/* The fields that a packet has, in `known`. Addresses, ttl and dscp: with either IP version. */
enum filter_known {
	FILTER_VLAN = 1 << 0,
	FILTER_INNER_VLAN = 1 << 1,
	FILTER_IPV4 = 1 << 2,
	FILTER_IPV6 = 1 << 3,
	/* `protocol`, which follows all extension headers. */
	FILTER_PROTOCOL = 1 << 4,
	FILTER_PORTS = 1 << 5,
	FILTER_TCP = 1 << 6,
	FILTER_ICMP = 1 << 7,
	/* `transport`, the offset of the transport header. */
	FILTER_TRANSPORT = 1 << 8,
	/* The packet contains another one, at the transport offset. */
	FILTER_INNER = 1 << 9,
	/* The packet is encapsulated in another one. */
	FILTER_INSIDE = 1 << 10,
};

/* The extension headers of a packet, in `extensions`. */
enum filter_extension {
	FILTER_HOP_BY_HOP = 1 << 0,
	FILTER_ROUTING = 1 << 1,
	FILTER_FRAGMENT_HEADER = 1 << 2,
	FILTER_DESTINATION = 1 << 3,
	FILTER_AUTHENTICATION = 1 << 4,
};

/* Values of `fragment`. */
enum filter_fragment {
	FILTER_WHOLE,
	FILTER_FIRST,
	FILTER_LATER,
};

/*
 * The fields of a packet, in the machine's byte order. Unknown fields are 0, fields that no rule
 * needs are undefined. For an encapsulated packet, the link fields are those of the next outer
 * packet that has an Ethernet header.
 */
struct filter_packet {
	/* Addresses: the high half first; an IPv4 address is all of [1]. */
	__u64 source[2];
	__u64 dest[2];
	__u64 source_mac;
	__u64 dest_mac;
	/* Length of the frame, with its Ethernet header. */
	__u32 length;
	__u32 interface;
	__u32 queue;
	/* A set of bits. */
	enum filter_known known;
	/* Offsets of headers in the frame. */
	__u16 network;
	__u16 transport;
	enum filter_fragment fragment;
	__u16 vlan;
	/* EtherType after the tags, or a length below 0x600. */
	__u16 ethertype;
	__u16 inner_vlan;
	__u16 source_port;
	__u16 dest_port;
	/* Type, then code. */
	__u16 icmp;
	/* A set of bits. */
	enum filter_extension extensions;
	__u8 ttl;
	__u8 protocol;
	__u8 dscp;
	__u8 tcp_flags;
	/* Identification of a fragment; in IPv4 with the protocol in the higher bits. */
	__u32 identification;
	/* State of the rules from here on. `now` is 0 until the clock is read. */
	__u64 now;
	/* Rules by number, or FILTER_NO_RULE. */
	__u32 sampled_by;
	__u32 decided_by;
	__u32 mark;
	__u16 marked;
	/* enum filter_proxy_action */
	__u16 guarded;
};
_Static_assert(sizeof(struct filter_packet) == 120, "no hidden padding");

/* Key of `filter_fragments`, which all fragments of one packet share. */
struct filter_fragment_key {
	__u64 source[2];
	__u64 dest[2];
	__u32 identification;
	/* FILTER_IPV4 or FILTER_IPV6. */
	__u32 family;
};
_Static_assert(sizeof(struct filter_fragment_key) == 40, "no hidden padding");

/* The decision about a first fragment, for the later ones. */
struct filter_first_fragment {
	/* On the monotonic clock, in nanoseconds. */
	__u64 until;
	/* The rule that decided, or FILTER_NO_RULE. */
	__u32 rule;
	__u32 verdict;
	/* Bytes of frames that it may still allow. */
	__u32 left;
	__u32 zero;
};
_Static_assert(sizeof(struct filter_first_fragment) == 24, "no hidden padding");

/* The length of the longest packet; reassembly does not take longer than the time. */
#define FILTER_FOLLOWING_BYTES 65535
#define FILTER_FOLLOWING_NS 30000000000ULL

/* The highest offset in a frame where an encapsulated packet may begin. */
#define FILTER_FARTHEST 0x1fff

/* The result of filter_match() if no rule decides. */
#define FILTER_NO_RULE XWAY_UNNUMBERED

/* The action of a rule. */
enum filter_action {
	FILTER_ACTION_PASS,
	FILTER_ACTION_DROP,
	/* These continue with the next rule. */
	FILTER_ACTION_COUNT,
	FILTER_ACTION_LIMIT,
	FILTER_ACTION_SAMPLE,
	FILTER_ACTION_MARK,
	FILTER_ACTION_SYN_PROXY,
	/* These decide. */
	FILTER_ACTION_BAN,
	FILTER_ACTION_TO_INTERFACE,
	FILTER_ACTION_TO_CPU,
	FILTER_ACTION_TO_SOCKET,
	/* Decides until its time is over; after that, the next rule follows. */
	FILTER_ACTION_DROP_FOR,
};

/* With this bit, the time of a ban is in milliseconds, otherwise in seconds. */
#define FILTER_BAN_MS (1U << 31)

/* The end of a rule's time is in units of 2^26 ns (67 ms) on the monotonic clock. */
#define FILTER_TIME_SHIFT 26

/* One element of `filter_rules`, by the rule's number. */
struct filter_rule {
	enum filter_action action;
	/*
	 * The time of a ban, a mark, the slot of a redirect, the number of a limit, the highest
	 * random number that selects a sample, or the end of a rule's time.
	 */
	__u32 argument;
};
_Static_assert(sizeof(struct filter_rule) == 8, "no hidden padding");

/* One element of `filter_counts` on one processor, by the rule's number. */
struct filter_count {
	__u64 packets;
	__u64 bytes;
	/* Packets that the action affected: over the limit, sampled. */
	__u64 taken;
};
_Static_assert(sizeof(struct filter_count) == 24, "no hidden padding");

/* Events of actions, mostly failures; an index of `filter_events`. */
enum filter_event {
	/* A ban failed because the map is full. */
	FILTER_BANS_FULL,
	/* A sample was lost because the ring buffer is full. */
	FILTER_SAMPLE_LOST,
	/*
	 * There was no space before the packet for its mark, or for the VLAN tag of a packet to be
	 * forwarded, which is dropped; or the driver has no metadata.
	 */
	FILTER_MARK_REFUSED,
	/* The interface, processor or socket of a redirect does not exist. */
	FILTER_NO_TARGET,
	/* A first fragment could not be stored, so later ones are unknown. */
	FILTER_FRAGMENT_LOST,
	/* A packet passed a limit uncounted, because other processors changed its bucket. */
	FILTER_CONTENDED,
	/* A packet of a trial was not counted, because there are too many pairs of rules. */
	FILTER_PAIRS_FULL,
	/* A connection request was answered with a cookie, or the answer failed. */
	FILTER_COOKIE_SENT,
	FILTER_COOKIE_FAILED,
	/* A packet for a listener had a valid cookie, or had none. */
	FILTER_COOKIE_GOOD,
	FILTER_COOKIE_BAD,
	/*
	 * Requests that the proxy refused while it was active: from or to an address that no
	 * host has, with a wrong checksum of IP or TCP, with a header that the stack would
	 * drop, in a fragment, with a routing header or an authentication.
	 */
	FILTER_SYN_MARTIAN,
	FILTER_SYN_CHECKSUM,
	FILTER_SYN_MALFORMED,
	FILTER_SYN_FRAGMENT,
	FILTER_SYN_OPTIONS,
	/* Requests that continued with the next rules: to a closed port, to another host. */
	FILTER_SYN_NO_LISTENER,
	FILTER_SYN_NOT_OURS,
};
#define FILTER_EVENTS (FILTER_SYN_NOT_OURS + 1)

/* The treatment of a packet by the SYN proxy. */
enum filter_proxy_action {
	/* The next rules judge it. */
	FILTER_CONTINUE,
	/* It is a request, which becomes the answer. */
	FILTER_ANSWER,
	FILTER_REFUSE,
};

/* Properties of the listener in answers to connection requests. */
struct filter_syn {
	/* The longest segment that this host accepts, with IPv4 and IPv6. */
	__u16 mss4;
	__u16 mss6;
	/* The window scale that the stack chooses, which follows from net.ipv4.tcp_rmem. */
	__u16 window_scale;
	/* Timestamps start at the clock: net.ipv4.tcp_timestamps is 2. */
	__u16 has_time;
	/*
	 * The interface's MAC address and that of the bridge or bond that holds it, as numbers.
	 * 0 for an unknown one; with the first, frames to any address are for this host.
	 */
	__u64 mac;
	__u64 master_mac;
};
_Static_assert(sizeof(struct filter_syn) == 24, "no hidden padding");

/* Buckets in a line. */
#define FILTER_WAYS 8
/* The most levels of a limit: the sender, and prefixes that contain it. */
#define FILTER_LEVELS 4

/* One element of `filter_lines`: buckets, each with a time and a tag. */
struct filter_line {
	__u64 buckets[FILTER_WAYS];
};
_Static_assert(sizeof(struct filter_line) == 64, "a cache line");

/* The one element of `filter_seed`. */
struct filter_seed {
	__u64 words[13];
};
_Static_assert(sizeof(struct filter_seed) == 104, "no hidden padding");

/* One level of a limit: masks of the fields that select a bucket, and the place of the buckets. */
struct filter_level {
	/* Each in two halves, the high one first. */
	__u64 source6[2];
	__u64 dest6[2];
	__u32 source4;
	__u32 dest4;
	/* Source port, then destination port. */
	__u32 ports;
	__u32 protocol;
	/* The first line, and the number of lines less one, which is a power of two less one. */
	__u32 first;
	__u32 mask;
	/* Time to fill an empty bucket, and to earn one token; 0 ends the levels. */
	__u64 burst;
	__u64 cost;
};
_Static_assert(sizeof(struct filter_level) == 72, "no hidden padding");

enum filter_unit {
	FILTER_PACKETS,
	FILTER_BYTES,
};

/* One element of `filter_limits`. */
struct filter_limit {
	enum filter_unit unit;
	/* A time of the limit is the clock's << finer >> coarser. */
	__u32 finer;
	__u32 coarser;
	/* The level that the last packet exceeded, which is checked first. */
	__u32 ended_by;
	struct filter_level levels[FILTER_LEVELS];
};
_Static_assert(sizeof(struct filter_limit) == 304, "no hidden padding");

/* The low half of an IPv4 source, as in ::ffff:192.0.2.1. */
#define FILTER_IPV4_SOURCE 0xffff00000000ULL

/* Key of `filter_bans`: an IPv6 address in two halves, or an IPv4 address as such. */
struct filter_source {
	__u64 high;
	__u64 low;
};
_Static_assert(sizeof(struct filter_source) == 16, "no hidden padding");

struct filter_ban {
	/* On the monotonic clock, in nanoseconds. */
	__u64 until;
	/* Packets dropped so far. */
	__u64 packets;
};
_Static_assert(sizeof(struct filter_ban) == 16, "no hidden padding");

/* Header of a packet in `filter_samples`. */
struct filter_sample {
	/* On the monotonic clock, in nanoseconds. */
	__u64 time;
	/* Rules by number; `decided_by` may be FILTER_NO_RULE. */
	__u32 rule;
	__u32 decided_by;
	__u32 verdict;
	enum xway_reason reason;
	/* Length of the frame, and number of bytes that follow. */
	__u32 length;
	__u32 captured;
	__u32 interface;
	__u32 queue;
};
_Static_assert(sizeof(struct filter_sample) == 40, "no hidden padding");

/* Parts of a composed program: a trial (try.h), or a tap (watch.h). */
enum filter_part {
	FILTER_ALONE,
	/* First part of a trial: the new rules. */
	FILTER_NEW,
	/* Second part of a trial: the active rules. */
	FILTER_OLD,
	/* First part with a tap: it samples packets and has its own rules. */
	FILTER_TAP,
	/* Second part with a tap: the active rules. */
	FILTER_TAPPED,
};

/* Key of `filter_pairs`. */
struct filter_pair {
	struct xway_decision old;
	struct xway_decision fresh;
};
_Static_assert(sizeof(struct filter_pair) == 24, "no hidden padding");

/* Value of `filter_pairs` on one processor. */
struct filter_tally {
	__u64 packets;
	__u64 bytes;
};
_Static_assert(sizeof(struct filter_tally) == 16, "no hidden padding");

/* The only entry of `filter_watching`: the settings of the tap. */
struct filter_sampling {
	/* End of the sampling, in nanoseconds on the monotonic clock. */
	__u64 until;
	/* A packet is sampled if 32 random bits are not above it; 0 for no packet. */
	__u32 chance;
	__u32 unused;
};
_Static_assert(sizeof(struct filter_sampling) == 16, "no hidden padding");

/* Counters at the beginning of an entry of `filter_kept`, per processor. */
struct filter_tap_counts {
	/* Packets that were sampled from. */
	__u64 packets;
	/* Samples that were lost because the ring buffer is full. */
	__u64 lost;
};
_Static_assert(sizeof(struct filter_tap_counts) == 16, "no hidden padding");

/* Header of a packet in `filter_seen`. */
struct filter_tapped {
	/* On the monotonic clock, in nanoseconds. */
	__u64 time;
	struct xway_decision decision;
	/* The sampling rate: one in this number of packets. */
	__u32 one_in;
	/* Length of the frame, and number of bytes that follow. */
	__u32 length;
	__u32 captured;
	__u32 interface;
	__u32 queue;
};
_Static_assert(sizeof(struct filter_tapped) == 40, "no hidden padding");

/* The most bytes of a packet that are copied. */
#define FILTER_CHANGE_BYTES 128

/* Header of a packet in `filter_changes`. */
struct filter_change {
	/* On the monotonic clock, in nanoseconds. */
	__u64 time;
	struct filter_pair pair;
	/* Length of the frame, and number of bytes that follow. */
	__u32 length;
	__u32 captured;
};
_Static_assert(sizeof(struct filter_change) == 40, "no hidden padding");

#endif
