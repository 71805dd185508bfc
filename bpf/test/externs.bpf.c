/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the running kernel supplies: configuration, variables, functions. */
#include "test.h"

/* The name is libbpf's: it takes no other enum for configuration. */
enum libbpf_tristate { TRI_NO, TRI_YES, TRI_MODULE };

extern int LINUX_KERNEL_VERSION __kconfig;
extern enum libbpf_tristate CONFIG_BPF_SYSCALL __kconfig __weak;
extern _Bool CONFIG_XWAY_NOT_THERE __kconfig __weak;
extern char CONFIG_DEFAULT_HOSTNAME[16] __kconfig __weak;

extern const int nr_cpu_ids __ksym __weak;
extern const void xway_not_there __ksym __weak;

extern void *bpf_cast_to_kern_ctx(void *) __ksym;
extern int xway_no_such_function(int) __ksym __weak;

__u64 seen;

SEC("xdp")
int ask(struct xdp_md *ctx)
{
	if (LINUX_KERNEL_VERSION < 0x50f00 || CONFIG_BPF_SYSCALL != TRI_YES)
		return XDP_ABORTED;
	if (CONFIG_XWAY_NOT_THERE || CONFIG_DEFAULT_HOSTNAME[0] == '?')
		return XDP_DROP;
	if (&xway_not_there)
		return XDP_DROP;
	if (&nr_cpu_ids)
		seen = nr_cpu_ids;
	return XDP_PASS;
}

SEC("xdp")
int call(struct xdp_md *ctx)
{
	if (!bpf_cast_to_kern_ctx(ctx))
		return XDP_ABORTED;
	if (xway_no_such_function)
		return xway_no_such_function(1);
	return XDP_PASS;
}

char _license[] SEC("license") = "Dual MIT/GPL";
