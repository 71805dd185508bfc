/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Whether a packet is an answer to a probe: an answer of the target itself, or an ICMP error that
 * quotes the probe. Both have the cookie of the target.
 */
#ifndef SCAN_JUDGE_H
#define SCAN_JUDGE_H

#include "answer.abi.h"

#include <xway/bpf.h>
#include <xway/parse.h>

#include "cookie.h"

const volatile struct answer_expected answer_expected;

/* Message types: RFC 792, RFC 4443. */
#define ANSWER_ECHO_REPLY4 0
#define ANSWER_UNREACHABLE4 3
#define ANSWER_TIME4 11
#define ANSWER_UNREACHABLE6 1
#define ANSWER_TIME6 3
#define ANSWER_ECHO_REPLY6 129

/* Addresses as in packets; of IPv4 the last word is used. */
struct answer_address {
	__be32 words[4];
};

/* A packet as far as it was read. */
struct answer {
	struct answer_address from;
	/* The target, which an error quotes. */
	struct answer_address target;
	__u64 cookie;
	__be16 port;
	__u8 ttl;
	__u8 icmp_type;
	__u8 icmp_code;
};

xway_inline int answer_is_source(const __be32 *address, int is_ipv6)
{
	const volatile __be32 *source = answer_expected.source;

	if (!is_ipv6)
		return address[0] == source[3];
	return address[0] == source[0] && address[1] == source[1] && address[2] == source[2] &&
	       address[3] == source[3];
}

xway_inline void answer_copy(struct answer_address *to, const __be32 *address, int is_ipv6)
{
	if (is_ipv6) {
		__builtin_memcpy(to, address, sizeof(*to));
		return;
	}
	to->words[0] = to->words[1] = 0;
	to->words[2] = xway_htonl(0xffff);
	to->words[3] = address[0];
}

xway_inline __u64 answer_cookie(const struct answer_address *target, __be16 port, int is_ipv6)
{
	const __be32 *words = target->words;

	if (!is_ipv6)
		return scan_cookie4(words[3], port);
	return scan_cookie6(words[0] | (__u64)words[1] << 32, words[2] | (__u64)words[3] << 32,
			    port);
}

/* The port that a probe with this cookie came from. */
xway_inline __be16 answer_source_port(__u64 cookie)
{
	__u32 place = (cookie >> 48) * answer_expected.port_count >> 16;

	return xway_htons((__u16)(answer_expected.first_port + place));
}

/* Whether a port may be one of those that probes come from. */
xway_inline int answer_is_own_port(__be16 port)
{
	__u32 place = xway_ntohs(port) - answer_expected.first_port;

	return place < answer_expected.port_count;
}

/* The answer of a TCP target. */
xway_inline enum xway_reason answer_judge_tcp(struct xway_cursor *cur, struct answer *answer,
					      struct tcphdr **tcp, int is_ipv6)
{
	struct tcphdr *header;
	__u32 sequence;

	if (xway_parse_tcp(cur, tcp) < 0)
		return cur->fault;
	header = *tcp;
	if (!answer_is_own_port(header->dest) || !header->ack || !(header->syn | header->rst))
		return XWAY_OTHER;
	answer->port = header->source;
	answer->cookie = answer_cookie(&answer->target, header->source, is_ipv6);
	sequence = xway_ntohl((__u32)answer->cookie) + 1;
	if (header->dest != answer_source_port(answer->cookie) ||
	    header->ack_seq != xway_htonl(sequence))
		return XWAY_FALSE;
	return header->rst ? XWAY_CLOSED : XWAY_OPEN;
}

xway_inline enum xway_reason answer_judge_udp(struct xway_cursor *cur, struct answer *answer,
					      int is_ipv6)
{
	struct udphdr *udp;

	if (xway_parse_udp(cur, &udp) < 0)
		return cur->fault;
	if (!answer_is_own_port(udp->dest))
		return XWAY_OTHER;
	answer->port = udp->source;
	answer->cookie = answer_cookie(&answer->target, udp->source, is_ipv6);
	return udp->dest == answer_source_port(answer->cookie) ? XWAY_OPEN : XWAY_FALSE;
}

xway_inline enum xway_reason answer_judge_echo(const struct xway_icmp *icmp, struct answer *answer,
					       int is_ipv6)
{
	answer->cookie = answer_cookie(&answer->target, 0, is_ipv6);
	return icmp->rest == (__u32)answer->cookie ? XWAY_OPEN : XWAY_FALSE;
}

/* First eight bytes of the transport of a quoted probe, which every error has (RFC 792). */
struct answer_quote {
	__be16 source;
	__be16 dest;
	__be32 rest;
};

/* Whether a quoted transport is that of a probe to the answer's target. */
xway_inline enum xway_reason answer_judge_quote(struct xway_cursor *cur, struct answer *answer,
						int is_ipv6)
{
	struct answer_quote *quote = xway_take(cur, sizeof(*quote));
	int has_ports = answer_expected.protocol == IPPROTO_TCP ||
			answer_expected.protocol == IPPROTO_UDP;

	if (!quote)
		return XWAY_TRUNCATED;
	answer->port = has_ports ? quote->dest : 0;
	answer->cookie = answer_cookie(&answer->target, answer->port, is_ipv6);
	if (has_ports && quote->source != answer_source_port(answer->cookie))
		return XWAY_FALSE;
	/* Length and checksum of UDP, or the cookie. */
	if (answer_expected.protocol != IPPROTO_UDP && quote->rest != (__u32)answer->cookie)
		return XWAY_FALSE;
	return XWAY_UNREACHABLE;
}

/* An error whose quote has no options, as probes have none. */
xway_inline enum xway_reason answer_judge_error4(struct xway_cursor *cur, struct answer *answer)
{
	struct iphdr *quoted = xway_take(cur, sizeof(*quoted));

	if (!quoted)
		return XWAY_TRUNCATED;
	if (quoted->version != 4 || quoted->ihl != sizeof(*quoted) / 4 ||
	    quoted->protocol != answer_expected.protocol || !answer_is_source(&quoted->saddr, 0))
		return XWAY_OTHER;
	answer_copy(&answer->target, &quoted->daddr, 0);
	return answer_judge_quote(cur, answer, 0);
}

xway_inline enum xway_reason answer_judge_error6(struct xway_cursor *cur, struct answer *answer)
{
	struct ipv6hdr *quoted = xway_take(cur, sizeof(*quoted));

	if (!quoted)
		return XWAY_TRUNCATED;
	if (quoted->version != 6 || quoted->nexthdr != answer_expected.protocol ||
	    !answer_is_source(quoted->saddr.s6_addr32, 1))
		return XWAY_OTHER;
	answer_copy(&answer->target, quoted->daddr.s6_addr32, 1);
	return answer_judge_quote(cur, answer, 1);
}

xway_inline enum xway_reason answer_judge_icmp(struct xway_cursor *cur, struct answer *answer,
					       int is_ipv6)
{
	struct xway_icmp *icmp;
	int type = xway_parse_icmp(cur, &icmp);

	if (type < 0)
		return cur->fault;
	answer->icmp_type = type;
	answer->icmp_code = icmp->code;
	if (type == (is_ipv6 ? ANSWER_ECHO_REPLY6 : ANSWER_ECHO_REPLY4)) {
		int echo = is_ipv6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP;

		if (answer_expected.protocol != echo)
			return XWAY_OTHER;
		return answer_judge_echo(icmp, answer, is_ipv6);
	}
	if (is_ipv6)
		return type == ANSWER_UNREACHABLE6 || type == ANSWER_TIME6 ?
			       answer_judge_error6(cur, answer) :
			       XWAY_OTHER;
	return type == ANSWER_UNREACHABLE4 || type == ANSWER_TIME4 ?
		       answer_judge_error4(cur, answer) :
		       XWAY_OTHER;
}

/* Judges what follows the IP header. */
xway_inline enum xway_reason answer_judge(struct xway_cursor *cur, int protocol,
					  struct answer *answer, struct tcphdr **tcp, int is_ipv6)
{
	if (xway_is_fragment(cur))
		return XWAY_OTHER;
	if (protocol == (is_ipv6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP))
		return answer_judge_icmp(cur, answer, is_ipv6);
	if (protocol != answer_expected.protocol)
		return XWAY_OTHER;
	if (protocol == IPPROTO_TCP)
		return answer_judge_tcp(cur, answer, tcp, is_ipv6);
	return answer_judge_udp(cur, answer, is_ipv6);
}

#endif
