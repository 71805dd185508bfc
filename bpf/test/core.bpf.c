/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Field accesses that depend on the target's types; core_target.bpf.c and core_other.bpf.c are two
 * such targets. Each program has one query, so that its result is easy to find.
 */
#include "test.h"

struct inner {
	__u32 skipped;
	__u32 wanted;
} __core;

struct packet {
	__u8 kind;
	__u32 length;
	struct inner inner;
	union {
		__u64 whole;
		__u32 half;
	};
	__u16 list[4];
	__u32 low : 3, high : 7;
	__s32 level;
	void *next;
} __core;

struct packet___new {
	__u64 added;
} __core;

struct absent {
	int x;
} __core;

enum verdict { VERDICT_ONE = 1, VERDICT_TWO = 2 };
enum verdict___new { VERDICT_THREE___new = 3 };
enum wide { WIDE_ONE = 0x100000001ull };

typedef __u32 count_t;

#define ASK(name, expression)                                                                      \
	SEC("xdp")                                                                                 \
	int name(struct xdp_md *ctx)                                                               \
	{                                                                                          \
		struct packet *packet = (void *)(long)ctx;                                         \
		__u64 answer = (__u64)(expression);                                                \
                                                                                                   \
		xway_opaque(packet);                                                               \
		return answer == 0x123 ? XDP_DROP : XDP_PASS;                                      \
	}

ASK(read_length, packet->length)
ASK(read_nested, packet->inner.wanted)
ASK(read_anonymous, packet->half)
ASK(read_element, packet->list[2])
ASK(read_level, packet->level)
ASK(offset_wanted, core_offset(packet->inner.wanted))
ASK(size_whole, core_size(packet->whole))
ASK(signed_level, core_signed(packet->level))
ASK(left_high, core_left(packet->high))
ASK(right_high, core_right(packet->high))
ASK(exists_kind, core_exists(packet->kind))
ASK(exists_added, core_exists(((struct packet___new *)packet)->added))
ASK(read_absent, ((struct absent *)packet)->x)
ASK(type_packet, core_type_exists(struct packet))
ASK(type_absent, core_type_exists(struct absent))
ASK(type_size, core_type_size(struct packet))
ASK(type_matches, core_type_matches(struct inner))
ASK(local_id, core_local_id(struct packet))
ASK(target_id, core_target_id(struct packet))
ASK(typedef_size, core_type_size(count_t))
ASK(enum_exists, core_enum_exists(enum verdict, VERDICT_TWO))
ASK(enum_value, core_enum_value(enum verdict, VERDICT_TWO))
ASK(enum_new, core_enum_exists(enum verdict___new, VERDICT_THREE___new))
ASK(enum_wide, core_enum_value(enum wide, WIDE_ONE))

/* The accesses of a subprogram are relocated with it. */
static __noinline int sub(struct packet *packet)
{
	return packet->length + packet->level;
}

SEC("xdp")
int in_sub(struct xdp_md *ctx)
{
	return sub((void *)(long)ctx) ? XDP_DROP : XDP_PASS;
}

char _license[] SEC("license") = "Dual MIT/GPL";
