/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The steps by which an ICMP error replaces a packet, for both families.
 *
 * Rule: until the frame is changed, whatever cannot be done here leaves the packet to the stack,
 * which then answers; errors over the limit are dropped before that.
 * Rule: an error about a translated packet quotes what its sender sent. So the packet is made what
 * it was, and the stack does not get it then if it would forward it to where its sender sent it.
 */
#ifndef ROUTE_ANSWER_H
#define ROUTE_ANSWER_H

#include "before.h"
#include "extension.h"
#include "icmp4.h"
#include "icmp6.h"
#include "lookup.h"
#include "sender.h"

/* Index of the extension that names the port that the packet came in from. */
xway_inline __u32 route_extension_of(const struct xdp_md *ctx, __u32 arrival, int is_ipv6)
{
	__u32 number = arrival ? (arrival >> 4) - 1 : route_ingress_port(ctx);

	return number * 2 + is_ipv6;
}

/*
 * Makes the frame that of the error, without its IP header: -1 if nothing was changed, -2 if the
 * frame is useless, or by how many bytes the quote begins too late.
 */
xway_inline int route_make_frame(struct xdp_md *ctx, const struct icmp_error *error,
				 const struct bpf_fib_lookup *back, __u32 length, __u32 *tags,
				 int is_ipv6)
{
	const struct xway_port *port = route_port(error->exit);
	/* Each is read once: user space may change the port. */
	__be32 outer = port ? *(volatile __be32 *)&port->outer : 0;
	__be32 inner = outer ? *(volatile __be32 *)&port->inner : 0;
	__u32 added = (outer ? 4 : 0) + (inner ? 4 : 0);
	__u32 headers = is_ipv6 ? ROUTE_HEADERS6 : ROUTE_HEADERS4;
	__u32 wanted = sizeof(struct ethhdr) + added + headers + error->body;
	struct ethhdr *eth;
	__be32 *words;
	int shift;

	shift = route_resize(ctx, headers + added - *tags, length, wanted);
	if (shift < 0)
		return -1;
	*tags = added;
	eth = xway_data(ctx);
	if ((void *)eth + ROUTE_MOST_LINK > xway_data_end(ctx))
		return -2;
	route_write_macs(eth, back);
	words = (void *)eth + 2 * ETH_ALEN;
	if (outer)
		*words++ = outer;
	if (inner)
		*words++ = inner;
	*(__be16 *)words = is_ipv6 ? xway_htons(ETH_P_IPV6) : xway_htons(ETH_P_IP);
	return shift;
}

/*
 * Replaces the packet, which came with this number of bytes of tags, by the error; -1 if nothing
 * was changed, -2 if the frame is useless.
 */
xway_inline int route_write_error(struct xdp_md *ctx, const struct icmp_error *error,
				  const struct bpf_fib_lookup *back, __u32 length, __u32 tags,
				  __u32 extension, int is_ipv6)
{
	__u32 headers = is_ipv6 ? ROUTE_HEADERS6 : ROUTE_HEADERS4, offset;
	int result = route_make_frame(ctx, error, back, length, &tags, is_ipv6);
	struct xway_icmp *icmp;
	__u64 sum = 0;
	void *ip;

	if (result < 0)
		return result;
	offset = sizeof(struct ethhdr) + tags + headers;
	/* The constant spares the verifier what is never called. */
	if (route_icmp_extensions && error->body != error->quote)
		route_write_extension(ctx, offset, error->quote, result, extension);
	ip = route_after_tags(ctx, tags);
	icmp = ip + headers - sizeof(*icmp);
	/* The IP header of the quote is after both headers. */
	if (ip + 2 * headers - sizeof(*icmp) > xway_data_end(ctx))
		return -2;
	if (is_ipv6) {
		route_write_ip6(ip, (void *)(icmp + 1), headers + error->body, back->ipv6_src);
		sum = route_sum_pseudo6(ip);
	} else {
		route_write_ip4(ip, (void *)(icmp + 1), headers + error->body, back->ipv4_src);
	}
	*icmp = (struct xway_icmp){
		.type = error->kind,
		.code = error->code,
		.rest = error->rest,
	};
	icmp->check = ~xway_csum_fold(sum + route_sum(ctx, offset - sizeof(*icmp)));
	return 0;
}

/* The error about a packet of at least an IP header; 0 if the stack does something else. */
xway_inline int route_describe_error(struct icmp_error *error, const void *ip, int is_ipv6)
{
	const struct ipv6hdr *v6 = ip;
	const struct iphdr *v4 = ip;
	__u32 total = is_ipv6 ? xway_length(v6->payload_len) + sizeof(*v6) :
				xway_length(v4->tot_len);
	__u32 most = is_ipv6 ? ROUTE_QUOTE6 : ROUTE_QUOTE4;
	__u32 mtu = error->mtu;

	error->rest = 0;
	error->quote = total < most ? total : most;
	error->body = error->quote;
	if (!route_name_error(error, error->reason, is_ipv6))
		return 0;
	if (error->reason != XWAY_TOO_BIG)
		return 1;
	return is_ipv6 ? route_is_too_big6(error, v6, mtu) : route_is_too_big4(error, v4, mtu);
}

/* By what the route to the sender is found. */
xway_inline void route_ask_sender(struct bpf_fib_lookup *back, const struct icmp_error *error,
				   const void *ip, int is_ipv6)
{
	back->tot_len = error->body + (is_ipv6 ? ROUTE_HEADERS6 : ROUTE_HEADERS4);
	back->dport = route_type_as_port(error);
	if (is_ipv6)
		route_ask_sender6(back, ip);
	else
		route_ask_sender4(back, ip);
}

/* Looks it up; again from the address that an ICMPv6 error then has: rules may be by source. */
xway_inline int route_find_back(struct xdp_md *ctx, struct bpf_fib_lookup *back,
				const struct icmp_error *error, const void *ip, int is_ipv6)
{
	struct in6_addr source;
	__be32 *own = source.in6_u.u6_addr32;

	if (!route_find_sender(ctx))
		return 0;
	if (!is_ipv6 || route_ignores_source())
		return 1;
	xway_memcpy(&source, back->ipv6_src, sizeof(source));
	__builtin_memset(back, 0, sizeof(*back));
	route_ask_sender(back, error, ip, is_ipv6);
	xway_memcpy(back->ipv6_src, &source, sizeof(source));
	if (!route_find_sender(ctx))
		return 0;
	return own[0] == back->ipv6_src[0] && own[1] == back->ipv6_src[1] &&
	       own[2] == back->ipv6_src[2] && own[3] == back->ipv6_src[3];
}

/* What happens to a packet, made what it was before a translation, if no error is sent here. */
xway_inline __u32 route_unanswered(const struct icmp_error *error)
{
	if (error->translated == NAT_NEW_DESTINATION && error->reason != XWAY_TTL_EXPIRED)
		return route_outcome(XDP_DROP, XWAY_UNANSWERABLE);
	return route_outcome(XDP_PASS, error->reason);
}

/* As with Linux, an error about a request seems to come from where the request was sent to. */
xway_inline void route_set_source(struct bpf_fib_lookup *back, const struct icmp_error *error,
				  const void *ip, int is_ipv6)
{
	const struct ipv6hdr *v6 = ip;
	const struct iphdr *v4 = ip;

	if (error->translated != NAT_NEW_DESTINATION)
		return;
	if (is_ipv6)
		xway_memcpy(back->ipv6_src, &v6->daddr, sizeof(back->ipv6_src));
	else
		back->ipv4_src = v4->daddr;
}

xway_inline __u32 route_answer_as(struct xdp_md *ctx, struct bpf_fib_lookup *back,
				  struct icmp_error *error, int is_ipv6)
{
	__u32 tags = error->arrival & ROUTE_TAG_BYTES, verdict = XDP_TX;
	void *ip = route_after_tags(ctx, tags), *end = xway_data_end(ctx);
	__u32 extension = route_extension_of(ctx, error->arrival, is_ipv6);
	enum xway_reason reason = error->reason;
	__u64 network;
	int result;

	if (ip + (is_ipv6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr)) > end ||
	    !route_describe_error(error, ip, is_ipv6))
		return route_outcome(XDP_PASS, reason);
	if (error->translated)
		route_restore(ctx, tags);
	if (!route_icmp_errors)
		return route_unanswered(error);
	if (is_ipv6 ? route_is_unanswerable6(ip, end) : route_is_unanswerable4(ip, end))
		return route_outcome(XDP_DROP, XWAY_UNANSWERABLE);
	if (ip + error->quote > end)
		return route_unanswered(error);
	route_extend(error, extension, is_ipv6);
	network = is_ipv6 ? route_network6(ip) : route_network4(ip);
	if (route_is_over_limit(network))
		return route_outcome(XDP_DROP, XWAY_ICMP_LIMIT);
	route_ask_sender(back, error, ip, is_ipv6);
	if (!route_find_back(ctx, back, error, ip, is_ipv6) ||
	    !route_find_exit(ctx, back->ifindex, &error->exit))
		return route_unanswered(error);
	route_set_source(back, error, ip, is_ipv6);
	result = route_write_error(ctx, error, back, error->length, tags, extension, is_ipv6);
	if (result < 0)
		return result == -1 ? route_unanswered(error) : route_outcome(XDP_DROP, reason);
	if (error->exit != ROUTE_UNKNOWN_PORT)
		verdict = bpf_redirect_map(&xway_tx, error->exit, 0);
	return route_outcome(verdict, error->sent);
}

/* Sends the ICMP error that this processor has to send: see route_outcome(). */
xway_global int route_answer(struct xdp_md *ctx)
{
	struct bpf_fib_lookup *back = route_query();
	struct xway_scratch *scratch = route_scratch();
	struct icmp_error *error;
	__u8 *version;

	if (!back || !scratch)
		return XDP_PASS;
	error = &scratch->error;
	version = route_after_tags(ctx, error->arrival & ROUTE_TAG_BYTES);
	if ((void *)(version + 1) > xway_data_end(ctx))
		return route_outcome(XDP_PASS, error->reason);
	if (*version >> 4 == 6)
		return route_answer_as(ctx, back, error, 1);
	return route_answer_as(ctx, back, error, 0);
}

/* Sends the ICMP error about a packet that is not forwarded for a reason; as above. */
xway_inline int route_refuse_packet(struct xdp_md *ctx, enum xway_reason reason,
				    const struct route_way *way, __u32 length)
{
	struct xway_scratch *scratch = route_scratch();

	if (!scratch)
		return route_outcome(XDP_PASS, reason);
	scratch->error.reason = reason;
	scratch->error.mtu = way->mtu;
	scratch->error.arrival = way->arrival & ~ROUTE_TRANSLATED;
	scratch->error.translated = way->arrival & ROUTE_TRANSLATED ? NAT_NEW_SOURCE : 0;
	scratch->error.length = length;
	return route_answer(ctx);
}

#endif
