/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Writes a target and its cookie into a frame that has everything else.
 *
 * Checksums are sums over the constant bytes, which user space computed, and over what is written.
 */
#ifndef SCAN_PROBE_H
#define SCAN_PROBE_H

#include "scan.abi.h"

#include <linux/if_ether.h>

#include <xway/bpf.h>
#include <xway/csum.h>
#include <xway/frame.h>

#include "cookie.h"
#include "target.h"

/* User space sets it; without, the verifier needs offsets within a frame. */
const volatile struct scan_layout scan_layout = { .ip = ETH_HLEN, .frame_bytes = ETH_ZLEN };

/* Offsets in the IP headers. */
#define SCAN_ID4 4
#define SCAN_CHECK4 10
#define SCAN_DEST4 16
#define SCAN_DEST6 24

/* A word of the frame at an offset that is constant once the program is loaded. */
#define SCAN_AT(data, at, type) (*(type *)((data) + (at)))

xway_inline __u64 scan_sum64(__u64 word)
{
	return (word & 0xffffffff) + (word >> 32);
}

/* Writes address and identification; returns the cookie, and adds the address to the sum. */
xway_inline __u64 scan_write_address4(void *ip, const struct scan_target *target, __be16 port,
				      __u64 *sum)
{
	__be32 address = __builtin_bswap32((__u32)target->address.low);
	__u64 cookie = scan_cookie4(address, port);
	__be16 id = cookie >> 32;

	SCAN_AT(ip, SCAN_ID4, __be16) = id;
	SCAN_AT(ip, SCAN_DEST4, __be32) = address;
	SCAN_AT(ip, SCAN_CHECK4, __sum16) =
		~xway_csum_fold((__u64)scan_layout.ip_sum + address + id);
	*sum += address;
	return cookie;
}

xway_inline __u64 scan_write_address6(void *ip, const struct scan_target *target, __be16 port,
				      __u64 *sum)
{
	__u64 first = __builtin_bswap64(target->address.high);
	__u64 second = __builtin_bswap64(target->address.low);

	SCAN_AT(ip, SCAN_DEST6, __u64) = first;
	SCAN_AT(ip, SCAN_DEST6 + 8, __u64) = second;
	*sum += scan_sum64(first) + scan_sum64(second);
	return scan_cookie6(first, second, port);
}

xway_inline void scan_write_transport(void *data, __u64 cookie, __be16 port, __u64 sum)
{
	__sum16 check;

	if (scan_layout.port) {
		SCAN_AT(data, scan_layout.port, __be16) = port;
		sum += port;
	}
	if (scan_layout.source_port) {
		__u32 place = (cookie >> 48) * scan_layout.port_count >> 16;
		__be16 source = xway_htons((__u16)(scan_layout.first_port + place));

		SCAN_AT(data, scan_layout.source_port, __be16) = source;
		sum += source;
	}
	if (scan_layout.cookie) {
		SCAN_AT(data, scan_layout.cookie, __u32) = cookie;
		sum += (__u32)cookie;
	}
	if (!scan_layout.check)
		return;
	check = ~xway_csum_fold(sum + scan_layout.sum);
	if (scan_layout.is_udp && !check)
		check = 0xffff;
	SCAN_AT(data, scan_layout.check, __sum16) = check;
}

/* Returns 0 if the frame is shorter than the layout: a defect. */
xway_inline int scan_write(struct xdp_md *ctx, const struct scan_target *target)
{
	void *data = xway_data(ctx), *ip = data + scan_layout.ip;
	__be16 port = xway_htons(target->port);
	__u64 sum = 0, cookie;

	if (data + scan_layout.frame_bytes > xway_data_end(ctx))
		return 0;
	if (scan_layout.is_ipv6)
		cookie = scan_write_address6(ip, target, port, &sum);
	else
		cookie = scan_write_address4(ip, target, port, &sum);
	if (!scan_layout.has_pseudo)
		sum = 0;
	scan_write_transport(data, cookie, port, sum);
	return 1;
}

#endif
