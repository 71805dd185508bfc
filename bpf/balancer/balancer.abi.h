/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What the balancer program and its Rust half both know: reasons, services, backends, and the
 * memory of flows.
 *
 * A service is found by the address, protocol and port that a packet is sent to. A hash of the
 * packet selects a slot of the service's table, and the slot names the backend.
 * Addresses and ports are in network order; IPv4 addresses are mapped into IPv6 (RFC 4291).
 */
#ifndef XWAY_BALANCER_ABI_H
#define XWAY_BALANCER_ABI_H

#include <linux/types.h>

#include <xway/port.h>
#include <xway/reason.h>

enum xway_reason {
	XWAY_COMMON_REASONS,
	/* Sent to a backend. */
	XWAY_BALANCED,
	/* Neither IPv4 nor IPv6. */
	XWAY_NOT_IP,
	/* Not to a service. */
	XWAY_NO_SERVICE,
	/* The service has no backend. */
	XWAY_NO_BACKEND,
	/* A later fragment of a packet whose first one was not seen. */
	XWAY_UNKNOWN_FRAGMENT,
	/* IPv6 extension headers other than that of fragments. */
	XWAY_OPTIONS,
	/* Larger than the MTU of the way to the backend, after encapsulation; without an answer. */
	XWAY_TOO_BIG,
	/* The same, and the sender got an ICMP error with the MTU. */
	XWAY_SENT_TOO_BIG,
	/* The same, but the limit of ICMP errors is reached. */
	XWAY_ICMP_LIMIT,
	/* The kernel has no route to the backend, or one that XDP cannot use. */
	XWAY_NO_ROUTE,
	/* The next hop's address is unknown: the stack resolves it. */
	XWAY_NO_NEIGHBOUR,
	/* The route leaves by an interface that is not among the balancer's. */
	XWAY_NO_EGRESS,
	/* There is no space before the frame for the outer headers. */
	XWAY_NO_HEADROOM,
	/* The outer checksum cannot be computed: the inner packet does not end in the frame. */
	XWAY_NO_CHECKSUM,
	/* From a backend, with translated addresses: sent to the client. */
	XWAY_RETURNED,
	/* There is no port for a new flow whose addresses are translated. */
	XWAY_NAT_FULL,
	/* Continues a flow whose addresses are translated, but there is none. */
	XWAY_NO_FLOW,
	/* Arrived with its last TTL, and its addresses are translated. */
	XWAY_TTL,
	/*
	 * From a backend, with translated addresses: the stack sends it to the client, and resolves
	 * the next hop.
	 */
	XWAY_RETURNED_BY_STACK,
	/* Other processors changed the entries of its flow all the time. */
	XWAY_NAT_BUSY,
	/* Sent to another host's MAC address: the stack drops it. */
	XWAY_OTHER_HOST,
};
#define XWAY_REASONS (XWAY_OTHER_HOST + 1)

/*
 * Services are found by patterns, which state which part of an address and of a port counts. The
 * most specific pattern comes first. A family has at most this number of patterns.
 */
#define BALANCER_PATTERNS 16

struct balancer_pattern4 {
	__be32 address;
	__be16 port;
	/* Bits of both that count, as in the keys. */
	__u8 address_bits;
	__u8 port_bits;
};
_Static_assert(sizeof(struct balancer_pattern4) == 8, "no hidden padding");

struct balancer_pattern6 {
	__be32 address[4];
	__be16 port;
	__u8 address_bits;
	__u8 port_bits;
};
_Static_assert(sizeof(struct balancer_pattern6) == 20, "no hidden padding");

/* Value of `balancer_patterns`. */
struct balancer_patterns {
	struct balancer_pattern4 v4[BALANCER_PATTERNS];
	struct balancer_pattern6 v6[BALANCER_PATTERNS];
	/* Number of those in use. */
	__u32 count4;
	__u32 count6;
};
_Static_assert(sizeof(struct balancer_patterns) == 456, "no hidden padding");

/* Key of `balancer_services`: what packets are sent to, as a pattern leaves it. */
struct balancer_key {
	__be32 address[4];
	__be16 port;
	/* ICMP for echo requests of both families. */
	__u8 protocol;
	/* Of the address, as the family counts them, and of the port. */
	__u8 address_bits;
	__u8 port_bits;
	__u8 zero[3];
};
_Static_assert(sizeof(struct balancer_key) == 24, "no hidden padding");

/* Slots of a table, and of a line of it; a service has the first table, or two. */
#define BALANCER_SLOT_BITS 16
#define BALANCER_LINE_BITS 5
#define BALANCER_LINE_SLOTS (1 << BALANCER_LINE_BITS)
#define BALANCER_LINES (1 << (BALANCER_SLOT_BITS - BALANCER_LINE_BITS))

struct balancer_line {
	/* Number of a backend, or BALANCER_NONE. */
	__u16 slots[BALANCER_LINE_SLOTS];
};
_Static_assert(sizeof(struct balancer_line) == 64, "one cache line");

#define BALANCER_NONE 0xffff

struct balancer_service {
	/* By which bits of the packet its hash is. */
	__u64 source[2];
	__u64 dest;
	__be32 ports;
	/* Number of the table with the backends of slots. */
	__u32 table;
	/*
	 * Number of the table with the former backends of slots that moved, BALANCER_NONE in slots
	 * that did not; or BALANCER_NO_TABLE.
	 */
	__u32 former;
	/*
	 * BALANCER_KEEPS_DATAGRAMS, BALANCER_TRANSLATES; above BALANCER_QUIC_SHIFT the number of
	 * the QUIC set, or 0.
	 */
	__u32 flags;
	/* By which user space knows it. */
	__u32 id;
	__u32 zero;
};
_Static_assert(sizeof(struct balancer_service) == 48, "no hidden padding");

#define BALANCER_NO_TABLE 0xffffffff
/* Datagrams of unknown flows on slots that moved go to the former backend, and are remembered. */
#define BALANCER_KEEPS_DATAGRAMS 1
#define BALANCER_QUIC_SHIFT 16
/* Its backends get packets with translated addresses. */
#define BALANCER_TRANSLATES 2

/* How packets are delivered to a backend. */
enum balancer_delivery {
	/* In IPv4 or IPv6, without a header in between (RFC 2003, RFC 4213, RFC 2473). */
	BALANCER_IPIP = 0,
	/* In UDP, directly: variant 1 of Generic UDP Encapsulation. */
	BALANCER_GUE = 1,
	/* In Geneve (RFC 8926), without an inner Ethernet header. */
	BALANCER_GENEVE = 2,
	/* As it came, to the backend's MAC address. */
	BALANCER_MAC = 3,
	/* With translated addresses. */
	BALANCER_NAT = 4,
};

struct balancer_backend {
	/* Where packets are delivered to. */
	__be32 address[4];
	/* Outer source; bits of the last word that `spread` has are chosen by the flow. */
	__be32 source[4];
	__be32 spread;
	/* Sum of the fields of the outer IPv4 header that are constant. */
	__u32 sum;
	/* Of Geneve, in the upper 24 bits as in the header. */
	__be32 vni;
	/* UDP port that tunnels end at; with translation, the backend's, or 0 for the service's. */
	__be16 port;
	/* Bytes before the IP header that are added. */
	__u8 overhead;
	/* enum balancer_delivery */
	__u8 delivery;
	/* Whether the address is IPv6. */
	__u8 is_ipv6;
	/* BALANCER_DEAD, BALANCER_NO_SUM, BALANCER_GONE, BALANCER_UNHEALTHY */
	__u8 flags;
	/* Bytes of the Geneve option that names another backend; 0 without Geneve. */
	__u8 option;
	__u8 zero;
	/* The service whose backend it is; by this and the address user space knows it. */
	__u32 service;
	/* Of its share of new connections; 0 while it drains. */
	__u32 weight;
	__u32 reserved;
};
_Static_assert(sizeof(struct balancer_backend) == 64, "one cache line");

/* Flows that are remembered for it move to the backend of their slot. */
#define BALANCER_DEAD 1
/* The outer UDP checksum over IPv6 is zero (RFC 6935). */
#define BALANCER_NO_SUM 2
/* The service has it no more; only its older connections are known. */
#define BALANCER_GONE 4
/* Checks took it out, whatever its configuration; for user space. BALANCER_DEAD is set as well. */
#define BALANCER_UNHEALTHY 8

/*
 * A remembered flow, or a note of one that may begin; 0 for none. From above: the upper 32 bits of
 * the hash, of which 16 are the slot; 16 of the backend, 2 of what it is, and 14 of the time when
 * it was last used, in units of 2^31 nanoseconds; of a note in units of 2^23, so that the older one
 * of two is known also in a flood. The tag of a note is mixed with the sequence number.
 */
#define BALANCER_TAG_SHIFT 32
#define BALANCER_BACKEND_SHIFT 16
#define BALANCER_KIND_SHIFT 14
#define BALANCER_TIME_MASK 0x3fff
#define BALANCER_TIME_SHIFT 31
/* By which the clock of notes is finer. */
#define BALANCER_NOTE_BITS 8

enum balancer_kind {
	/* Of a SYN: for the segment that continues it. */
	BALANCER_NOTE = 0,
	/* A TCP connection; the lowest bit is that of connections. */
	BALANCER_FLOW = 1,
	/* A flow of datagrams. */
	BALANCER_DATAGRAMS = 2,
	/* A connection that was not used in another unit of time than that of its beginning. */
	BALANCER_YOUNG = 3,
};

/* Cells that share a cache line; the lower bits of the hash select it. */
#define BALANCER_WAYS 8

struct balancer_cells {
	__u64 cells[BALANCER_WAYS];
};
_Static_assert(sizeof(struct balancer_cells) == 64, "one cache line");

/* Events, index of `balancer_events`. */
enum balancer_event {
	/* A connection on a slot that moved became known. */
	BALANCER_REMEMBERED = 0,
	/* A note was left by a SYN. */
	BALANCER_NOTED = 1,
	/* A note that was not old was replaced. */
	BALANCER_NOTE_REPLACED = 2,
	/* All cells of a line were of connections: there is no note of a SYN. */
	BALANCER_NO_CELL = 3,
	/* A young connection or flow of datagrams that was not old was replaced. */
	BALANCER_EVICTED = 4,
	/* By the former backend, because nothing else was known. */
	BALANCER_BY_FORMER = 5,
	/* By a remembered flow. */
	BALANCER_BY_FLOW = 6,
	/* A translated flow began. */
	BALANCER_NAT_BEGAN = 7,
	/* One that was not in use in both directions was replaced before it expired. */
	BALANCER_NAT_REPLACED = 8,
	/* One began again, with another backend if its own is dead. */
	BALANCER_NAT_MOVED = 9,
};
#define BALANCER_EVENTS 10

/* The way to a backend, for each processor. */
struct balancer_hop {
	/* MAC addresses, in the lower six bytes, of the frames. */
	__u64 dest;
	__u64 source;
	/* Tick of the kernel's clock in which it was found. */
	__u32 tick;
	__u32 ifindex;
	/* Largest IP packet. */
	__u16 mtu;
	/* enum xway_reason: XWAY_BALANCED if it can be used. */
	__u16 reason;
	/* The VLAN device whose tags its frames have, key of `balancer_vlans`; 0 for none. */
	__u32 vlan;
};
_Static_assert(sizeof(struct balancer_hop) == 32, "half a cache line, without hidden padding");

/* MAC addresses of an interface. */
#define BALANCER_OWN_MACS 7
/* Places for interfaces; the lower bits of an ifindex select one. */
#define BALANCER_OWN_PLACES 64

struct balancer_own {
	/*
	 * In the lower six bytes, those of the interface first; 0 for none. Without the first one,
	 * frames to all addresses are balanced.
	 */
	__u64 macs[BALANCER_OWN_MACS];
	/* Tick of the kernel's clock in which the kernel was last asked for its address. */
	__u32 tick;
	__u32 zero;
};
_Static_assert(sizeof(struct balancer_own) == 64, "one cache line");

#endif
