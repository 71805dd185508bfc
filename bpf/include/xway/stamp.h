/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The last 16 bytes of a frame that is to be judged; told in crates/traffic/src/stamp.rs.
 */
#ifndef XWAY_STAMP_H
#define XWAY_STAMP_H

#include <xway/bpf.h>

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
	/* Makes the ones' complement sum of the whole zero. */
	__be16 check;
};
_Static_assert(sizeof(struct xway_stamp) == 16, "a stamp is 16 bytes at the end of a frame");

#endif
