/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Events of actions, mostly failures, counted per processor. */
#ifndef FILTER_EVENT_H
#define FILTER_EVENT_H

#include "filter.abi.h"

#include <xway/bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, FILTER_EVENTS);
	__type(key, __u32);
	__type(value, __u64);
} filter_events SEC(".maps");

/* Its type brings the names of all events into the object's BTF. */
const volatile enum filter_event filter_last_event = FILTER_EVENTS - 1;

xway_inline void filter_count_event(__u32 event)
{
	__u64 *count = bpf_map_lookup_elem(&filter_events, &event);

	if (count)
		*count += 1;
}

#endif
