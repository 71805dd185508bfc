/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What the forward program and its Rust half both know: reasons and translations.
 *
 * A translation replaces the destination of packets on their way in, or the source of the replies
 * on their way out. Keys name an address with protocol and port, or with both 0 the address
 * whatever the protocol; the former win.
 * Addresses and ports are in network order.
 */
#ifndef XWAY_FORWARD_ABI_H
#define XWAY_FORWARD_ABI_H

#include <linux/types.h>

#include <xway/reason.h>

enum xway_reason {
	XWAY_COMMON_REASONS,
	/* Sent out. This and the next nine stand in the order of BPF_FIB_LKUP_RET_*. */
	XWAY_FORWARDED,
	XWAY_BLACKHOLE,
	XWAY_UNREACHABLE,
	XWAY_PROHIBIT,
	/* The route ends here, or there is none: the stack delivers or answers. */
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
	/* After a VLAN tag: routes of VLAN devices are left to the stack. */
	XWAY_TAGGED,
	/* Multicast, broadcast, link-local, loopback or unspecified. */
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
};
#define XWAY_REASONS (XWAY_OTHER_HOST + 1)

/* One byte, as a field of the keys. */
enum forward_side {
	FORWARD_DESTINATION = 0,
	FORWARD_SOURCE = 1,
} __attribute__((packed));

enum forward_nat {
	/* Route only. */
	FORWARD_NAT_OFF = 0,
	/* Translate what has a translation, route all. */
	FORWARD_NAT_OPTIONAL = 1,
	/* What has no translation goes to the stack. */
	FORWARD_NAT_REQUIRED = 2,
};

/* Key of `forward_nat4`. */
struct forward_key4 {
	__be32 address;
	__be16 port;
	__u8 protocol;
	enum forward_side side;
};
_Static_assert(sizeof(struct forward_key4) == 8, "no hidden padding");

struct forward_target4 {
	__be32 address;
	/* 0 keeps the port. */
	__be16 port;
	__u16 zero;
};
_Static_assert(sizeof(struct forward_target4) == 8, "no hidden padding");

/* Key of `forward_nat6`. */
struct forward_key6 {
	__be32 address[4];
	__be16 port;
	__u8 protocol;
	enum forward_side side;
};
_Static_assert(sizeof(struct forward_key6) == 20, "no hidden padding");

struct forward_target6 {
	__be32 address[4];
	__be16 port;
	__u16 zero;
};
_Static_assert(sizeof(struct forward_target6) == 20, "no hidden padding");

#endif
