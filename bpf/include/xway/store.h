/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Stores the decision about a packet for the probe of a capture: see xway/decision.h.
 *
 * Rule: a program that includes this stores a decision about each packet.
 */
#ifndef XWAY_STORE_H
#define XWAY_STORE_H

#include <xway/bpf.h>
#include <xway/decision.h>

/* Set while packets are captured. */
const volatile __u32 xway_stores_decisions;

/* The composition replaces this body, which stores a struct xway_decision. */
xway_global __u32 xway_store_decision(__u32 rule, __u32 verdict, __u32 reason)
{
	xway_opaque(rule);
	xway_opaque(verdict);
	xway_opaque(reason);
	return 0;
}

xway_inline void xway_decided(__u32 rule, __u32 verdict, __u32 reason)
{
	if (xway_stores_decisions)
		xway_store_decision(rule, verdict, reason);
}

#endif
