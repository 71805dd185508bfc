/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What the backend program and its Rust half both know: reasons, prefixes, settings.
 *
 * Addresses and ports are in network order; IPv4 addresses are mapped into IPv6 (RFC 4291).
 */
#ifndef XWAY_BACKEND_ABI_H
#define XWAY_BACKEND_ABI_H

#include <linux/types.h>

#include <xway/reason.h>

enum xway_reason {
	XWAY_COMMON_REASONS,
	/* The tunnel was opened: its packet goes to the stack. */
	XWAY_OPENED,
	/* No socket of this host has the segment: sent to the other backend. */
	XWAY_SECOND_CHANCE,
	/* The same, but it cannot be sent there: opened. */
	XWAY_NO_SECOND_WAY,
	/* Not in a tunnel. */
	XWAY_NO_TUNNEL,
	/* In a tunnel that does not end here. */
	XWAY_NOT_OWN,
	/* In a tunnel from an address that is not allowed. */
	XWAY_NOT_ALLOWED,
	/* In a tunnel, and not to an address of a service. */
	XWAY_NO_SERVICE,
	/* A fragment of an outer packet. */
	XWAY_OUTER_FRAGMENT,
	/* A version, flag or inner protocol of the tunnel that is not supported. */
	XWAY_UNKNOWN_TUNNEL,
	/* The checksum of the outer IPv4 or UDP header is wrong. */
	XWAY_BAD_CHECKSUM,
	/* The inner packet is malformed, or does not end within the outer one. */
	XWAY_BAD_INNER,
	/* Congestion was signaled to a sender that does not know it (RFC 6040, section 4.2). */
	XWAY_BAD_ECN,
	/* The frame cannot be changed. */
	XWAY_NO_SPACE,
};
#define XWAY_REASONS (XWAY_NO_SPACE + 1)

/* What a prefix is of. */
enum backend_role {
	/* Outer sources that are allowed. */
	BACKEND_SOURCE = 0,
	/* Outer destinations: addresses of this host. */
	BACKEND_ADDRESS = 1,
	/* Inner destinations: addresses of services. */
	BACKEND_SERVICE = 2,
};

/* Key of `backend_prefixes`. */
struct backend_prefix {
	/* Bits that count: 32 of the role, and those of the address; 96 more for IPv4. */
	__u32 length;
	/* enum backend_role */
	__u32 role;
	__be32 address[4];
};
_Static_assert(sizeof(struct backend_prefix) == 24, "no hidden padding");

/* Value of `backend_settings`. */
struct backend_settings {
	/* UDP ports at which tunnels end; 0 for none. */
	__be16 gue_port;
	__be16 geneve_port;
	/* The largest segments that may be announced to clients; 0 for any. */
	__u16 mss4;
	__u16 mss6;
};
_Static_assert(sizeof(struct backend_settings) == 8, "no hidden padding");

#endif
