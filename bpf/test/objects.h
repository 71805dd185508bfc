/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Functions on objects and their types, as the kernel has them.
 *
 * Rule: sizes and names are the kernel's; it knows these fields by the names of their types.
 */
#ifndef XWAY_TEST_OBJECTS_H
#define XWAY_TEST_OBJECTS_H

#include "helpers.h"

XWAY_HELPER long (*const bpf_spin_lock)(struct bpf_spin_lock *lock) = (void *)BPF_FUNC_spin_lock;
XWAY_HELPER long (*const bpf_spin_unlock)(struct bpf_spin_lock *lock) =
	(void *)BPF_FUNC_spin_unlock;
XWAY_HELPER void *(*const bpf_kptr_xchg)(void *place, void *ptr) = (void *)BPF_FUNC_kptr_xchg;
XWAY_HELPER void *(*const bpf_per_cpu_ptr)(const void *ptr, __u32 cpu) =
	(void *)BPF_FUNC_per_cpu_ptr;
XWAY_HELPER void *(*const bpf_this_cpu_ptr)(const void *ptr) = (void *)BPF_FUNC_this_cpu_ptr;
XWAY_HELPER long (*const bpf_timer_init)(struct bpf_timer *timer, void *map, __u64 flags) =
	(void *)BPF_FUNC_timer_init;
XWAY_HELPER long (*const bpf_timer_set_callback)(struct bpf_timer *timer, void *callback) =
	(void *)BPF_FUNC_timer_set_callback;
XWAY_HELPER long (*const bpf_timer_start)(struct bpf_timer *timer, __u64 nsecs, __u64 flags) =
	(void *)BPF_FUNC_timer_start;
XWAY_HELPER long (*const bpf_timer_cancel)(struct bpf_timer *timer) = (void *)BPF_FUNC_timer_cancel;

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

struct plain {
	__u64 a;
	__u64 b;
};

#endif
