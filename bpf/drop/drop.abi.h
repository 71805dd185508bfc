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
#define DROP_SHAPES 8

/* A packet as rules see it, masked by a shape; key of `drop_rules4`. */
struct drop_rule4 {
	__be32 address;
	__be16 port;
	__u8 protocol;
	/* The shape that masked it, see drop_shape4. */
	__u8 shape;
} __attribute__((aligned(8)));
_Static_assert(sizeof(struct drop_rule4) == 8, "one 64-bit word");

/* Key of `drop_rules6`. */
struct drop_rule6 {
	__be32 address[4];
	__be16 port;
	__u8 protocol;
	__u8 shape;
	__u32 zero;
} __attribute__((aligned(8)));
_Static_assert(sizeof(struct drop_rule6) == 24, "three 64-bit words");

/* Rules that leave the same parts open. */
struct drop_shape4 {
	/*
	 * Ones where a part counts; ports and protocols count whole or not. Its `shape` is
	 * not a mask but the number of the shape, in its rules. A number is not given to another
	 * shape while rules carry it, so shapes may move in the list while packets are judged.
	 */
	struct drop_rule4 mask;
	/* One of its rules, compared before the others are looked up. */
	struct drop_rule4 first;
	/* All of its rules, `first` included; 0 ends the list of shapes. */
	__u32 rules;
	__u32 zero;
};
_Static_assert(sizeof(struct drop_shape4) == 24, "no hidden padding");

struct drop_shape6 {
	struct drop_rule6 mask;
	struct drop_rule6 first;
	__u32 rules;
	__u32 zero;
};
_Static_assert(sizeof(struct drop_shape6) == 56, "no hidden padding");

/* The one entry of `drop_shapes`. */
struct drop_shapes {
	struct drop_shape4 v4[DROP_SHAPES];
	struct drop_shape6 v6[DROP_SHAPES];
};
_Static_assert(sizeof(struct drop_shapes) == DROP_SHAPES * 80, "no hidden padding");

#endif
