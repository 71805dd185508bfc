/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What the filter program, the code generated for its rules and its Rust half all know: reasons,
 * the packet as rules see it, what a rule does, counters.
 *
 * The program is C; only "which rule decides?" is generated: filter_match() in filter.bpf.c is a
 * place that the loader puts code into. That code reads `struct filter_packet` and, for rules that
 * look at bytes, the packet; nothing else of the program, so this header is the whole border.
 */
#ifndef XWAY_FILTER_ABI_H
#define XWAY_FILTER_ABI_H

#include <linux/types.h>

#include <xway/reason.h>

/* What is odd about a packet comes first: each of these has a policy. */
enum xway_reason {
	XWAY_COMMON_REASONS,
	/* The UDP header's length says more than the IP packet holds, or less than a header. */
	XWAY_BAD_LENGTH,
	/* The sender chose the way: loose or strict source route, IPv6 routing header of type 0. */
	XWAY_SOURCE_ROUTE,
	/* Other IPv4 options, or an IPv6 routing header that is not type 2 to 4. */
	XWAY_OPTIONS,
	/* An IP protocol that the filter cannot read behind its header. */
	XWAY_UNKNOWN_PROTOCOL,
	XWAY_FIRST_FRAGMENT,
	XWAY_LATER_FRAGMENT,
	/* A later fragment that is to follow its first one, which was not seen. */
	XWAY_UNKNOWN_FRAGMENT,
	/* A packet inside of packets, deeper than the filter looks or in a way it cannot read. */
	XWAY_TUNNEL,
	/* A rule decided. */
	XWAY_RULE,
	/* No rule matched: the default decided. */
	XWAY_DEFAULT,
	/* The source is banned. */
	XWAY_BANNED,
	/* Over a rule's limit. */
	XWAY_LIMITED,
	/* Answered with a SYN cookie, or sent back by one that is wrong. */
	XWAY_SYN_PROXY,
};
#define XWAY_REASONS (XWAY_SYN_PROXY + 1)
/* Reasons below this one have a policy. */
#define FILTER_ODDITIES XWAY_RULE

/* What happens to an odd packet. */
enum filter_policy {
	/* The rules judge it by what could be read. */
	FILTER_JUDGE,
	FILTER_PASS,
	FILTER_DROP,
	/* As the first fragment was; of XWAY_LATER_FRAGMENT alone. */
	FILTER_TRACK,
};

/*
 * What some rule asks for, as a set of bits. What nobody asks for is not read, so that nothing odd
 * is found there. Link: tags and EtherType. Network: everything up to the protocol. Transport: what
 * is behind. Inner: packets inside of packets, which are judged, too.
 */
enum filter_need {
	FILTER_NEED_ARRIVAL = 1 << 0,
	FILTER_NEED_MACS = 1 << 1,
	FILTER_NEED_LINK = 1 << 2,
	FILTER_NEED_NETWORK = 1 << 3,
	FILTER_NEED_TRANSPORT = 1 << 4,
	FILTER_NEED_INNER = 1 << 5,
};

/* Packets inside of each other that are looked at. */
#define FILTER_LAYERS 3

/* Which fields of a packet are there, in `known`. Addresses, ttl, dscp: with either version. */
enum filter_known {
	FILTER_VLAN = 1 << 0,
	FILTER_INNER_VLAN = 1 << 1,
	FILTER_IPV4 = 1 << 2,
	FILTER_IPV6 = 1 << 3,
	/* `protocol`: the one behind all extension headers. */
	FILTER_PROTOCOL = 1 << 4,
	FILTER_PORTS = 1 << 5,
	FILTER_TCP = 1 << 6,
	FILTER_ICMP = 1 << 7,
	/* Where the transport header begins is known: `transport`. */
	FILTER_TRANSPORT = 1 << 8,
	/* Another packet is inside: where it begins is told by the transport offset. */
	FILTER_INNER = 1 << 9,
	/* This packet itself is inside of another one. */
	FILTER_INSIDE = 1 << 10,
};

/* Extension headers that were seen, in `extensions`. */
enum filter_extension {
	FILTER_HOP_BY_HOP = 1 << 0,
	FILTER_ROUTING = 1 << 1,
	FILTER_FRAGMENT_HEADER = 1 << 2,
	FILTER_DESTINATION = 1 << 3,
	FILTER_AUTHENTICATION = 1 << 4,
};

/* In `fragment`. */
enum filter_fragment {
	FILTER_WHOLE,
	FILTER_FIRST,
	FILTER_LATER,
};

/*
 * A packet as rules see it; numbers in the machine's byte order. What is not known is 0, what no
 * rule asks for undefined. Inside of a tunnel: the packet in there, with the link of the outermost
 * one that has an Ethernet header of its own.
 */
struct filter_packet {
	/* Addresses: the high half first; an IPv4 address is all of [1]. */
	__u64 source[2];
	__u64 dest[2];
	__u64 source_mac;
	__u64 dest_mac;
	/* Of the frame, from its Ethernet header on. */
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
	/* EtherType behind the tags, or a length below 0x600. */
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
	/* Of a fragment: what its siblings have, too; in IPv4 with the protocol above 16 bits. */
	__u32 identification;
	/* From here on: what rules found and want. 0: the clock is not read. */
	__u64 now;
	/* Rules by number, or FILTER_NO_RULE. */
	__u32 sampled_by;
	__u32 decided_by;
	__u32 mark;
	__u16 marked;
	/* enum filter_guarded */
	__u16 guarded;
};
_Static_assert(sizeof(struct filter_packet) == 120, "no hidden padding");

/* Key of `filter_fragments`: all fragments of one packet. */
struct filter_siblings {
	__u64 source[2];
	__u64 dest[2];
	__u32 identification;
	/* FILTER_IPV4 or FILTER_IPV6. */
	__u32 family;
};
_Static_assert(sizeof(struct filter_siblings) == 40, "no hidden padding");

/* What became of the first fragment, for the later ones. */
struct filter_first {
	/* On the monotonic clock, in nanoseconds. */
	__u64 until;
	/* The rule that decided, or FILTER_NO_RULE. */
	__u32 rule;
	__u32 verdict;
	/* Bytes of frames that may still follow it. */
	__u32 left;
	__u32 zero;
};
_Static_assert(sizeof(struct filter_first) == 24, "no hidden padding");

/* A packet has no more bytes, and nobody puts one together for longer. */
#define FILTER_FOLLOWING_BYTES 65535
#define FILTER_FOLLOWING_NS 30000000000ULL

/* Bytes into a frame at which an inner packet may begin. */
#define FILTER_FARTHEST 0x1fff

/* What filter_match() answers when no rule decides. */
#define FILTER_NO_RULE 0xffffffff

/* What a rule does. */
enum filter_action {
	FILTER_ACTION_PASS,
	FILTER_ACTION_DROP,
	/* These go on to the next rule. */
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
	/* Decides while its time lasts; after that it goes on to the next rule. */
	FILTER_ACTION_DROP_FOR,
};

/* A ban's time is in milliseconds where this bit is set, and else in seconds. */
#define FILTER_BAN_MS (1U << 31)

/* The end of a rule's time is in pieces of 2^26 ns (67 ms) on the monotonic clock. */
#define FILTER_TIME_SHIFT 26

/* One element of `filter_rules`, by the rule's number. */
struct filter_rule {
	enum filter_action action;
	/*
	 * Of the action: a ban's time, a mark, a slot of a redirect, a limit's number; the
	 * highest random number that makes a sample; when a rule's time is over.
	 */
	__u32 argument;
};
_Static_assert(sizeof(struct filter_rule) == 8, "no hidden padding");

/* One element of `filter_counts` on one processor, by the rule's number. */
struct filter_count {
	__u64 packets;
	__u64 bytes;
	/* Of these, packets that the action took: over the limit, sampled. */
	__u64 taken;
};
_Static_assert(sizeof(struct filter_count) == 24, "no hidden padding");

/* What could not be done as rules say; an index of `filter_events`. */
enum filter_event {
	/* A ban that was not made: the map is full. */
	FILTER_BANS_FULL,
	/* A sample that was not written: nobody read the ones before. */
	FILTER_SAMPLE_LOST,
	/*
	 * No room in front of the packet for its mark, or for the VLAN tag of one that was to be
	 * sent on, which is dropped; or a driver without metadata.
	 */
	FILTER_MARK_REFUSED,
	/* A redirect to an interface, processor or socket that is not there. */
	FILTER_NO_TARGET,
	/* A first fragment that could not be kept: later ones will be unknown. */
	FILTER_FRAGMENT_LOST,
	/* A packet that passed a limit uncounted: other processors changed its bucket each time. */
	FILTER_CONTENDED,
	/* A packet of a trial that was not counted: too many pairs of rules. */
	FILTER_PAIRS_FULL,
	/* A connection request that was answered with a cookie, and one that could not be. */
	FILTER_COOKIE_SENT,
	FILTER_COOKIE_FAILED,
	/* A packet for a listener that brought back a cookie, and one that brought none. */
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

/* What becomes of a packet at a SYN proxy. */
enum filter_guarded {
	/* The next rules see it. */
	FILTER_GO_ON,
	/* It is a request, and turns into the answer. */
	FILTER_ANSWER,
	FILTER_REFUSE,
};

/* What answers to connection requests say of the listener. */
struct filter_syn {
	/* The longest segment that this host takes, with IPv4 and IPv6. */
	__u16 mss4;
	__u16 mss6;
	/* That the stack chooses for listeners: it follows from net.ipv4.tcp_rmem. */
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
/* Prefixes around a sender that have limits of their own, with the sender's. */
#define FILTER_LEVELS 4

/* One element of `filter_lines`: buckets, each a time and a tag. */
struct filter_line {
	__u64 buckets[FILTER_WAYS];
};
_Static_assert(sizeof(struct filter_line) == 64, "a cache line");

/* The one element of `filter_seed`. */
struct filter_seed {
	__u64 words[13];
};
_Static_assert(sizeof(struct filter_seed) == 104, "no hidden padding");

/* What shares a bucket: masks of what counts, and where the buckets are. */
struct filter_level {
	/* Each in two halves, the high one first. */
	__u64 source6[2];
	__u64 dest6[2];
	__u32 source4;
	__u32 dest4;
	/* Source port, then destination port. */
	__u32 ports;
	__u32 protocol;
	/* Lines: the first, and how many less one; that is a power of two less one. */
	__u32 first;
	__u32 mask;
	/* Times: to fill an empty bucket, and to earn one token; 0 ends the levels. */
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
	/* The level that the last packet was over, which is looked at first. */
	__u32 ended_by;
	struct filter_level levels[FILTER_LEVELS];
};
_Static_assert(sizeof(struct filter_limit) == 304, "no hidden padding");

/* In the low half of an IPv4 source: as in ::ffff:192.0.2.1. */
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
	/* Dropped so far. */
	__u64 packets;
};
_Static_assert(sizeof(struct filter_ban) == 16, "no hidden padding");

/* What is in front of a packet's bytes in `filter_samples`. */
struct filter_sample {
	/* On the monotonic clock, in nanoseconds. */
	__u64 time;
	/* Rules by number; who decided may be FILTER_NO_RULE. */
	__u32 rule;
	__u32 decided_by;
	__u32 verdict;
	enum xway_reason reason;
	/* Of the frame, and how much of it follows. */
	__u32 length;
	__u32 captured;
	__u32 interface;
	__u32 queue;
};
_Static_assert(sizeof(struct filter_sample) == 40, "no hidden padding");

/* Parts of a trial, see try.h, and of watching, see watch.h. */
enum filter_part {
	FILTER_ALONE,
	/* In front: the rules that are tried. */
	FILTER_NEW,
	/* Behind it: the rules in force. */
	FILTER_OLD,
	/* In front: what draws packets, with rules of its own. */
	FILTER_DRAWS,
	/* Behind it: the rules in force. */
	FILTER_WATCHED,
};

/* What a program makes of a packet. */
struct filter_opinion {
	/* By number, or FILTER_NO_RULE. */
	__u32 rule;
	__u32 verdict;
	enum xway_reason reason;
};
_Static_assert(sizeof(struct filter_opinion) == 12, "no hidden padding");

/* Key of `filter_pairs`. */
struct filter_pair {
	struct filter_opinion old;
	struct filter_opinion fresh;
};
_Static_assert(sizeof(struct filter_pair) == 24, "no hidden padding");

/* Value of `filter_pairs` on one processor. */
struct filter_tally {
	__u64 packets;
	__u64 bytes;
};
_Static_assert(sizeof(struct filter_tally) == 16, "no hidden padding");

/* The only entry of `filter_watching`: which packets are drawn. */
struct filter_watching {
	/* On the monotonic clock, in nanoseconds: then nobody watches any more. */
	__u64 until;
	/* A packet is drawn if 32 random bits are not above it; 0: none is. */
	__u32 chance;
	__u32 unused;
};
_Static_assert(sizeof(struct filter_watching) == 16, "no hidden padding");

/* At the beginning of an entry of `filter_kept`, for each processor. */
struct filter_met {
	/* Of which some were drawn. */
	__u64 packets;
	/* That were to be shown: nobody had read the ones before. */
	__u64 lost;
};
_Static_assert(sizeof(struct filter_met) == 16, "no hidden padding");

/* What is in front of a packet's bytes in `filter_seen`. */
struct filter_seen {
	/* On the monotonic clock, in nanoseconds. */
	__u64 time;
	struct filter_opinion opinion;
	/* It stands for so many packets: one in so many was drawn at that time. */
	__u32 one_in;
	/* Of the frame, and how much of it follows. */
	__u32 length;
	__u32 captured;
	__u32 interface;
	__u32 queue;
};
_Static_assert(sizeof(struct filter_seen) == 40, "no hidden padding");

/* Bytes of a packet that are kept at most. */
#define FILTER_CHANGE_BYTES 128

/* What is in front of a packet's bytes in `filter_changes`. */
struct filter_change {
	/* On the monotonic clock, in nanoseconds. */
	__u64 time;
	struct filter_pair pair;
	/* Of the frame, and how much of it follows. */
	__u32 length;
	__u32 captured;
};
_Static_assert(sizeof(struct filter_change) == 40, "no hidden padding");

#endif
