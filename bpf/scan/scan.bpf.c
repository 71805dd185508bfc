// SPDX-License-Identifier: Dual MIT/GPL
/*
 * scan: makes the probes of a scan, one of each frame that a generator passes to it.
 *
 * The generator's program has restored the frame, waited until it is due, and counted it; this one
 * writes the next target into it and sends it. A frame for which there is no target is dropped.
 */
#include "scan.abi.h"

#include <xway/bpf.h>

#include "order.h"
#include "probe.h"
#include "target.h"

/* The number of the thread, and the interface that probes leave by; 0 passes them on. */
const volatile __u32 scan_thread;
const volatile __u32 scan_ifindex;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, struct scan_thread);
} scan_threads SEC(".maps");

SEC("xdp")
int xway_scan(struct xdp_md *ctx)
{
	__u32 place = scan_thread;
	struct scan_thread *thread = bpf_map_lookup_elem(&scan_threads, &place);
	struct scan_target target;
	struct scan_number number;

	if (!thread || thread->made >= thread->count)
		return XDP_DROP;
	if (!scan_number_at(thread->first + thread->made * thread->stride, &number))
		return XDP_ABORTED;
	if (!scan_target(number, &target) || !scan_write(ctx, &target))
		return XDP_ABORTED;
	thread->made++;
	return scan_ifindex ? bpf_redirect(scan_ifindex, 0) : XDP_PASS;
}

char xway_license[] SEC("license") = "Dual MIT/GPL";
