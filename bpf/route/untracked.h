/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What conntrack.h does, in a program that does not ask connection tracking: nothing. */
#ifndef ROUTE_UNTRACKED_H
#define ROUTE_UNTRACKED_H

#define ROUTE_TRACKS 0

#include "route.abi.h"

#include <xway/bpf.h>
#include <xway/parse.h>

#include "memory.h"

struct route_established {};

xway_inline enum xway_reason route_established4(struct xdp_md *ctx, struct xway_cursor *cur,
						const struct iphdr *ip,
						struct route_established *established)
{
	(void)ctx, (void)cur, (void)ip, (void)established;
	return XWAY_FORWARDED;
}

xway_inline enum xway_reason route_established6(struct xdp_md *ctx, struct xway_cursor *cur,
						const struct ipv6hdr *ip, int protocol,
						struct route_established *established)
{
	(void)ctx, (void)cur, (void)ip, (void)protocol, (void)established;
	return XWAY_FORWARDED;
}

xway_inline void route_toward(const struct route_established *established,
			      struct route_flow *flow)
{
	(void)established, (void)flow;
}

xway_inline void route_apply4(struct route_established *established, struct iphdr *ip)
{
	(void)established, (void)ip;
}

xway_inline void route_apply6(struct route_established *established, struct ipv6hdr *ip)
{
	(void)established, (void)ip;
}

#endif
