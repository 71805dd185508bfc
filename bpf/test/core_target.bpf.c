/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Types for core.bpf.c to be relocated to: every field elsewhere, some of another width. */
#include "test.h"

struct inner {
	__u64 moved;
	__u32 skipped;
	__u32 wanted;
	__u32 more;
};

struct packet {
	__u64 added;
	struct {
		__u8 kind;
		__u64 length;
	};
	__u16 list[8];
	struct inner inner;
	union {
		__u32 half;
		__u64 whole;
	};
	__u64 pad : 20, low : 3, high : 9;
	__s64 level;
	void *next;
};

enum verdict { VERDICT_ONE = 1, VERDICT_TWO = 22, VERDICT_THREE = 3 };
enum wide { WIDE_ONE = 0x200000002ull };

typedef __u64 count_t;

struct packet packet;
enum verdict verdict;
enum wide wide;
count_t count;

SEC("xdp")
int nothing(struct xdp_md *ctx)
{
	return packet.added + verdict + wide + count ? XDP_PASS : XDP_DROP;
}

char _license[] SEC("license") = "Dual MIT/GPL";
