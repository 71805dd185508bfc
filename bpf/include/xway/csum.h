/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Incremental Internet checksums (RFC 1624, equation 3): the difference of a change is computed
 * once and applied to every checksum that covers the changed bytes.
 *
 * Rule: a difference is a sum of 16-bit terms, of which 32 bits hold 65536: far more than the
 * headers of a packet have. Fields are in network order throughout; the sum does not depend on the
 * byte order.
 * Not here: checksums from scratch, which no program on the packet path needs.
 */
#ifndef XWAY_CSUM_H
#define XWAY_CSUM_H

#include <xway/bpf.h>

/* Adds the change of a 16-bit word from `from` to `to` to the difference `sum`. */
xway_inline __u32 xway_csum_word(__u32 sum, __be16 from, __be16 to)
{
	return sum + (__u16)~from + to;
}

xway_inline __u32 xway_csum_long(__u32 sum, __be32 from, __be32 to)
{
	sum = xway_csum_word(sum, (__be16)from, (__be16)to);
	return xway_csum_word(sum, (__be16)(from >> 16), (__be16)(to >> 16));
}

xway_inline __u32 xway_csum_ipv6(__u32 sum, const __be32 from[4], const __be32 to[4])
{
	for (int i = 0; i < 4; i++)
		sum = xway_csum_long(sum, from[i], to[i]);
	return sum;
}

/* The TTL is the high byte, in network order, of a word that it shares with the protocol. */
xway_inline __u32 xway_csum_ttl(__u32 sum, __u8 from, __u8 to)
{
	return xway_csum_word(sum, xway_htons(from << 8), xway_htons(to << 8));
}

/*
 * The checksum field of an IPv4 header after its TTL was decreased by one, as xway_csum_ttl() and
 * xway_csum_apply() compute it (RFC 1141).
 */
xway_inline __sum16 xway_csum_hop(__sum16 check)
{
	__u32 sum = (__u32)check + 1;

	return sum + ((sum + 1) >> 16);
}

/* The checksum field after the change. */
xway_inline __sum16 xway_csum_apply(__sum16 check, __u32 sum)
{
	__u32 total = (__u16)~check + (sum & 0xffff) + (sum >> 16);

	total = (total & 0xffff) + (total >> 16);
	total = (total & 0xffff) + (total >> 16);
	return (__sum16)~total;
}

/*
 * The checksum field of UDP after the change. A 0 means "no checksum" and remains (RFC 768; for
 * IPv6, RFC 6935); a computed 0 is written as 0xffff.
 */
xway_inline __sum16 xway_csum_apply_udp(__sum16 check, __u32 sum)
{
	__sum16 changed;

	if (!check)
		return 0;
	changed = xway_csum_apply(check, sum);
	return changed ? changed : 0xffff;
}

/* Folds a sum of any number of words, of any width, to 16 bits. */
xway_inline __u16 xway_csum_fold(__u64 sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16);
}

#endif
