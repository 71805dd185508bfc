/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What the drop program and its Rust half both know: reasons, rule keys, shapes.
 *
 * A rule names a destination prefix, a protocol and a destination port, of which each may be
 * left open. Rules that leave the same parts open have the same *shape*: the program masks a
 * packet with each shape in use and looks the result up. The number of look-ups is the number of
 * shapes, however many rules there are.
 * Addresses and ports are in network order.
 */
#ifndef XWAY_DROP_ABI_H
#define XWAY_DROP_ABI_H

#include <linux/types.h>

#include <xway/reason.h>

enum xway_reason {
	XWAY_COMMON_REASONS,
	/* Some rule matches. */
	XWAY_RULE,
	/* IP, and no rule matches. */
	XWAY_NO_RULE,
	/* Neither IPv4 nor IPv6. */
	XWAY_NOT_IP,
	/* No rule without a port matches, and the port is in another fragment. */
	XWAY_LATER_FRAGMENT,
};
#define XWAY_REASONS (XWAY_LATER_FRAGMENT + 1)

/* Shapes of one address family. */
#define DROP_SHAPES 16

struct drop_shape4 {
	__be32 address_mask;
	/* 0xffff when the port counts. */
	__be16 port_mask;
	/* 0xff when the protocol counts. */
	__u8 protocol_mask;
	__u8 used;
};
_Static_assert(sizeof(struct drop_shape4) == 8, "no hidden padding");

struct drop_shape6 {
	__be32 address_mask[4];
	__be16 port_mask;
	__u8 protocol_mask;
	__u8 used;
};
_Static_assert(sizeof(struct drop_shape6) == 20, "no hidden padding");

/* The one entry of `drop_shapes`; the first unused shape ends each list. */
struct drop_shapes {
	struct drop_shape4 v4[DROP_SHAPES];
	struct drop_shape6 v6[DROP_SHAPES];
};
_Static_assert(sizeof(struct drop_shapes) == DROP_SHAPES * 28, "no hidden padding");

/* Key of `drop_rules4`: a masked packet and the number of the shape that masked it. */
struct drop_rule4 {
	__be32 address;
	__be16 port;
	__u8 protocol;
	__u8 shape;
};
_Static_assert(sizeof(struct drop_rule4) == 8, "no hidden padding");

/* Key of `drop_rules6`. */
struct drop_rule6 {
	__be32 address[4];
	__be16 port;
	__u8 protocol;
	__u8 shape;
};
_Static_assert(sizeof(struct drop_rule6) == 20, "no hidden padding");

#endif
