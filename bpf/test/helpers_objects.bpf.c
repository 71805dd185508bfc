/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Helpers and kfuncs on objects: locks, lists, trees, counted and per-CPU objects, timers. */
#include "helpers.h"

static long (*const bpf_spin_lock)(struct bpf_spin_lock *lock) = (void *)BPF_FUNC_spin_lock;
static long (*const bpf_spin_unlock)(struct bpf_spin_lock *lock) = (void *)BPF_FUNC_spin_unlock;
static void *(*const bpf_kptr_xchg)(void *place, void *ptr) = (void *)BPF_FUNC_kptr_xchg;
static void *(*const bpf_per_cpu_ptr)(const void *ptr, __u32 cpu) = (void *)BPF_FUNC_per_cpu_ptr;
static void *(*const bpf_this_cpu_ptr)(const void *ptr) = (void *)BPF_FUNC_this_cpu_ptr;
static long (*const bpf_timer_init)(struct bpf_timer *timer, void *map, __u64 flags) =
	(void *)BPF_FUNC_timer_init;
static long (*const bpf_timer_set_callback)(struct bpf_timer *timer, void *callback) =
	(void *)BPF_FUNC_timer_set_callback;
static long (*const bpf_timer_start)(struct bpf_timer *timer, __u64 nsecs, __u64 flags) =
	(void *)BPF_FUNC_timer_start;
static long (*const bpf_timer_cancel)(struct bpf_timer *timer) = (void *)BPF_FUNC_timer_cancel;

/* Types that the uapi headers of Linux 6.1 lack. */
struct bpf_list_head {
	__u64 opaque[2];
} __attribute__((aligned(8)));
struct bpf_list_node {
	__u64 opaque[3];
} __attribute__((aligned(8)));
struct bpf_rb_root {
	__u64 opaque[2];
} __attribute__((aligned(8)));
struct bpf_rb_node {
	__u64 opaque[4];
} __attribute__((aligned(8)));
struct bpf_refcount {
	__u32 opaque[1];
} __attribute__((aligned(4)));
struct bpf_res_spin_lock {
	__u32 opaque;
};
struct bpf_wq {
	__u64 opaque[2];
} __attribute__((aligned(8)));

KFUNC void *bpf_obj_new_impl(__u64 type, void *meta);
KFUNC void bpf_obj_drop_impl(void *object, void *meta);
KFUNC void *bpf_percpu_obj_new_impl(__u64 type, void *meta);
KFUNC void bpf_percpu_obj_drop_impl(void *object, void *meta);
KFUNC void *bpf_refcount_acquire_impl(void *object, void *meta);
KFUNC int bpf_list_push_front_impl(struct bpf_list_head *head, struct bpf_list_node *node,
				   void *meta, __u64 off);
KFUNC int bpf_list_push_back_impl(struct bpf_list_head *head, struct bpf_list_node *node,
				  void *meta, __u64 off);
KFUNC struct bpf_list_node *bpf_list_pop_front(struct bpf_list_head *head);
KFUNC struct bpf_list_node *bpf_list_pop_back(struct bpf_list_head *head);
KFUNC struct bpf_list_node *bpf_list_front(struct bpf_list_head *head);
KFUNC struct bpf_list_node *bpf_list_back(struct bpf_list_head *head);
KFUNC int bpf_rbtree_add_impl(struct bpf_rb_root *root, struct bpf_rb_node *node, void *less,
			      void *meta, __u64 off);
KFUNC struct bpf_rb_node *bpf_rbtree_remove(struct bpf_rb_root *root, struct bpf_rb_node *node);
KFUNC struct bpf_rb_node *bpf_rbtree_first(struct bpf_rb_root *root);
KFUNC struct bpf_rb_node *bpf_rbtree_root(struct bpf_rb_root *root);
KFUNC struct bpf_rb_node *bpf_rbtree_left(struct bpf_rb_root *root, struct bpf_rb_node *node);
KFUNC struct bpf_rb_node *bpf_rbtree_right(struct bpf_rb_root *root, struct bpf_rb_node *node);
KFUNC int bpf_res_spin_lock(struct bpf_res_spin_lock *lock);
KFUNC void bpf_res_spin_unlock(struct bpf_res_spin_lock *lock);
KFUNC int bpf_res_spin_lock_irqsave(struct bpf_res_spin_lock *lock, unsigned long *flags);
KFUNC void bpf_res_spin_unlock_irqrestore(struct bpf_res_spin_lock *lock, unsigned long *flags);
KFUNC void bpf_rcu_read_lock(void);
KFUNC void bpf_rcu_read_unlock(void);
KFUNC void bpf_preempt_disable(void);
KFUNC void bpf_preempt_enable(void);
KFUNC void bpf_local_irq_save(unsigned long *flags);
KFUNC void bpf_local_irq_restore(unsigned long *flags);
KFUNC int bpf_wq_init(struct bpf_wq *wq, void *map, unsigned int flags);
KFUNC int bpf_wq_set_callback_impl(struct bpf_wq *wq, void *callback, unsigned int flags,
				   void *aux);
KFUNC int bpf_wq_start(struct bpf_wq *wq, unsigned int flags);

#define bpf_obj_new(type) ((type *)bpf_obj_new_impl(core_local_id(type), NULL))
#define bpf_obj_drop(object) bpf_obj_drop_impl(object, NULL)
#define container_of(ptr, type, field) ((type *)((void *)(ptr) - __builtin_offsetof(type, field)))

struct item {
	__u64 key;
	struct bpf_list_node in_list;
	struct bpf_rb_node in_tree;
	struct bpf_refcount count;
	__u32 value;
};

struct plain {
	__u64 a;
	__u64 b;
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

/* The key at a path from the root: two bits a step, 1 left, 2 right, 0 the end. */
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

/* Removes the node at a path; its key. */
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

static long (*const bpf_map_update_elem)(const void *map, const void *key, const void *value,
					 __u64 flags) = (void *)BPF_FUNC_map_update_elem;

static int fire(void *map, __u32 *key, struct clocked *clocked)
{
	clocked->fired += *key;
	return 0;
}

#define HOUR_NS 3600000000000ull

SEC("xdp")
int objects_timer(struct xdp_md *ctx)
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

/* Which clocks fired, in order: a clock's key for each time. */
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

/* One clock that fires once, one again and again, and a queue that fires at once. */
SEC("xdp")
int objects_clocks(struct xdp_md *ctx)
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

/* Counts without atomics: exact only under the lock. */
SEC("xdp")
int objects_guarded(struct xdp_md *ctx)
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

static long (*const bpf_map_delete_elem)(const void *map, const void *key) =
	(void *)BPF_FUNC_map_delete_elem;

/* Where an allocated object is that an element of a map keeps and takes along when it goes. */
SEC("xdp")
int objects_taken_along(struct xdp_md *ctx)
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

/* What no verifier lets pass: each must be a fault that says so. */
SEC("?xdp")
int objects_leaked(struct xdp_md *ctx)
{
	return bpf_obj_new(struct plain) ? XDP_PASS : XDP_DROP;
}

SEC("?xdp")
int objects_dropped_twice(struct xdp_md *ctx)
{
	struct plain *plain = bpf_obj_new(struct plain);

	bpf_obj_drop(plain);
	bpf_obj_drop(plain);
	return XDP_PASS;
}

SEC("?xdp")
int objects_still_locked(struct xdp_md *ctx)
{
	__u32 key = 0;
	struct guarded *value = bpf_map_lookup_elem(&guarded, &key);

	bpf_spin_lock(&value->lock);
	return XDP_PASS;
}

SEC("?xdp")
int objects_unlocked(struct xdp_md *ctx)
{
	__u32 key = 0;
	struct guarded *value = bpf_map_lookup_elem(&guarded, &key);

	bpf_spin_unlock(&value->lock);
	return XDP_PASS;
}

SEC("?xdp")
int objects_no_lock(struct xdp_md *ctx)
{
	__u32 key = 0;
	struct guarded *value = bpf_map_lookup_elem(&guarded, &key);

	bpf_spin_lock((void *)&value->pad);
	return XDP_PASS;
}

SEC("?xdp")
int objects_preempted(struct xdp_md *ctx)
{
	bpf_preempt_disable();
	return XDP_PASS;
}

SEC("?xdp")
int objects_beyond(struct xdp_md *ctx)
{
	struct plain *plain = bpf_obj_new(struct plain);
	__u64 behind = ((volatile __u64 *)plain)[2];

	bpf_obj_drop(plain);
	return behind ? XDP_PASS : XDP_DROP;
}

char _license[] SEC("license") = "Dual MIT/GPL";
