/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A program to read variables of: inlined functions inside others, callers with variables in
 * registers and on the stack, a struct that the compiler splits, bit fields, unions, enumerations
 * and arrays. It keeps its DWARF.
 */
#include "test.h"

enum kind {
	KIND_OTHER,
	KIND_ODD = 3,
	KIND_LARGE = 7,
};

enum __attribute__((packed)) level {
	LEVEL_LOW = -1,
	LEVEL_HIGH = 4,
};

struct flags {
	__u32 urgent : 1;
	__u32 class : 5;
	__s32 offset : 6;
	__u32 rest : 20;
	enum level level;
};

union word {
	__u32 whole;
	__u16 halves[2];
	__u8 bytes[4];
};

struct span {
	__u32 start;
	__u32 length;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct flags);
} seen SEC(".maps");

__u32 sums[4];

static __noinline int inspect(struct flags *flags, __u32 round)
{
	__u32 key = round & 1;
	struct flags *known = bpf_map_lookup_elem(&seen, &key);
	int doubled = round * 2 + flags->class;

	if (known) {
		known->class = flags->class;
		known->offset = flags->offset;
		known->level = flags->level;
	}
	return doubled;
}

static __noinline __u32 last(char *name, union word *word)
{
	name[6] = '!';
	return name[5] + word->bytes[1];
}

static __always_inline __u32 fold(__u32 value, struct flags *flags)
{
	__u32 folded = (value >> 3) ^ value;

	flags->rest = folded;
	return folded + inspect(flags, folded);
}

static __always_inline struct span measure(__u8 *at, __u8 *end)
{
	struct span span = {.start = at[3], .length = end - at};

	sums[0] += span.start;
	span.length += span.start;
	return span;
}

static __always_inline __u32 describe(__u8 *at, __u8 *end, struct flags *flags)
{
	struct span span = measure(at, end);
	__u32 outer = span.length * 5;

	flags->class = span.start;
	outer += fold(outer, flags);
	sums[1] += span.length;
	return outer;
}

SEC("xdp")
int frames_first(struct xdp_md *ctx)
{
	__u8 *data = (void *)(long)ctx->data;
	__u8 *end = (void *)(long)ctx->data_end;
	struct flags flags = {.urgent = 1, .offset = -9, .level = LEVEL_LOW};
	union word word = {.whole = 0x01020304};
	char name[8] = "frames";
	enum kind kind = KIND_OTHER;
	__u32 total;

	if (data + 14 > end)
		return XDP_DROP;
	if (data[5] & 1)
		kind = KIND_ODD;
	word.bytes[1] = data[5];
	name[5] = 'a' + data[5];
	inspect(&flags, word.whole);
	total = describe(data, end, &flags);
	sums[2] += total + kind;
	sums[2] += last(name, &word);
	sums[3] += inspect(&flags, total);
	return kind == KIND_ODD ? XDP_TX : XDP_PASS;
}

char _license[] SEC("license") = "Dual MIT/GPL";
