/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Helpers and kfuncs on objects: locks, lists, trees, counted and per-CPU objects. */
#include "objects.h"

struct item {
	__u64 key;
	struct bpf_list_node in_list;
	struct bpf_rb_node in_tree;
	struct bpf_refcount count;
	__u32 value;
};

PRIVATE(lists) struct bpf_spin_lock list_lock;
PRIVATE(lists) struct bpf_list_head list CONTAINS(item, in_list);
PRIVATE(trees) struct bpf_spin_lock tree_lock;
PRIVATE(trees) struct bpf_rb_root tree CONTAINS(item, in_tree);

static _Bool less(struct bpf_rb_node *a, const struct bpf_rb_node *b)
{
	return container_of(a, struct item, in_tree)->key <
	       container_of(b, struct item, in_tree)->key;
}

static __noinline int push(__u64 key, _Bool front)
{
	struct item *item = bpf_obj_new(struct item);
	int answer;

	if (!item)
		return -1;
	item->key = key;
	bpf_spin_lock(&list_lock);
	if (front)
		answer = bpf_list_push_front_impl(&list, &item->in_list, NULL, 0);
	else
		answer = bpf_list_push_back_impl(&list, &item->in_list, NULL, 0);
	bpf_spin_unlock(&list_lock);
	return answer;
}

static __noinline __u64 pop(_Bool front)
{
	struct bpf_list_node *node;
	struct item *item;
	__u64 key;

	bpf_spin_lock(&list_lock);
	if (front)
		node = bpf_list_pop_front(&list);
	else
		node = bpf_list_pop_back(&list);
	bpf_spin_unlock(&list_lock);
	if (!node)
		return 1000;
	item = container_of(node, struct item, in_list);
	key = item->key;
	bpf_obj_drop(item);
	return key;
}

static __noinline __u64 peek(_Bool front)
{
	struct bpf_list_node *node;
	__u64 key = 1000;

	bpf_spin_lock(&list_lock);
	if (front)
		node = bpf_list_front(&list);
	else
		node = bpf_list_back(&list);
	if (node)
		key = container_of(node, struct item, in_list)->key;
	bpf_spin_unlock(&list_lock);
	return key;
}

SEC("xdp")
int objects_list(struct xdp_md *ctx)
{
	put(0, pop(1));
	put(1, peek(0));
	put(2, push(1, 1));
	put(3, push(2, 1));
	put(4, push(3, 0));
	put(5, push(4, 0));
	put(6, peek(1));
	put(7, peek(0));
	put(8, pop(1));
	put(9, pop(0));
	put(10, pop(0));
	put(11, peek(1));
	put(12, peek(0));
	put(13, pop(0));
	put(14, pop(0));
	put(15, pop(1));
	return XDP_PASS;
}

static __noinline int add(__u64 key)
{
	struct item *item = bpf_obj_new(struct item);
	int answer;

	if (!item)
		return -1;
	item->key = key;
	bpf_spin_lock(&tree_lock);
	answer = bpf_rbtree_add_impl(&tree, &item->in_tree, less, NULL, 0);
	bpf_spin_unlock(&tree_lock);
	return answer;
}

static __noinline __u64 take_first(void)
{
	struct bpf_rb_node *node;
	struct item *item;
	__u64 key;

	bpf_spin_lock(&tree_lock);
	node = bpf_rbtree_first(&tree);
	if (!node) {
		bpf_spin_unlock(&tree_lock);
		return 1000;
	}
	node = bpf_rbtree_remove(&tree, node);
	bpf_spin_unlock(&tree_lock);
	if (!node)
		return 1001;
	item = container_of(node, struct item, in_tree);
	key = item->key;
	bpf_obj_drop(item);
	return key;
}

/* The key at a path from the root, two bits per step: 1 left, 2 right, 0 the end. */
static __noinline __u64 at(__u32 path)
{
	struct bpf_rb_node *node;
	__u64 key = 1000;
	int step;

	bpf_spin_lock(&tree_lock);
	node = bpf_rbtree_root(&tree);
	for (step = 0; step < 4 && node && path; step++, path >>= 2) {
		if (path & 1)
			node = bpf_rbtree_left(&tree, node);
		else
			node = bpf_rbtree_right(&tree, node);
	}
	if (node)
		key = container_of(node, struct item, in_tree)->key;
	bpf_spin_unlock(&tree_lock);
	return key;
}

/* Removes the node at a path; returns its key. */
static __noinline __u64 take(__u32 path)
{
	struct bpf_rb_node *node;
	struct item *item;
	__u64 key;
	int step;

	bpf_spin_lock(&tree_lock);
	node = bpf_rbtree_root(&tree);
	for (step = 0; step < 4 && node && path; step++, path >>= 2) {
		if (path & 1)
			node = bpf_rbtree_left(&tree, node);
		else
			node = bpf_rbtree_right(&tree, node);
	}
	if (!node) {
		bpf_spin_unlock(&tree_lock);
		return 1000;
	}
	node = bpf_rbtree_remove(&tree, node);
	bpf_spin_unlock(&tree_lock);
	if (!node)
		return 1001;
	item = container_of(node, struct item, in_tree);
	key = item->key;
	bpf_obj_drop(item);
	return key;
}

static const __u32 paths[] = { 0,	 1,	2,	1 | 1 << 2, 2 | 1 << 2, 1 | 2 << 2,
			       2 | 2 << 2, 1 | 1 << 2 | 1 << 4, 2 | 1 << 2 | 1 << 4,
			       1 | 2 << 2 | 1 << 4, 2 | 2 << 2 | 1 << 4, 1 | 1 << 2 | 2 << 4,
			       2 | 1 << 2 | 2 << 4, 1 | 2 << 2 | 2 << 4, 2 | 2 << 2 | 2 << 4,
			       2 | 2 << 2 | 2 << 4 | 2 << 6, 1 | 1 << 2 | 1 << 4 | 1 << 6 };
#define PATHS (sizeof(paths) / sizeof(paths[0]))

static int show_step(__u32 index, __u32 *from)
{
	if (index < PATHS)
		put(*from + index, at(paths[index]));
	return 0;
}

static int add_step(__u32 index, void *unused)
{
	put(index, add((index * 37 + 11) % 64));
	return 0;
}

static int take_step(__u32 index, __u32 *from)
{
	if (index < PATHS)
		put(*from + index, take(paths[index]));
	return 0;
}

static int empty_step(__u32 index, __u32 *from)
{
	put(*from + index, take_first());
	return 0;
}

SEC("xdp")
int objects_tree(struct xdp_md *ctx)
{
	__u32 from = 50;

	bpf_loop(30, add_step, NULL, 0);
	bpf_loop(PATHS, show_step, &from, 0);
	from = 100;
	bpf_loop(9, take_step, &from, 0);
	from = 150;
	bpf_loop(PATHS, show_step, &from, 0);
	from = 200;
	bpf_loop(8, take_step, &from, 0);
	from = 250;
	bpf_loop(PATHS, show_step, &from, 0);
	from = 300;
	bpf_loop(20, empty_step, &from, 0);
	return XDP_PASS;
}

SEC("xdp")
int objects_counted(struct xdp_md *ctx)
{
	struct item *item = bpf_obj_new(struct item), *again;
	struct bpf_rb_node *node;
	int answer;

	if (!item)
		return XDP_ABORTED;
	item->key = 5;
	item->value = 6;
	again = bpf_refcount_acquire_impl(item, NULL);
	bpf_spin_lock(&list_lock);
	answer = bpf_list_push_back_impl(&list, &item->in_list, NULL, 0);
	bpf_spin_unlock(&list_lock);
	put(0, answer);
	if (!again)
		return XDP_ABORTED;
	put(1, again->key);
	bpf_spin_lock(&tree_lock);
	answer = bpf_rbtree_add_impl(&tree, &again->in_tree, less, NULL, 0);
	node = bpf_rbtree_first(&tree);
	if (!node) {
		bpf_spin_unlock(&tree_lock);
		return XDP_ABORTED;
	}
	again = container_of(node, struct item, in_tree);
	again->value += 10;
	again = bpf_refcount_acquire_impl(again, NULL);
	bpf_spin_unlock(&tree_lock);
	if (!again)
		return XDP_ABORTED;
	put(3, again->value);
	put(2, answer);
	bpf_spin_lock(&list_lock);
	answer = bpf_list_push_back_impl(&list, &again->in_list, NULL, 0);
	bpf_spin_unlock(&list_lock);
	put(4, answer);
	put(5, pop(1));
	put(6, take_first());
	put(7, pop(1));
	put(8, take_first());
	return XDP_PASS;
}

struct keeper {
	struct plain KPTR *kept;
	struct plain PERCPU_KPTR *copies;
	struct bpf_res_spin_lock lock;
	__u32 number;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct keeper);
	__uint(max_entries, 2);
} keepers SEC(".maps");

SEC("xdp")
int objects_kept(struct xdp_md *ctx)
{
	__u32 key = 0;
	struct keeper *keeper = bpf_map_lookup_elem(&keepers, &key);
	struct plain *plain, PERCPU_KPTR *copies, *copy;

	if (!keeper)
		return XDP_ABORTED;
	plain = bpf_kptr_xchg(&keeper->kept, NULL);
	put(0, plain ? plain->a : 1000);
	if (!plain)
		plain = bpf_obj_new(struct plain);
	if (!plain)
		return XDP_ABORTED;
	plain->a = 7;
	plain->b = 8;
	plain = bpf_kptr_xchg(&keeper->kept, plain);
	put(1, !plain);
	if (plain)
		bpf_obj_drop(plain);
	plain = bpf_kptr_xchg(&keeper->kept, NULL);
	put(2, plain ? plain->b : 1000);
	if (plain)
		plain = bpf_kptr_xchg(&keeper->kept, plain);
	if (plain)
		bpf_obj_drop(plain);
	copies = bpf_percpu_obj_new_impl(core_local_id(struct plain), NULL);
	if (!copies)
		return XDP_ABORTED;
	copies = bpf_kptr_xchg(&keeper->copies, copies);
	put(3, !copies);
	if (copies)
		bpf_percpu_obj_drop_impl(copies, NULL);
	bpf_rcu_read_lock();
	copies = keeper->copies;
	if (copies) {
		copy = bpf_per_cpu_ptr(copies, 0);
		if (copy) {
			copy->a = 9;
			put(4, copy->a);
		}
		put(5, !bpf_per_cpu_ptr(copies, 4096));
		copy = bpf_this_cpu_ptr(copies);
		copy->b = 3;
		put(6, copy->b);
	}
	bpf_rcu_read_unlock();
	return XDP_PASS;
}

SEC("xdp")
int objects_locks(struct xdp_md *ctx)
{
	__u32 key = 0;
	struct keeper *one = bpf_map_lookup_elem(&keepers, &key), *two;
	unsigned long flags;

	key = 1;
	two = bpf_map_lookup_elem(&keepers, &key);
	if (!one || !two)
		return XDP_ABORTED;
	if (bpf_res_spin_lock(&one->lock))
		return XDP_ABORTED;
	if (bpf_res_spin_lock(&two->lock)) {
		bpf_res_spin_unlock(&one->lock);
		return XDP_ABORTED;
	}
	bpf_res_spin_unlock(&two->lock);
	bpf_res_spin_unlock(&one->lock);
	if (bpf_res_spin_lock_irqsave(&one->lock, &flags))
		return XDP_ABORTED;
	bpf_res_spin_unlock_irqrestore(&one->lock, &flags);
	bpf_preempt_disable();
	bpf_preempt_enable();
	bpf_local_irq_save(&flags);
	bpf_local_irq_restore(&flags);
	put(0, 1);
	return XDP_PASS;
}

char _license[] SEC("license") = "Dual MIT/GPL";
