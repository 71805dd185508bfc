/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The time in nanoseconds at the last tick of the kernel.
 *
 * Reading the time takes two calls that return through a thunk; the number of the tick is one read.
 * So each processor stores the time of a tick and reads it once per tick.
 * Rule: this time may be a tick late, so it is for limits of 20 ms and longer, and for bans.
 */
#ifndef FILTER_CLOCK_H
#define FILTER_CLOCK_H

#include <xway/bpf.h>

struct xway_tick {
	__u64 number;
	__u64 time;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct xway_tick);
} filter_tick SEC(".maps");

xway_inline __u64 filter_coarse_ns(void)
{
	__u32 only = 0;
	struct xway_tick *tick = bpf_map_lookup_elem(&filter_tick, &only);
	__u64 number = bpf_jiffies64();

	if (!tick)
		return bpf_ktime_get_coarse_ns();
	if (tick->number != number) {
		tick->time = bpf_ktime_get_coarse_ns();
		tick->number = number;
	}
	return tick->time;
}

#endif
