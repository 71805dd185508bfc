/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A balancer without address translation: what nat_path.h does is nothing here. */
#ifndef BALANCER_UNTRANSLATED_H
#define BALANCER_UNTRANSLATED_H

#include "choice.h"
#include "service.h"

xway_inline void nat_locate(struct xdp_md *ctx, const struct xway_cursor *cur,
			    struct flow_facts *flow, int protocol)
{
	(void)ctx, (void)cur, (void)flow, (void)protocol;
}

xway_inline int nat_is_reply(const struct flow_facts *flow)
{
	(void)flow;
	return 0;
}

xway_inline int nat_is_for(const struct service_rule *service)
{
	(void)service;
	return 0;
}

xway_inline int nat_take(struct xdp_md *ctx, const struct flow_facts *flow,
			 const struct service_rule *service, struct packet_choice *choice,
			 __u32 link, int frags)
{
	(void)ctx, (void)flow, (void)service, (void)choice, (void)link, (void)frags;
	return XWAY_UNKNOWN_FRAGMENT;
}

xway_inline int nat_take_later(struct xdp_md *ctx, const struct flow_facts *flow,
			       struct packet_choice *choice, __u32 link, int frags)
{
	return nat_take(ctx, flow, NULL, choice, link, frags);
}

xway_inline int nat_take_reply(struct xdp_md *ctx, const struct flow_facts *flow,
			       struct packet_choice *choice, __u32 link, int frags)
{
	return nat_take(ctx, flow, NULL, choice, link, frags);
}

#endif
