/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Histograms of 32-bit values, in buckets less than 1.6 % wide: the number of a value's bucket.
 *
 * Each value below 128 has a bucket of its own; above, each power of two has 64. The buckets are
 * those of crates/traffic/src/histogram.rs.
 */
#ifndef XWAY_HISTOGRAM_H
#define XWAY_HISTOGRAM_H

#include <xway/bpf.h>

#define XWAY_HISTOGRAM_SUB_BITS 6
#define XWAY_HISTOGRAM_BUCKETS ((32 - XWAY_HISTOGRAM_SUB_BITS + 1) << XWAY_HISTOGRAM_SUB_BITS)

struct xway_histogram {
	__u64 counts[XWAY_HISTOGRAM_BUCKETS];
};

/* The position of the highest bit that is set, in a value that is not zero. */
xway_inline __u32 xway_highest_bit(__u32 value)
{
	__u32 position = 0;

	if (value >> 16) {
		position += 16;
		value >>= 16;
	}
	if (value >> 8) {
		position += 8;
		value >>= 8;
	}
	if (value >> 4) {
		position += 4;
		value >>= 4;
	}
	if (value >> 2) {
		position += 2;
		value >>= 2;
	}
	return position + (value >> 1);
}

xway_inline __u32 xway_histogram_bucket(__u32 value)
{
	__u32 octave;

	if (value < 2 << XWAY_HISTOGRAM_SUB_BITS)
		return value;
	octave = xway_highest_bit(value) - XWAY_HISTOGRAM_SUB_BITS;
	return (octave << XWAY_HISTOGRAM_SUB_BITS) + (value >> octave);
}

xway_inline void xway_histogram_record(struct xway_histogram *histogram, __u32 value)
{
	__u64 bucket = xway_histogram_bucket(value);

	/* Always true; informs the verifier about the number that is used. */
	xway_opaque(bucket);
	if (bucket < XWAY_HISTOGRAM_BUCKETS)
		histogram->counts[bucket]++;
}

#endif
