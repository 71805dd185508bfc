/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* State that outlives a call: timers, queues, a lock between processors, and leaked objects. */
#include "objects.h"

struct clocked {
	struct bpf_timer timer;
	struct bpf_wq queue;
	__u64 fired;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, __u32);
	__type(value, struct clocked);
	__uint(max_entries, 4);
} clocks SEC(".maps");

static int fire(void *map, __u32 *key, struct clocked *clocked)
{
	clocked->fired += *key;
	return 0;
}

#define HOUR_NS 3600000000000ull

SEC("xdp")
int lasting_timer(struct xdp_md *ctx)
{
	struct clocked fresh = {}, *clocked;
	__u32 key = 7;

	bpf_map_update_elem(&clocks, &key, &fresh, 0);
	clocked = bpf_map_lookup_elem(&clocks, &key);
	if (!clocked)
		return XDP_ABORTED;
	put(0, bpf_timer_set_callback(&clocked->timer, fire));
	put(1, bpf_timer_start(&clocked->timer, HOUR_NS, 0));
	put(2, bpf_timer_cancel(&clocked->timer));
	put(3, bpf_timer_init(&clocked->timer, &clocks, 5));
	put(4, bpf_timer_init(&clocked->timer, &clocks, 1));
	put(5, bpf_timer_init(&clocked->timer, &clocks, 1));
	put(6, bpf_timer_start(&clocked->timer, HOUR_NS, 0));
	put(7, bpf_timer_set_callback(&clocked->timer, fire));
	put(8, bpf_timer_cancel(&clocked->timer));
	put(9, bpf_timer_set_callback(&clocked->timer, fire));
	put(10, bpf_timer_start(&clocked->timer, HOUR_NS, 4));
	put(11, bpf_timer_start(&clocked->timer, HOUR_NS, 0));
	put(12, bpf_timer_start(&clocked->timer, 2 * HOUR_NS, 0));
	put(13, bpf_timer_cancel(&clocked->timer));
	put(14, bpf_timer_cancel(&clocked->timer));
	put(15, bpf_timer_start(&clocked->timer, HOUR_NS, 0));
	put(20, bpf_wq_start(&clocked->queue, 0));
	put(21, bpf_wq_init(&clocked->queue, &clocks, 1));
	put(22, bpf_wq_init(&clocked->queue, &clocks, 0));
	put(23, bpf_wq_init(&clocked->queue, &clocks, 0));
	put(24, bpf_wq_set_callback_impl(&clocked->queue, fire, 1, NULL));
	put(25, bpf_wq_set_callback_impl(&clocked->queue, fire, 0, NULL));
	put(26, bpf_wq_start(&clocked->queue, 1));
	put(27, bpf_timer_set_callback(&clocked->timer, fire));
	put(28, bpf_timer_cancel(&clocked->timer));
	put(29, bpf_timer_start(&clocked->timer, HOUR_NS, 0));
	return XDP_PASS;
}

/* The timers that fired, in order: the key of a timer for each time. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u32);
	__uint(max_entries, 16);
} fired SEC(".maps");

__u32 fired_count;

static int note(void *map, __u32 *key, struct clocked *clocked)
{
	__u32 place = fired_count++;
	__u32 *kept = bpf_map_lookup_elem(&fired, &place);

	if (kept)
		*kept = *key;
	if (*key == 2)
		bpf_timer_start(&clocked->timer, 1000000, 0);
	return 0;
}

static __noinline int set(__u32 key, __u64 after_ns)
{
	struct clocked fresh = {}, *clocked;

	bpf_map_update_elem(&clocks, &key, &fresh, 0);
	clocked = bpf_map_lookup_elem(&clocks, &key);
	if (!clocked)
		return -1;
	bpf_timer_init(&clocked->timer, &clocks, 1);
	bpf_timer_set_callback(&clocked->timer, note);
	return bpf_timer_start(&clocked->timer, after_ns, 0);
}

/* One timer that fires once, one that fires repeatedly, and a work queue that runs immediately. */
SEC("xdp")
int lasting_clocks(struct xdp_md *ctx)
{
	struct clocked fresh = {}, *clocked;
	__u32 key = 3;

	put(0, set(1, 2500000));
	put(1, set(2, 1000000));
	bpf_map_update_elem(&clocks, &key, &fresh, 0);
	clocked = bpf_map_lookup_elem(&clocks, &key);
	if (!clocked)
		return XDP_ABORTED;
	put(2, bpf_wq_init(&clocked->queue, &clocks, 0));
	put(3, bpf_wq_set_callback_impl(&clocked->queue, note, 0, NULL));
	put(4, bpf_wq_start(&clocked->queue, 0));
	return XDP_PASS;
}

struct guarded {
	struct bpf_spin_lock lock;
	__u32 pad;
	__u64 count;
	__u64 twice;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct guarded);
	__uint(max_entries, 1);
} guarded SEC(".maps");

/* Counts without atomics, which is exact only under the lock. */
SEC("xdp")
int lasting_guarded(struct xdp_md *ctx)
{
	__u32 key = 0;
	struct guarded *value = bpf_map_lookup_elem(&guarded, &key);

	if (!value)
		return XDP_ABORTED;
	bpf_spin_lock(&value->lock);
	value->count++;
	value->twice += 2;
	bpf_spin_unlock(&value->lock);
	return XDP_PASS;
}

struct holder {
	struct plain KPTR *kept;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, __u32);
	__type(value, struct holder);
	__uint(max_entries, 4);
} holders SEC(".maps");

/* Keeps the address of an allocated object, which the deletion of a map element frees. */
SEC("xdp")
int lasting_taken_along(struct xdp_md *ctx)
{
	struct holder fresh = {}, *holder;
	struct plain *plain = bpf_obj_new(struct plain);
	__u32 key = 5;

	if (!plain)
		return XDP_ABORTED;
	put(0, (__u64)plain);
	bpf_map_update_elem(&holders, &key, &fresh, 0);
	holder = bpf_map_lookup_elem(&holders, &key);
	if (holder)
		plain = bpf_kptr_xchg(&holder->kept, plain);
	if (plain)
		bpf_obj_drop(plain);
	bpf_map_delete_elem(&holders, &key);
	return XDP_PASS;
}

/* Programs that no verifier accepts: each must be a fault with a message. */
SEC("?xdp")
int lasting_leaked(struct xdp_md *ctx)
{
	return bpf_obj_new(struct plain) ? XDP_PASS : XDP_DROP;
}

SEC("?xdp")
int lasting_dropped_twice(struct xdp_md *ctx)
{
	struct plain *plain = bpf_obj_new(struct plain);

	bpf_obj_drop(plain);
	bpf_obj_drop(plain);
	return XDP_PASS;
}

SEC("?xdp")
int lasting_still_locked(struct xdp_md *ctx)
{
	__u32 key = 0;
	struct guarded *value = bpf_map_lookup_elem(&guarded, &key);

	bpf_spin_lock(&value->lock);
	return XDP_PASS;
}

SEC("?xdp")
int lasting_unlocked(struct xdp_md *ctx)
{
	__u32 key = 0;
	struct guarded *value = bpf_map_lookup_elem(&guarded, &key);

	bpf_spin_unlock(&value->lock);
	return XDP_PASS;
}

SEC("?xdp")
int lasting_no_lock(struct xdp_md *ctx)
{
	__u32 key = 0;
	struct guarded *value = bpf_map_lookup_elem(&guarded, &key);

	bpf_spin_lock((void *)&value->pad);
	return XDP_PASS;
}

SEC("?xdp")
int lasting_preempted(struct xdp_md *ctx)
{
	bpf_preempt_disable();
	return XDP_PASS;
}

SEC("?xdp")
int lasting_beyond(struct xdp_md *ctx)
{
	struct plain *plain = bpf_obj_new(struct plain);
	__u64 behind = ((volatile __u64 *)plain)[2];

	bpf_obj_drop(plain);
	return behind ? XDP_PASS : XDP_DROP;
}

char _license[] SEC("license") = "Dual MIT/GPL";
