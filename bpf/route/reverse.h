/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The reverse path: whether the route to the source of a packet exists, or leads back through the
 * interface that the packet came in from (RFC 3704), as with the kernel's `rp_filter`.
 *
 * Addresses of this host are not valid sources either way: no route to them leads to a next hop.
 * The result is in the memory of routes, as the route of a packet to the source.
 * Where the route to the source has several next hops, it is the one that the kernel would select:
 * packets from the others fail the strict check.
 */
#ifndef ROUTE_REVERSE_H
#define ROUTE_REVERSE_H

#include "route.abi.h"

#include <xway/bpf.h>

#include "lookup.h"

const volatile enum route_reverse_path route_reverse_path = ROUTE_REVERSE_PATH_OFF;

/*
 * Whether the source is one that packets may have. The flow is that of the packet, as it is after
 * translations, and becomes that of a packet to `source`, its source before them.
 */
xway_inline int route_has_source(struct xdp_md *ctx, struct route_flow *flow,
						      const __u64 *source)
{
	__u32 ingress = flow->ingress;
	struct route_way way = {};

	xway_memcpy(flow->source, flow->dest, sizeof(flow->source));
	xway_memcpy(flow->dest, source, sizeof(flow->dest));
	flow->ports = 0;
	flow->protocol = 0;
	flow->ingress = ROUTE_BACK;
	route_find(ctx, flow, &way, 1);
	if (route_reverse_path == ROUTE_REVERSE_PATH_LOOSE)
		return way.egress < ROUTE_PORTS || way.egress == ROUTE_PORTS + XWAY_NO_EGRESS;
	return way.egress < ROUTE_PORTS && way.egress == ingress;
}

/* The packet would leave for a next hop, if not for its TTL, its length or its port. */
xway_inline int route_leads_on(enum xway_reason reason)
{
	return reason == XWAY_FORWARDED || reason == XWAY_NO_NEIGHBOUR || reason == XWAY_TOO_BIG ||
	       reason == XWAY_NO_EGRESS;
}

/*
 * The reason for a packet whose route is known, by its TTL and its source: in the order of the
 * kernel, which delivers expired packets, and refuses sources before it answers.
 */
xway_inline enum xway_reason route_restrict(struct xdp_md *ctx, enum xway_reason reason,
					    struct route_flow *flow, const __u64 *source, __u8 ttl)
{
	if (route_reverse_path && route_leads_on(reason) && !route_has_source(ctx, flow, source))
		return XWAY_REVERSE_PATH;
	return ttl <= 1 && route_leads_on(reason) ? XWAY_TTL_EXPIRED : reason;
}

#endif
