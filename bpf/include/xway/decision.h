/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The decision of a program about a packet, for the probe of a capture.
 *
 * While packets are captured, the composition sets `xway_stores_decisions` and replaces
 * xway_store_decision(), see `spec::compose::store_decisions`. Otherwise the verifier removes the
 * call, so that it costs nothing.
 */
#ifndef XWAY_DECISION_H
#define XWAY_DECISION_H

#include <linux/types.h>

/* `rule` of a decision that is not by a rule, or by one that has no number. */
#define XWAY_UNNUMBERED 0xffffffff

struct xway_decision {
	/* Number of the rule, or XWAY_UNNUMBERED. */
	__u32 rule;
	__u32 verdict;
	/* enum xway_reason of the program. */
	__u32 reason;
};
_Static_assert(sizeof(struct xway_decision) == 12, "no hidden padding");

#endif
