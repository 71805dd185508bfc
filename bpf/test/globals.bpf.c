/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Variables of every kind and section. */
#include "test.h"

enum mode { MODE_OFF, MODE_COUNT = 5, MODE_DROP };
enum signed_mode { MODE_UNSET = -1, MODE_SET = 1 };

struct address6 {
	__u8 bytes[16];
};

const volatile __u32 limit = 7;
const volatile __u8 small = 1;
const volatile __s16 bias = -2;
const volatile __u64 wide = 1;
const volatile _Bool enabled = 0;
const volatile __be32 target = 0;
const volatile __be16 port = 0;
const volatile enum mode mode = MODE_OFF;
const volatile enum signed_mode signed_mode = MODE_UNSET;
const volatile __u8 mac[6] = {2, 0, 0, 0, 0, 1};
const volatile struct address6 address6 = {};
const volatile char label[8] = "none";
const volatile __u16 ports[4] = {80, 443};
static const volatile __u32 hidden_limit = 9;

__u64 counted;
__u32 started = 1;
static volatile __u32 last;
__u32 custom SEC(".data.custom") = 3;
__hidden __u32 inside = 4;

SEC("xdp")
int use(struct xdp_md *ctx)
{
	static volatile __u32 calls = 10;

	counted += 1;
	calls += 1;
	last = ctx->ingress_ifindex;
	inside += small + bias + enabled + mode + signed_mode + ports[1];
	if (last == limit + hidden_limit || target == custom || port == started)
		return XDP_DROP;
	return mac[0] + address6.bytes[3] + label[1] + wide == inside ? XDP_DROP : XDP_PASS;
}

char _license[] SEC("license") = "Dual MIT/GPL";
