/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Definitions that every BPF program needs: sections, map definitions, helpers, byte order.
 *
 * Rule: a helper that Linux 5.15 lacks has a comment with the version that introduced it, and is
 * called only from entries that are not loaded on older kernels.
 * Not here: packets (parse.h), checksums (csum.h), counters (stats.h).
 */
#ifndef XWAY_BPF_H
#define XWAY_BPF_H

#include <linux/bpf.h>
#include <linux/types.h>

#define NULL ((void *)0)

#define SEC(name) __attribute__((section(name), used))
/* All functions of these headers are inlined, so that the verifier knows their values. */
#define xway_inline static inline __attribute__((always_inline, unused))

/*
 * A function that the verifier checks once, for any arguments, instead of on each path of its
 * callers. It regards pointers as possibly NULL.
 */
#define xway_global __attribute__((noinline))

/* Fields of a map definition in SEC(".maps"), which the loader reads from the BTF. */
#define __uint(name, value) int(*name)[value]
#define __type(name, type) typeof(type) *name
#define __array(name, type) typeof(type) *name[]

#define xway_memcpy(to, from, size) __builtin_memcpy(to, from, size)

/* Unrolls the loop that follows; for loops in which the verifier must know each packet offset. */
#define xway_unroll _Pragma("clang loop unroll(full)")

/* Which branch is taken by most packets: its code comes first and has the registers. */
#define xway_likely(x) __builtin_expect(!!(x), 1)
#define xway_unlikely(x) __builtin_expect(!!(x), 0)

/* Hides a value from the compiler, whose bounds the verifier must see. */
#define xway_opaque(x) asm volatile("" : "+r"(x))

/*
 * A size to be compared with 1 before a helper reads that many bytes. Before Linux 6.8, the
 * verifier learns nothing from a comparison with 0, but it does from one of signed numbers.
 */
xway_inline __s64 xway_size(__u32 bytes)
{
	__s64 size = bytes;

	xway_opaque(size);
	return size;
}

/* BPF objects are little-endian (`--target=bpf` on a little-endian host). */
#define xway_htons(x) ((__be16)(__builtin_constant_p(x) ? XWAY_SWAB16(x) : __builtin_bswap16(x)))
#define xway_ntohs(x) ((__u16)xway_htons(x))
#define xway_htonl(x) ((__be32)(__builtin_constant_p(x) ? XWAY_SWAB32(x) : __builtin_bswap32(x)))
#define xway_ntohl(x) ((__u32)xway_htonl(x))
#define XWAY_SWAB16(x) ((__u16)(((x) & 0xff) << 8 | ((x) >> 8 & 0xff)))
#define XWAY_SWAB32(x)                                                                             \
	((__u32)(((x) & 0xff) << 24 | ((x) & 0xff00) << 8 | ((x) >> 8 & 0xff00) |                  \
		 ((x) >> 24 & 0xff)))

/* Address families, which the headers of the kernel interface do not have. */
#define XWAY_AF_INET 2
#define XWAY_AF_INET6 10

#define XWAY_HELPER static __attribute__((unused))

XWAY_HELPER void *(*const bpf_map_lookup_elem)(const void *map, const void *key) =
	(void *)BPF_FUNC_map_lookup_elem;
XWAY_HELPER long (*const bpf_map_update_elem)(const void *map, const void *key, const void *value,
					      __u64 flags) = (void *)BPF_FUNC_map_update_elem;
XWAY_HELPER long (*const bpf_map_delete_elem)(const void *map, const void *key) =
	(void *)BPF_FUNC_map_delete_elem;
XWAY_HELPER __u64 (*const bpf_ktime_get_ns)(void) = (void *)BPF_FUNC_ktime_get_ns;
/* The time of the last tick, one to ten milliseconds ago. */
XWAY_HELPER __u64 (*const bpf_ktime_get_coarse_ns)(void) = (void *)BPF_FUNC_ktime_get_coarse_ns;
XWAY_HELPER __u64 (*const bpf_jiffies64)(void) = (void *)BPF_FUNC_jiffies64;
XWAY_HELPER __u32 (*const bpf_get_smp_processor_id)(void) = (void *)BPF_FUNC_get_smp_processor_id;
XWAY_HELPER __u32 (*const bpf_get_prandom_u32)(void) = (void *)BPF_FUNC_get_prandom_u32;
/* At most 512 bytes before Linux 6.13. */
XWAY_HELPER __s64 (*const bpf_csum_diff)(const void *from, __u32 from_size, const void *to,
					 __u32 to_size, __wsum seed) = (void *)BPF_FUNC_csum_diff;
XWAY_HELPER long (*const bpf_tail_call)(void *ctx, const void *map, __u32 index) =
	(void *)BPF_FUNC_tail_call;
XWAY_HELPER long (*const bpf_redirect)(__u32 ifindex, __u64 flags) = (void *)BPF_FUNC_redirect;
XWAY_HELPER long (*const bpf_redirect_map)(void *map, __u64 key, __u64 flags) =
	(void *)BPF_FUNC_redirect_map;
XWAY_HELPER long (*const bpf_fib_lookup)(void *ctx, struct bpf_fib_lookup *params, int size,
					 __u32 flags) = (void *)BPF_FUNC_fib_lookup;
XWAY_HELPER long (*const bpf_ringbuf_output)(void *ring, void *data, __u64 size, __u64 flags) =
	(void *)BPF_FUNC_ringbuf_output;
XWAY_HELPER void *(*const bpf_ringbuf_reserve)(void *ring, __u64 size, __u64 flags) =
	(void *)BPF_FUNC_ringbuf_reserve;
XWAY_HELPER void (*const bpf_ringbuf_submit)(void *data, __u64 flags) =
	(void *)BPF_FUNC_ringbuf_submit;
XWAY_HELPER void (*const bpf_ringbuf_discard)(void *data, __u64 flags) =
	(void *)BPF_FUNC_ringbuf_discard;
XWAY_HELPER long (*const bpf_xdp_adjust_meta)(struct xdp_md *ctx, int delta) =
	(void *)BPF_FUNC_xdp_adjust_meta;
XWAY_HELPER long (*const bpf_xdp_adjust_head)(struct xdp_md *ctx, int delta) =
	(void *)BPF_FUNC_xdp_adjust_head;
/* Linux 5.17. */
XWAY_HELPER long (*const bpf_loop)(__u32 count, void *callback, void *ctx, __u64 flags) =
	(void *)BPF_FUNC_loop;
/* Linux 5.18. */
XWAY_HELPER __u64 (*const bpf_xdp_get_buff_len)(struct xdp_md *ctx) =
	(void *)BPF_FUNC_xdp_get_buff_len;
/* Linux 5.18. */
XWAY_HELPER long (*const bpf_xdp_load_bytes)(struct xdp_md *ctx, __u32 at, void *to, __u32 size) =
	(void *)BPF_FUNC_xdp_load_bytes;
/* Linux 5.18. */
XWAY_HELPER long (*const bpf_xdp_store_bytes)(struct xdp_md *ctx, __u32 at, const void *from,
					      __u32 size) = (void *)BPF_FUNC_xdp_store_bytes;

/* Since Linux 5.8 it can also grow a frame; before, it can only shrink it. */
XWAY_HELPER long (*const bpf_xdp_adjust_tail)(struct xdp_md *ctx, int delta) =
	(void *)BPF_FUNC_xdp_adjust_tail;
XWAY_HELPER struct bpf_sock *(*const bpf_skc_lookup_tcp)(void *ctx, struct bpf_sock_tuple *tuple,
							 __u32 size, __u64 netns, __u64 flags) =
	(void *)BPF_FUNC_skc_lookup_tcp;
XWAY_HELPER long (*const bpf_sk_release)(void *socket) = (void *)BPF_FUNC_sk_release;
/* The listener also accepts cookies for the next two minutes. */
XWAY_HELPER __s64 (*const bpf_tcp_gen_syncookie)(void *socket, const void *ip, __u32 ip_size,
						 const void *tcp, __u32 tcp_size) =
	(void *)BPF_FUNC_tcp_gen_syncookie;
/* Linux 6.0, as the next one. */
XWAY_HELPER long (*const bpf_tcp_raw_check_syncookie_ipv4)(const void *ip, const void *tcp) =
	(void *)BPF_FUNC_tcp_raw_check_syncookie_ipv4;
XWAY_HELPER long (*const bpf_tcp_raw_check_syncookie_ipv6)(const void *ip, const void *tcp) =
	(void *)BPF_FUNC_tcp_raw_check_syncookie_ipv6;

#endif
