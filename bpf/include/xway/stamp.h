/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The last 16 bytes of a frame that is to be judged; see crates/traffic/src/stamp.rs.
 */
#ifndef XWAY_STAMP_H
#define XWAY_STAMP_H

#include <xway/bpf.h>
#include <xway/csum.h>

#define XWAY_STAMP_MAGIC 0x5857

#define XWAY_STAMP_DATA 0
/* Added to data, or an end, that is sent back. */
#define XWAY_STAMP_REFLECTED 1
#define XWAY_STAMP_END 2
#define XWAY_STAMP_EXPECT_DROP 0x80

struct xway_stamp {
	__be16 magic;
	__be16 stream;
	__be32 number;
	__be32 time_ns;
	__u8 source;
	__u8 kind;
	/* Makes the ones' complement sum of the whole stamp zero. */
	__be16 check;
} __attribute__((aligned(4)));
_Static_assert(sizeof(struct xway_stamp) == 16, "a stamp is 16 bytes at the end of a frame");

/* Whether the stamp is intact and of a known kind. */
xway_inline int xway_stamp_is_whole(const struct xway_stamp *stamp)
{
	const __u32 *words = (const __u32 *)stamp;
	__u64 sum = (__u64)words[0] + words[1] + words[2] + words[3];
	__u32 kind = stamp->kind & ~XWAY_STAMP_REFLECTED;

	if (xway_csum_fold(sum) != 0xffff)
		return 0;
	return kind == XWAY_STAMP_DATA || kind == XWAY_STAMP_EXPECT_DROP ||
	       kind == XWAY_STAMP_END;
}

#endif
