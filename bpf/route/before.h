/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What a translated packet was before, for ICMP errors about it: these quote what the sender knows.
 *
 * Rule: bytes are kept and put back rather than computed: a checksum has two forms of zero.
 */
#ifndef ROUTE_BEFORE_H
#define ROUTE_BEFORE_H

#include "route.abi.h"

#include <xway/bpf.h>
#include <xway/parse.h>

#include "nat.h"
#include "port.h"
#include "scratch.h"

/* Keeps what a translation of one side will write over. */
xway_inline void route_keep(const void *ip, const struct route_transport *transport,
			    enum route_side side, const __be32 *address, int is_ipv6)
{
	struct xway_scratch *scratch = route_scratch();
	struct nat_before *before;

	if (!scratch)
		return;
	before = &scratch->before;
	before->side = side;
	before->address[0] = address[0];
	before->ports_at = 0;
	before->check_at = 0;
	if (is_ipv6)
		xway_memcpy(before->address, address, sizeof(before->address));
	else
		before->header_check = ((const struct iphdr *)ip)->check;
	if (transport->ports) {
		before->port = route_side_port(transport, side);
		before->ports_at = (const void *)transport->ports - ip;
	}
	if (transport->check) {
		before->check = *transport->check;
		before->check_at = (const void *)transport->check - ip;
	}
}

/* Puts the address back. */
xway_inline int route_restore_address(void *ip, const void *end, const struct nat_before *before)
{
	struct ipv6hdr *v6 = ip;
	struct iphdr *v4 = ip;

	if ((void *)(v4 + 1) > end)
		return 0;
	if (v4->version == 4) {
		v4->check = before->header_check;
		if (before->side == ROUTE_SOURCE)
			v4->saddr = before->address[0];
		else
			v4->daddr = before->address[0];
		return 1;
	}
	if ((void *)(v6 + 1) > end)
		return 0;
	if (before->side == ROUTE_SOURCE)
		xway_memcpy(&v6->saddr, before->address, sizeof(v6->saddr));
	else
		xway_memcpy(&v6->daddr, before->address, sizeof(v6->daddr));
	return 1;
}

/*
 * Makes the last packet that was translated, after this number of bytes of tags, what it was
 * before; `translated` of the error becomes what the translation had replaced. Always 0.
 */
xway_global int route_restore(struct xdp_md *ctx, __u32 tags)
{
	void *ip = route_after_tags(ctx, tags), *end = xway_data_end(ctx);
	struct xway_scratch *scratch = route_scratch();
	const struct nat_before *before;
	struct xway_ports *ports;
	__sum16 *check;

	if (!scratch || !route_restore_address(ip, end, &scratch->before))
		return 0;
	before = &scratch->before;
	scratch->error.translated = before->side == ROUTE_SOURCE ? NAT_NEW_SOURCE :
								  NAT_NEW_DESTINATION;
	ports = ip + (before->ports_at & NAT_MOST_OFFSET);
	if (before->ports_at && (void *)(ports + 1) <= end) {
		if (before->side == ROUTE_SOURCE)
			ports->source = before->port;
		else
			ports->dest = before->port;
	}
	check = ip + (before->check_at & NAT_MOST_OFFSET);
	if (before->check_at && (void *)(check + 1) <= end)
		*check = before->check;
	return 0;
}

#endif
