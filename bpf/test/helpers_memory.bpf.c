/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Helpers and kfuncs on memory: checksums, dynptrs, probing reads, iterators, walks, loops. */
#include "helpers.h"

static long (*const bpf_probe_read_kernel)(void *into, __u32 len, const void *from) =
	(void *)BPF_FUNC_probe_read_kernel;
static long (*const bpf_probe_read_kernel_str)(void *into, __u32 len, const void *from) =
	(void *)BPF_FUNC_probe_read_kernel_str;
static long (*const bpf_dynptr_from_mem)(void *data, __u64 size, __u64 flags,
					 struct bpf_dynptr *ptr) = (void *)BPF_FUNC_dynptr_from_mem;
static long (*const bpf_dynptr_read)(void *into, __u64 len, const struct bpf_dynptr *from,
				     __u64 offset, __u64 flags) = (void *)BPF_FUNC_dynptr_read;
static long (*const bpf_dynptr_write)(const struct bpf_dynptr *into, __u64 offset,
				      const void *from, __u64 len, __u64 flags) =
	(void *)BPF_FUNC_dynptr_write;
static void *(*const bpf_dynptr_data)(const struct bpf_dynptr *ptr, __u64 offset, __u64 len) =
	(void *)BPF_FUNC_dynptr_data;
static long (*const bpf_for_each_map_elem)(const void *map, void *callback, void *ctx,
					   __u64 flags) = (void *)BPF_FUNC_for_each_map_elem;
static void *(*const bpf_map_lookup_percpu_elem)(const void *map, const void *key, __u32 cpu) =
	(void *)BPF_FUNC_map_lookup_percpu_elem;

KFUNC int bpf_dynptr_from_xdp(struct xdp_md *x, __u64 flags, struct bpf_dynptr *ptr);
KFUNC void *bpf_dynptr_slice(const struct bpf_dynptr *p, __u32 offset, void *buffer, __u32 len);
KFUNC void *bpf_dynptr_slice_rdwr(const struct bpf_dynptr *p, __u32 offset, void *buffer,
				  __u32 len);
KFUNC int bpf_dynptr_adjust(const struct bpf_dynptr *p, __u32 start, __u32 end);
KFUNC _Bool bpf_dynptr_is_null(const struct bpf_dynptr *p);
KFUNC _Bool bpf_dynptr_is_rdonly(const struct bpf_dynptr *p);
KFUNC __u32 bpf_dynptr_size(const struct bpf_dynptr *p);
KFUNC int bpf_dynptr_clone(const struct bpf_dynptr *p, struct bpf_dynptr *into);
KFUNC int bpf_dynptr_copy(struct bpf_dynptr *into, __u32 into_off, struct bpf_dynptr *from,
			  __u32 from_off, __u32 len);
KFUNC int bpf_dynptr_memset(struct bpf_dynptr *p, __u32 offset, __u32 len, __u8 value);
KFUNC int bpf_probe_read_kernel_dynptr(struct bpf_dynptr *p, __u32 offset, __u32 len,
				       const void *from);
KFUNC int bpf_probe_read_kernel_str_dynptr(struct bpf_dynptr *p, __u32 offset, __u32 len,
					   const void *from);
/* Linux 6.4. */
struct bpf_iter_num {
	__u64 state;
} __attribute__((aligned(8)));

KFUNC int bpf_iter_num_new(struct bpf_iter_num *it, int start, int end);
KFUNC int *bpf_iter_num_next(struct bpf_iter_num *it);
KFUNC void bpf_iter_num_destroy(struct bpf_iter_num *it);

struct bpf_iter_bits {
	__u64 state[2];
} __attribute__((aligned(8)));

KFUNC int bpf_iter_bits_new(struct bpf_iter_bits *it, const __u64 *words, __u32 count);
KFUNC int *bpf_iter_bits_next(struct bpf_iter_bits *it);
KFUNC void bpf_iter_bits_destroy(struct bpf_iter_bits *it);
KFUNC void bpf_throw(__u64 cookie);

static int fill_step(__u32 index, struct room **to)
{
	if (index < sizeof((*to)->bytes))
		(*to)->bytes[index] = index * 37 + 11;
	return 0;
}

/* A buffer whose bytes all differ from their neighbors. */
xway_inline struct room *filled(__u32 number)
{
	struct room *to = room(number);

	if (to)
		bpf_loop(sizeof(to->bytes), fill_step, &to, 0);
	return to;
}

SEC("xdp")
int memory_checksum(struct xdp_md *ctx)
{
	struct room *a = filled(0), *b = filled(1);

	if (!a || !b)
		return XDP_ABORTED;
	b->bytes[3] = 99;
	put(0, bpf_csum_diff(NULL, 0, a, 4, 0));
	put(1, bpf_csum_diff(NULL, 0, a, 20, 0));
	put(2, bpf_csum_diff(NULL, 0, a, 512, 0));
	put(3, bpf_csum_diff(a, 20, NULL, 0, 0));
	put(4, bpf_csum_diff(a, 20, NULL, 0, 0xffff));
	put(5, bpf_csum_diff(a, 20, b, 20, 0));
	put(6, bpf_csum_diff(a, 20, b, 20, 0xffffffff));
	put(7, bpf_csum_diff(a, 4, b, 40, 0x1234));
	put(8, bpf_csum_diff(a, 40, b, 4, 0x12345678));
	put(9, bpf_csum_diff(NULL, 0, NULL, 0, 0));
	put(10, bpf_csum_diff(NULL, 0, NULL, 0, 0xffffffff));
	put(11, bpf_csum_diff(NULL, 0, NULL, 0, 0x12345678));
	put(12, bpf_csum_diff(a, 3, NULL, 0, 0));
	put(13, bpf_csum_diff(NULL, 0, a, 5, 0));
	put(14, bpf_csum_diff(a, 7, b, 2, 9));
	put(15, bpf_csum_diff(a, 512, b, 512, 0xdeadbeef));
	put(16, bpf_csum_diff(a, 516 - 4, b, 260, 1));
	put(17, bpf_csum_diff(a, 8, a, 8, 0));
	put(18, bpf_csum_diff(a, 8, a, 8, 5));
	put(19, bpf_csum_diff(&b->bytes[1], 8, &a->bytes[1], 8, 7));
	put(20, bpf_csum_diff(NULL, 0, a, 511, 3));
	return XDP_PASS;
}

SEC("xdp")
int memory_probe(struct xdp_md *ctx)
{
	struct room *a = filled(0), *b = room(1);
	__u64 word = -1;

	if (!a || !b)
		return XDP_ABORTED;
	put(0, bpf_probe_read_kernel(&b->bytes[0], 64, a));
	put(1, bpf_probe_read_kernel(&b->bytes[64], 8, NULL));
	put(2, bpf_probe_read_kernel(&word, 8, (void *)8));
	put(3, word);
	put(4, bpf_probe_read_kernel(&b->bytes[100], 0, a));
	a->bytes[9] = 0;
	put(5, bpf_probe_read_kernel_str(&b->bytes[128], 64, a));
	put(6, bpf_probe_read_kernel_str(&b->bytes[200], 4, a));
	put(7, bpf_probe_read_kernel_str(&b->bytes[210], 8, NULL));
	put(8, bpf_probe_read_kernel_str(&b->bytes[220], 1, a));
	put(9, bpf_probe_read_kernel(&a->bytes[1], 8, a));
	return XDP_PASS;
}

SEC("xdp")
int memory_dynptr(struct xdp_md *ctx)
{
	struct room *a = filled(0), *b = filled(1);
	struct bpf_dynptr p, q, null;
	__u64 word = 0;
	__u64 *direct;

	if (!a || !b)
		return XDP_ABORTED;
	put(0, bpf_dynptr_from_mem(a, 256, 0, &p));
	put(1, bpf_dynptr_from_mem(b, 256, 1, &null));
	put(2, bpf_dynptr_read(&word, 8, &p, 0, 0));
	put(3, word);
	put(4, bpf_dynptr_read(&word, 8, &p, 248, 0));
	put(5, word);
	put(6, bpf_dynptr_read(&word, 8, &p, 249, 0));
	put(7, bpf_dynptr_read(&word, 8, &p, 0xffffffff, 0));
	put(8, bpf_dynptr_read(&word, 8, &p, 0, 1));
	put(9, bpf_dynptr_read(&word, 8, &null, 0, 0));
	word = 0x1122334455667788;
	put(10, bpf_dynptr_write(&p, 16, &word, 8, 0));
	put(11, bpf_dynptr_write(&p, 250, &word, 8, 0));
	put(12, bpf_dynptr_write(&p, 16, &word, 8, 1));
	put(13, bpf_dynptr_write(&null, 0, &word, 8, 0));
	direct = bpf_dynptr_data(&p, 16, 8);
	put(14, direct ? *direct : 1);
	put(15, !bpf_dynptr_data(&p, 250, 8));
	put(16, !bpf_dynptr_data(&null, 0, 8));
	put(20, bpf_dynptr_size(&p));
	put(21, bpf_dynptr_size(&null));
	put(22, bpf_dynptr_is_null(&p));
	put(23, bpf_dynptr_is_null(&null));
	put(24, bpf_dynptr_is_rdonly(&p));
	put(25, bpf_dynptr_adjust(&p, 300, 300));
	put(26, bpf_dynptr_adjust(&p, 9, 8));
	put(27, bpf_dynptr_adjust(&null, 0, 0));
	put(28, bpf_dynptr_clone(&p, &q));
	put(29, bpf_dynptr_adjust(&q, 8, 40));
	put(30, bpf_dynptr_size(&q));
	put(31, bpf_dynptr_read(&word, 8, &q, 0, 0));
	put(32, word);
	put(33, bpf_dynptr_copy(&q, 0, &p, 100, 32));
	put(34, bpf_dynptr_copy(&q, 1, &p, 100, 32));
	put(35, bpf_dynptr_copy(&q, 0, &p, 250, 32));
	put(36, bpf_dynptr_copy(&q, 0, &null, 0, 4));
	put(37, bpf_dynptr_copy(&q, 2, &q, 0, 20));
	put(38, bpf_dynptr_memset(&p, 200, 50, 0xab));
	put(39, bpf_dynptr_memset(&p, 250, 50, 0xab));
	put(40, bpf_dynptr_memset(&null, 0, 1, 0xab));
	put(41, bpf_dynptr_memset(&null, 0, 0, 0xab));
	direct = bpf_dynptr_slice(&p, 16, NULL, 8);
	put(42, direct ? *direct : 1);
	direct = bpf_dynptr_slice_rdwr(&p, 24, NULL, 8);
	if (direct)
		*direct = 5;
	put(43, !direct);
	direct = bpf_dynptr_slice(&p, 249, NULL, 8);
	put(44, !direct);
	put(45, bpf_probe_read_kernel_dynptr(&p, 60, 20, b));
	put(46, bpf_probe_read_kernel_dynptr(&p, 250, 20, b));
	put(47, bpf_probe_read_kernel_dynptr(&p, 60, 20, NULL));
	b->bytes[5] = 0;
	put(48, bpf_probe_read_kernel_str_dynptr(&p, 90, 20, b));
	put(49, bpf_probe_read_kernel_str_dynptr(&p, 120, 3, b));
	put(50, bpf_dynptr_clone(&null, &q));
	put(51, bpf_dynptr_is_null(&q));
	return XDP_PASS;
}

xway_inline int packet_dynptr(struct xdp_md *ctx)
{
	struct room *a = filled(0);
	struct bpf_dynptr p, null, m;
	__u64 word = 0, buffer[2] = { 1, 2 };
	__u64 *direct;

	if (!a)
		return XDP_ABORTED;
	put(0, bpf_dynptr_from_xdp(ctx, 0, &p));
	put(1, bpf_dynptr_from_xdp(ctx, 1, &null));
	put(2, bpf_dynptr_size(&p));
	put(3, bpf_dynptr_is_rdonly(&p));
	put(4, bpf_dynptr_read(&word, 8, &p, 6, 0));
	put(5, word);
	put(6, bpf_dynptr_read(&word, 8, &p, bpf_dynptr_size(&p) - 7, 0));
	put(7, bpf_dynptr_write(&p, 20, &word, 8, 0));
	put(8, bpf_dynptr_write(&p, 20, &word, 8, 2));
	put(9, bpf_dynptr_write(&p, bpf_dynptr_size(&p), &word, 8, 0));
	put(10, !bpf_dynptr_data(&p, 0, 8));
	direct = bpf_dynptr_slice(&p, 12, buffer, 16);
	put(11, direct ? direct[1] : 1);
	direct = bpf_dynptr_slice_rdwr(&p, 30, buffer, 16);
	if (direct)
		direct[0] = 0x0102030405060708;
	put(12, !direct);
	direct = bpf_dynptr_slice(&p, bpf_dynptr_size(&p) - 15, buffer, 16);
	put(13, !direct);
	put(14, bpf_dynptr_from_mem(a, 64, 0, &m));
	put(15, bpf_dynptr_copy(&m, 0, &p, 4, 40));
	put(16, bpf_dynptr_copy(&p, 40, &m, 2, 10));
	put(17, bpf_dynptr_copy(&p, 40, &p, 2, 10));
	put(18, bpf_dynptr_memset(&p, 52, 4, 0x77));
	put(19, bpf_dynptr_memset(&p, bpf_dynptr_size(&p) - 3, 4, 0x77));
	put(20, bpf_dynptr_adjust(&p, 14, 34));
	put(21, bpf_dynptr_read(&word, 8, &p, 0, 0));
	put(22, word);
	put(23, bpf_dynptr_read(&word, 8, &p, 13, 0));
	put(24, bpf_dynptr_size(&p));
	return XDP_TX;
}

SEC("xdp")
int memory_packet(struct xdp_md *ctx)
{
	return packet_dynptr(ctx);
}

SEC("xdp.frags")
int memory_fragments(struct xdp_md *ctx)
{
	return packet_dynptr(ctx);
}

#define COUNT(place, start, end)                                                                   \
	do {                                                                                       \
		struct bpf_iter_num it;                                                            \
		int *turn, sum = 0, turns = 0;                                                     \
		put(place, bpf_iter_num_new(&it, start, end));                                     \
		while ((turn = bpf_iter_num_next(&it)) && turns < 100) {                           \
			sum = sum * 3 + *turn;                                                     \
			turns++;                                                                   \
		}                                                                                  \
		bpf_iter_num_destroy(&it);                                                         \
		put(place + 1, turns);                                                             \
		put(place + 2, sum);                                                               \
	} while (0)

static const __u64 masks[4] = { 0x8000000000000001, 0, 0xf0, 1ull << 63 };

#define BITS(place, words, count)                                                                  \
	do {                                                                                       \
		struct bpf_iter_bits it;                                                           \
		int *bit, sum = 0, turns = 0;                                                      \
		put(place, bpf_iter_bits_new(&it, words, count));                                  \
		while ((bit = bpf_iter_bits_next(&it))) {                                          \
			sum = sum * 3 + *bit;                                                      \
			turns++;                                                                   \
		}                                                                                  \
		bpf_iter_bits_destroy(&it);                                                        \
		put(place + 1, turns);                                                             \
		put(place + 2, sum);                                                               \
	} while (0)

SEC("xdp")
int memory_iterate(struct xdp_md *ctx)
{
	COUNT(0, 0, 10);
	COUNT(3, -3, 3);
	COUNT(6, 5, 5);
	COUNT(9, 6, 5);
	COUNT(12, 0, (1 << 23) + 1);
	COUNT(15, 0x7ffffffe, 0x7fffffff);
	COUNT(18, -0x7fffffff - 1, -0x7ffffffd);
	BITS(30, masks, 1);
	BITS(33, masks, 2);
	BITS(36, masks, 4);
	BITS(39, masks, 0);
	BITS(42, NULL, 1);
	BITS(45, masks, 512);
	BITS(48, &masks[1], 1);
	return XDP_PASS;
}

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, 16);
} pairs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, 5);
} row SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, 2);
} each_cpu SEC(".maps");

struct seen {
	__u64 keys;
	__u64 values;
	__u32 count;
	__u32 stop;
};

static int visit(void *map, __u32 *key, __u64 *value, struct seen *seen)
{
	seen->keys += *key;
	seen->values += *value;
	seen->count++;
	*value += 1000;
	return seen->count == seen->stop;
}

static int turn(__u64 index, struct seen *seen)
{
	seen->keys = seen->keys * 3 + index;
	seen->count++;
	return seen->count == seen->stop;
}

static int pair_step(__u32 index, void *unused)
{
	__u32 key = index + 3;
	__u64 value = key * 100;

	bpf_map_update_elem(&pairs, &key, &value, 0);
	return 0;
}

SEC("xdp")
int memory_walk(struct xdp_md *ctx)
{
	struct seen seen = {};
	__u32 key;
	__u64 *own;

	bpf_loop(7, pair_step, NULL, 0);
	put(0, bpf_for_each_map_elem(&pairs, visit, &seen, 0));
	put(1, seen.keys);
	put(2, seen.values);
	put(3, bpf_for_each_map_elem(&row, visit, &seen, 0));
	put(4, seen.values);
	put(5, bpf_for_each_map_elem(&row, visit, &seen, 1));
	seen.stop = seen.count + 3;
	put(6, bpf_for_each_map_elem(&row, visit, &seen, 0));
	put(7, seen.count);
	seen = (struct seen){};
	put(10, bpf_loop(10, turn, &seen, 0));
	put(11, seen.keys);
	put(12, bpf_loop(0, turn, &seen, 0));
	put(13, bpf_loop(10, turn, &seen, 1));
	put(14, bpf_loop((1 << 23) + 1, turn, &seen, 0));
	seen.stop = seen.count + 4;
	put(15, bpf_loop(10, turn, &seen, 0));
	key = 1;
	own = bpf_map_lookup_elem(&each_cpu, &key);
	if (own)
		*own = 12;
	put(16, !bpf_map_lookup_percpu_elem(&each_cpu, &key, 4096));
	put(17, !bpf_map_lookup_percpu_elem(&each_cpu, &key, 0));
	key = 2;
	put(18, !bpf_map_lookup_percpu_elem(&each_cpu, &key, 0));
	return XDP_PASS;
}

struct options {
	__s32 error;
	__s32 space;
	__u32 mark;
	__u32 to[4];
	__u32 spi;
	__u8 protocol;
	__u16 family;
};

struct xfrm_state;
KFUNC struct xfrm_state *bpf_xdp_get_xfrm_state(struct xdp_md *ctx, struct options *options,
						__u32 len);
KFUNC void bpf_xdp_xfrm_state_release(struct xfrm_state *state);

SEC("xdp")
int memory_transform(struct xdp_md *ctx)
{
	struct options options = { .space = -1, .spi = 7, .protocol = 50, .family = 2 };
	struct xfrm_state *state = bpf_xdp_get_xfrm_state(ctx, &options, sizeof(options));

	if (state)
		bpf_xdp_xfrm_state_release(state);
	put(0, !state);
	put(1, options.error);
	options.space = -2;
	state = bpf_xdp_get_xfrm_state(ctx, &options, sizeof(options));
	if (state)
		bpf_xdp_xfrm_state_release(state);
	put(2, options.error);
	return XDP_PASS;
}

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, 4);
	__uint(value_size, 4);
	__uint(max_entries, 2);
} counters SEC(".maps");

static __u64 (*const bpf_perf_event_read)(void *map, __u64 flags) =
	(void *)BPF_FUNC_perf_event_read;
static long (*const bpf_perf_event_read_value)(void *map, __u64 flags, void *into, __u32 len) =
	(void *)BPF_FUNC_perf_event_read_value;

SEC("xdp")
int memory_counters(struct xdp_md *ctx)
{
	__u64 value[4] = { 1, 2, 3, 4 };

	put(0, bpf_perf_event_read(&counters, 0));
	put(1, bpf_perf_event_read(&counters, 2));
	put(2, bpf_perf_event_read(&counters, 1ull << 32));
	put(3, bpf_perf_event_read_value(&counters, 0, value, 24));
	put(4, value[1]);
	value[1] = 5;
	put(5, bpf_perf_event_read_value(&counters, 0, value, 16));
	put(6, value[1]);
	put(7, value[3]);
	return XDP_PASS;
}

static __noinline int thrower(int x)
{
	put(1, x);
	if (x > 0)
		bpf_throw(XDP_TX);
	put(2, x);
	return x;
}

SEC("xdp")
int memory_throw(struct xdp_md *ctx)
{
	put(0, 1);
	thrower(ctx->ingress_ifindex + 1);
	put(3, 1);
	return XDP_DROP;
}

char _license[] SEC("license") = "Dual MIT/GPL";
