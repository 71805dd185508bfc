/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What the route program and its Rust half both know: reasons, ports, the memory of routes, next
 * hops, and translations.
 *
 * A translation replaces the destination of packets on their way in, or the source of the replies
 * on their way out. Keys name an address with protocol and port, or with both 0 the address
 * whatever the protocol; the former win.
 * Addresses and ports are in network order.
 */
#ifndef XWAY_ROUTE_ABI_H
#define XWAY_ROUTE_ABI_H

#include <linux/types.h>

#include <xway/port.h>
#include <xway/reason.h>

enum xway_reason {
	XWAY_COMMON_REASONS,
	/* Sent out. This and the next nine stand in the order of BPF_FIB_LKUP_RET_*. */
	XWAY_FORWARDED,
	XWAY_BLACKHOLE,
	/* The stack sends the ICMP error, as for the next. */
	XWAY_UNREACHABLE,
	XWAY_PROHIBIT,
	/* The route ends here, is unknown, or there is none: the stack delivers or answers. */
	XWAY_NOT_FORWARDED,
	/* The ingress interface does not forward (sysctl `forwarding`). */
	XWAY_FORWARDING_OFF,
	/* The route encapsulates, which only the stack can. */
	XWAY_ENCAPSULATES,
	/* The stack resolves the next hop's address. */
	XWAY_NO_NEIGHBOUR,
	/* Larger than the MTU: the stack fragments or answers. */
	XWAY_TOO_BIG,
	XWAY_NO_SOURCE,
	/* bpf_fib_lookup() failed. */
	XWAY_FIB_ERROR,
	/* The egress interface is not in `xway_tx`. */
	XWAY_NO_EGRESS,
	/* Neither IPv4 nor IPv6. */
	XWAY_NOT_IP,
	/* After VLAN tags that no port has, or more than two. */
	XWAY_TAGGED,
	/* Multicast, broadcast, link-local, loopback or unspecified, or from this host itself. */
	XWAY_NOT_ROUTABLE,
	/* IPv4 options or IPv6 extension headers. */
	XWAY_OPTIONS,
	/* TTL or hop limit is used up. */
	XWAY_TTL_EXPIRED,
	/* A fragment that no address-wide translation covers. */
	XWAY_FRAGMENT,
	/* Translation is required and there is none. */
	XWAY_NO_TRANSLATION,
	/* A translation applies to a protocol whose checksums are unknown here. */
	XWAY_UNTRANSLATABLE,
	/* Sent to another host's MAC address: the stack drops it. */
	XWAY_OTHER_HOST,
	/* An ICMP error about the packet was sent, as for the next three. */
	XWAY_SENT_TIME_EXCEEDED,
	XWAY_SENT_UNREACHABLE,
	XWAY_SENT_PROHIBITED,
	XWAY_SENT_TOO_BIG,
	/* An ICMP error would have been sent, but the limit of such messages is reached. */
	XWAY_ICMP_LIMIT,
	/* Cannot be forwarded, and no ICMP error may be sent about it. */
	XWAY_UNANSWERABLE,
	/* There is no route to its source, or it leads to another interface. */
	XWAY_REVERSE_PATH,
	/* There is no space before the frame for the VLAN tags to send it with. */
	XWAY_NO_HEADROOM,
	/* Connection tracking has no established entry: the stack decides, as for the next two. */
	XWAY_NOT_ESTABLISHED,
	/* SYN, FIN or RST, which change the state of a connection. */
	XWAY_HANDSHAKE,
	/* The connection has a helper (application-level gateway) or a timeout of its own. */
	XWAY_CONNTRACK_EXTENSION,
};
#define XWAY_REASONS (XWAY_CONNTRACK_EXTENSION + 1)

/*
 * Number of ports that a router can have: interfaces that the program is attached to, or VLAN
 * devices and bonds on such ones. The number of a port is its index; numbers are used again, and
 * `epoch` is which of the interfaces that had the number it is.
 */
#define ROUTE_PORTS 256

/* Number of VLANs of 802.1Q on an interface. */
#define ROUTE_VLANS 4096

/* Key of `route_tagged`: how the frames of a port that has tags come in. */
struct route_tagged {
	__u32 device;
	__be32 outer;
	__be32 inner;
};
_Static_assert(sizeof(struct route_tagged) == 12, "no hidden padding");

/*
 * Fields of packets by which routes are found, as masks. A field that no rule and no route with
 * several next hops inspects is 0, so that more packets share an entry of the memory.
 */
struct route_fields {
	__u64 source;
	__be32 ports;
	/* Traffic class and flow label, as in the first word of the IPv6 header. */
	__be32 label;
	__u32 protocol;
	/* Type of service of IPv4. */
	__u32 tos;
};
_Static_assert(sizeof(struct route_fields) == 24, "no hidden padding");

/*
 * The state of the memory according to user space, which follows the kernel's changes. While there
 * is no such process, an entry is valid until the next tick of the kernel's clock.
 */
struct route_control {
	/* Another number makes all entries invalid. */
	__u64 generation;
	/* CLOCK_MONOTONIC in nanoseconds: until then user space vouches for `generation`. */
	__u64 valid_until;
	struct route_fields fields;
	/*
	 * The smallest MTU that an IPv4 and an IPv6 route have of their own; 0 if none has. The
	 * kernel's lookup does not report it unless it is locked: larger packets are the stack's.
	 */
	__u32 route_mtu4;
	__u32 route_mtu6;
	/* All IPv6 packets are the stack's: the kernel's lookup ignores a part of a rule. */
	__u32 leaves6;
	__u32 zero;
};
_Static_assert(sizeof(struct route_control) == 56, "no hidden padding");

/*
 * Places for IPv4 addresses from which the stack does not forward, because they are the host's own
 * or a broadcast address. A hash selects the place; 0 is none, and two addresses at one place are
 * ROUTE_OWN_SEVERAL: then the stack decides about all of that place.
 */
#define ROUTE_OWN_BITS 10
#define ROUTE_OWN_PLACES (1 << ROUTE_OWN_BITS)
#define ROUTE_OWN_HASH 0x9e3779b1
#define ROUTE_OWN_SEVERAL 0xffffffff

#define ROUTE_BY_DESTINATION 2

/* State of one processor. */
struct route_processor {
	/* Tick of the kernel's clock when the entries were last known to be valid. */
	__u64 tick;
	/* `generation` of user space then. */
	__u64 seen;
	/* Generation of the entries that are valid. */
	__u32 generation;
	/* Whether user space vouched for it: ROUTE_BY_DESTINATION if `fields` are all 0. */
	__u32 followed;
	struct route_fields fields;
	__u64 hits;
	__u64 misses;
};
_Static_assert(sizeof(struct route_processor) == 64, "one cache line");

/*
 * The result of an IPv4 lookup and what it was by: half a cache line, so that the entries which a
 * packet is compared with are in one.
 */
struct route_entry4 {
	/*
	 * From below: 32 bits of the generation, 16 of the port that the packet came in from, the
	 * protocol, the type of service.
	 */
	__u64 head;
	/* Destination, and the source above. */
	__u64 addresses;
	__be32 ports;
	__u16 mtu;
	/* Number of the port to send to, or the reason not to, above ROUTE_PORTS. */
	__u16 egress;
	/* Address of the next hop in the lower six bytes, the number of its counters above. */
	__u64 mac;
};
_Static_assert(sizeof(struct route_entry4) == 32, "half a cache line");

/* As above for IPv6: one cache line. */
struct route_entry6 {
	/* Without the type of service, which is in the label. */
	__u64 head;
	/* Ports, and above them the traffic class and flow label. */
	__u64 rest;
	__u64 dest[2];
	__u64 source[2];
	__u16 mtu;
	__u16 egress;
	__u32 zero;
	__u64 mac;
};
_Static_assert(sizeof(struct route_entry6) == 64, "one cache line");

#define ROUTE_MAC_BITS 48
/* In a next hop: bits of the port plus one, and the number of epochs of a port above them. */
#define ROUTE_HOP_PORT_BITS 9
#define ROUTE_EPOCHS 128
/* Numbers of next hops, a power of two; 0 is for those that have no place in the table. */
#define ROUTE_HOPS 4096
/* Places that a next hop may have in the table, one after the other. */
#define ROUTE_HOP_PROBES 16

/* One of this number of routed packets is a sample; a power of two. */
#define ROUTE_SAMPLED 1024

/* Key of `route_networks`: a destination network of 24 bits for IPv4, of 48 bits for IPv6. */
struct route_network {
	__be32 address[2];
	__u8 family;
	__u8 zero[3];
};
_Static_assert(sizeof(struct route_network) == 12, "no hidden padding");

/* Entries that a packet is compared with, because they have the same hash. */
#define ROUTE_WAYS 2

struct route_set4 {
	struct route_entry4 entries[ROUTE_WAYS];
};

struct route_set6 {
	struct route_entry6 entries[ROUTE_WAYS];
};

/* One byte, as a field of the keys. */
enum route_side {
	ROUTE_DESTINATION = 0,
	ROUTE_SOURCE = 1,
} __attribute__((packed));

/* Number of networks whose ICMP errors are counted apart, for their limits. */
#define ROUTE_BUCKET_BITS 12
#define ROUTE_BUCKETS (1 << ROUTE_BUCKET_BITS)

/* What the route to the source of a packet must be (RFC 3704). */
enum route_reverse_path {
	/* Anything. */
	ROUTE_REVERSE_PATH_OFF = 0,
	/* A route to a next hop, through any interface. */
	ROUTE_REVERSE_PATH_LOOSE = 1,
	/* A route through the interface that the packet came in from. */
	ROUTE_REVERSE_PATH_STRICT = 2,
};

enum route_nat {
	/* Route only. */
	ROUTE_NAT_OFF = 0,
	/* Translate what has a translation, route all. */
	ROUTE_NAT_OPTIONAL = 1,
	/* What has no translation goes to the stack. */
	ROUTE_NAT_REQUIRED = 2,
};

/* Key of `route_nat4`. */
struct route_key4 {
	__be32 address;
	__be16 port;
	__u8 protocol;
	enum route_side side;
};
_Static_assert(sizeof(struct route_key4) == 8, "no hidden padding");

struct route_target4 {
	__be32 address;
	/* 0 keeps the port. */
	__be16 port;
	__u16 zero;
};
_Static_assert(sizeof(struct route_target4) == 8, "no hidden padding");

/* Key of `route_nat6`. */
struct route_key6 {
	__be32 address[4];
	__be16 port;
	__u8 protocol;
	enum route_side side;
};
_Static_assert(sizeof(struct route_key6) == 20, "no hidden padding");

struct route_target6 {
	__be32 address[4];
	__be16 port;
	__u16 zero;
};
_Static_assert(sizeof(struct route_target6) == 20, "no hidden padding");

#endif
