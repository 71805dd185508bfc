/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Entries of the kernel's connection tracking, and the functions that look them up.
 *
 * Rule: only the fields that are read are declared; the loader relocates them for the running
 * kernel. The functions look up TCP and UDP in the default zone of the device's namespace.
 * Not here: what follows from an entry (conntrack.h).
 */
#ifndef ROUTE_ENTRY_H
#define ROUTE_ENTRY_H

#include <xway/bpf.h>

#define ROUTE_KERNEL __attribute__((preserve_access_index))
#define ROUTE_KFUNC extern __attribute__((section(".ksyms")))

union nf_inet_addr {
	__be32 ip6[4];
} ROUTE_KERNEL;

union nf_conntrack_man_proto {
	__be16 all;
} ROUTE_KERNEL;

struct nf_conntrack_man {
	union nf_inet_addr u3;
	union nf_conntrack_man_proto u;
} ROUTE_KERNEL;

struct nf_conntrack_tuple {
	struct nf_conntrack_man src;
	struct {
		union nf_inet_addr u3;
		union {
			__be16 all;
		} u;
	} dst;
} ROUTE_KERNEL;

struct nf_conntrack_tuple_hash {
	struct nf_conntrack_tuple tuple;
} ROUTE_KERNEL;

struct ip_ct_tcp {
	__u8 state;
} ROUTE_KERNEL;

union nf_conntrack_proto {
	struct ip_ct_tcp tcp;
} ROUTE_KERNEL;

/* Kernels have other numbers, or lack one, depending on their configuration. */
enum nf_ct_ext_id {
	NF_CT_EXT_HELPER,
	NF_CT_EXT_TIMEOUT = 6,
};

#define ROUTE_EXTENSION_EXISTS(id) __builtin_preserve_enum_value(*(enum nf_ct_ext_id *)id, 0)
#define ROUTE_EXTENSION(id) __builtin_preserve_enum_value(*(enum nf_ct_ext_id *)id, 1)

struct nf_ct_ext {
	__u8 offset[4];
} ROUTE_KERNEL;

struct nf_conn {
	__u32 timeout;
	struct nf_conntrack_tuple_hash tuplehash[2];
	unsigned long status;
	struct nf_ct_ext *ext;
	union nf_conntrack_proto proto;
} ROUTE_KERNEL;

/* As before Linux 6.10, which appended the zone; later kernels accept both sizes. */
struct bpf_ct_opts___short {
	__s32 netns_id;
	__s32 error;
	__u8 l4proto;
	__u8 dir;
	__u8 reserved[2];
};
_Static_assert(sizeof(struct bpf_ct_opts___short) == 12, "NF_BPF_CT_OPTS_SZ");

#define ROUTE_OWN_NAMESPACE (-1)

/* Status bits of include/uapi/linux/netfilter/nf_conntrack_common.h. */
#define ROUTE_IPS_ESTABLISHED (1 << 1 | 1 << 2 | 1 << 3) /* seen reply, assured, confirmed */
#define ROUTE_IPS_SEQ_ADJUST (1 << 6)
#define ROUTE_IPS_DYING (1 << 9)
#define ROUTE_IPS_TEMPLATE (1 << 11)
#define ROUTE_IPS_HELPER (1 << 13)
#define ROUTE_TCP_ESTABLISHED 3

/* Linux 6.0, as the next two. */
ROUTE_KFUNC struct nf_conn *bpf_xdp_ct_lookup(struct xdp_md *ctx, struct bpf_sock_tuple *tuple,
					      __u32 tuple_size, struct bpf_ct_opts___short *options,
					      __u32 options_size);
ROUTE_KFUNC int bpf_ct_change_timeout(struct nf_conn *entry, __u32 timeout_ms);
ROUTE_KFUNC void bpf_ct_release(struct nf_conn *entry);

#endif
