/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Cookies: SipHash-2-4 of source address, target's address and port, see scan/cookie.rs in
 * crates/traffic. The state after the source address is constant.
 */
#ifndef SCAN_COOKIE_H
#define SCAN_COOKIE_H

#include <xway/bpf.h>

struct scan_siphash {
	__u64 v[4];
};

/* After the source address of each family: IPv4, IPv6. */
const volatile struct scan_siphash scan_begun[2];

/* Bytes that are hashed: the source address, the target's address and its port. */
#define SCAN_HASHED4 (16ull + 4 + 2)
#define SCAN_HASHED6 (16ull + 16 + 2)

xway_inline __u64 scan_rotate(__u64 word, __u32 bits)
{
	return word << bits | word >> (64 - bits);
}

xway_inline void scan_sip_round(struct scan_siphash *hash)
{
	__u64 *v = hash->v;

	v[0] += v[1];
	v[1] = scan_rotate(v[1], 13) ^ v[0];
	v[0] = scan_rotate(v[0], 32);
	v[2] += v[3];
	v[3] = scan_rotate(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = scan_rotate(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = scan_rotate(v[1], 17) ^ v[2];
	v[2] = scan_rotate(v[2], 32);
}

xway_inline void scan_absorb(struct scan_siphash *hash, __u64 word)
{
	hash->v[3] ^= word;
	scan_sip_round(hash);
	scan_sip_round(hash);
	hash->v[0] ^= word;
}

/* Adds the last bytes, with the number of all bytes above them. */
xway_inline __u64 scan_finish(struct scan_siphash *hash, __u64 last)
{
	scan_absorb(hash, last);
	hash->v[2] ^= 0xff;
	xway_unroll
	for (int round = 0; round < 4; round++)
		scan_sip_round(hash);
	return hash->v[0] ^ hash->v[1] ^ hash->v[2] ^ hash->v[3];
}

xway_inline struct scan_siphash scan_begin(__u32 is_ipv6)
{
	const volatile __u64 *v = scan_begun[is_ipv6].v;

	return (struct scan_siphash){ .v = { v[0], v[1], v[2], v[3] } };
}

/* Addresses and port in network order. */
xway_inline __u64 scan_cookie4(__be32 address, __be16 port)
{
	struct scan_siphash hash = scan_begin(0);

	return scan_finish(&hash, SCAN_HASHED4 << 56 | (__u64)port << 32 | address);
}

xway_inline __u64 scan_cookie6(__u64 first, __u64 second, __be16 port)
{
	struct scan_siphash hash = scan_begin(1);

	scan_absorb(&hash, first);
	scan_absorb(&hash, second);
	return scan_finish(&hash, SCAN_HASHED6 << 56 | port);
}

#endif
