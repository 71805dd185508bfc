/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Sources: their entries, their received numbers, and the counters.
 *
 * Rule: processors share a source without a lock. Its entry is claimed, its window written and its
 * highest number raised by compare-and-exchange, so a number is new to exactly one of them. Each
 * processor has its own counters. Loops are bounded: an attempt fails only if another processor
 * made progress.
 */
#ifndef SINK_SOURCE_H
#define SINK_SOURCE_H

#include "sink.abi.h"

#include <xway/bpf.h>
#include <xway/histogram.h>
#include <xway/stamp.h>

/* Number of entries of `sink_sources` minus one; the number is a power of two. */
const volatile __u32 sink_source_mask = 255;
/* Number of entries of `sink_streams` that may be used. */
const volatile __u32 sink_stream_places = 64;
/* The relation of the clocks of stamps and arrivals. */
const volatile enum sink_clocks sink_clocks = SINK_CLOCKS_SHARED;

/* Limits: streams, entries that are tried for a source, and attempts of an exchange. */
#define SINK_STREAMS 64
#define SINK_PROBES 256
#define SINK_TRIES 64

struct xway_window {
	__u64 words[SINK_WORDS];
};

struct xway_times {
	struct xway_histogram latency;
	struct xway_histogram jitter;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 256);
	__type(key, __u32);
	__type(value, struct sink_source);
} sink_sources SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 256);
	__type(key, __u32);
	__type(value, struct xway_window);
} sink_windows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 256);
	__type(key, __u32);
	__type(value, struct sink_count);
} sink_counts SEC(".maps");

/* Keys of the streams in `sink_times`: SINK_TAKEN | stream. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SINK_STREAMS);
	__type(key, __u32);
	__type(value, __u32);
} sink_streams SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SINK_STREAMS);
	__type(key, __u32);
	__type(value, struct xway_times);
} sink_times SEC(".maps");

/* Reads a value that another processor may change at the same time. */
#define SINK_READ(x) (*(volatile typeof(x) *)&(x))

xway_inline __u32 sink_key(const struct xway_stamp *stamp)
{
	return SINK_TAKEN | (__u32)xway_ntohs(stamp->stream) << 8 | stamp->source;
}

/* The first entry to try for a key: consecutive keys are distributed (Knuth 6.4). */
xway_inline __u32 sink_home(__u32 key)
{
	return (key * 0x9e3779b1u) >> 16;
}

/* The entry of a known source; NULL, or a source without a stream, if it is unknown. */
xway_inline struct sink_source *sink_find(__u32 key, __u32 *place)
{
	__u32 home = sink_home(key);

	for (__u32 i = 0; i < SINK_PROBES; i++) {
		struct sink_source *source;
		__u32 found;

		*place = (home + i) & sink_source_mask;
		source = bpf_map_lookup_elem(&sink_sources, place);
		if (!source)
			return NULL;
		found = SINK_READ(source->key);
		if (found == key)
			return source;
		if (!found)
			return NULL;
	}
	return NULL;
}

/* The stream's index plus one, claimed if the stream is new; 0 if all are in use. */
xway_inline __u32 sink_claim_stream(__u32 key)
{
	for (__u32 i = 0; i < SINK_STREAMS && i < sink_stream_places; i++) {
		__u32 place = i;
		__u32 *held = bpf_map_lookup_elem(&sink_streams, &place);
		__u32 found;

		if (!held)
			return 0;
		found = __sync_val_compare_and_swap(held, 0, key);
		if (!found || found == key)
			return i + 1;
	}
	return 0;
}

/* Claims an entry for a source; returns its index plus one, or 0 if there is no free one. */
static __attribute__((noinline)) __u32 sink_claim(__u32 key)
{
	__u32 stream = sink_claim_stream(SINK_TAKEN | (key >> 8 & 0xffff));
	__u32 home = sink_home(key);

	for (__u32 i = 0; stream && i < SINK_PROBES && i <= sink_source_mask; i++) {
		__u32 place = (home + i) & sink_source_mask;
		struct sink_source *source = bpf_map_lookup_elem(&sink_sources, &place);
		__u32 found;

		if (!source)
			return 0;
		found = __sync_val_compare_and_swap(&source->key, 0, key);
		if (!found || found == key) {
			source->stream = stream;
			return place + 1;
		}
	}
	return 0;
}

/*
 * The source of a stamp and its index, claimed if the source is new; NULL if there is no free
 * entry.
 */
xway_inline struct sink_source *sink_source(const struct xway_stamp *stamp, __u32 *place)
{
	__u32 key = sink_key(stamp);
	struct sink_source *source = sink_find(key, place);

	if (source && SINK_READ(source->stream))
		return source;
	*place = sink_claim(key) - 1;
	return bpf_map_lookup_elem(&sink_sources, place);
}

/* The 64-bit number with these low bits that is nearest to `near`, from 0. */
xway_inline __u64 sink_number(__u64 near, __u32 low)
{
	__s64 number = near + (__s32)(low - (__u32)near);

	return number < 0 ? number + (1LL << 32) : number;
}

/* Whether the number was received before: XWAY_RECEIVED, XWAY_DUPLICATED, XWAY_LATE. Marks it. */
xway_inline enum xway_reason sink_mark(struct xway_window *window, __u64 number)
{
	__u64 *word = &window->words[(number >> 5) & (SINK_WORDS - 1)];
	__u32 round = number / SINK_WINDOW;
	__u64 bit = 1ULL << (number & 31);
	__u64 old = SINK_READ(*word);

	for (int i = 0; i < SINK_TRIES; i++) {
		__u64 now = old | bit, found;
		__u32 held = old >> 32;

		if (held != round) {
			if ((__s32)(round - held) < 0)
				return XWAY_LATE;
			now = (__u64)round << 32 | bit;
		} else if (now == old) {
			return XWAY_DUPLICATED;
		}
		found = __sync_val_compare_and_swap(word, old, now);
		if (found == old)
			return XWAY_RECEIVED;
		old = found;
	}
	return XWAY_LATE;
}

/* Raises the highest number; returns 0 if it was already as high. */
xway_inline int sink_raise(struct sink_source *source, __u64 next, __u64 number)
{
	for (int i = 0; i < SINK_TRIES && next <= number; i++) {
		__u64 found = __sync_val_compare_and_swap(&source->next, next, number + 1);

		if (found == next)
			return 1;
		next = found;
	}
	return 0;
}

xway_inline void sink_time(struct sink_count *count, const struct sink_source *source,
			   const struct xway_stamp *stamp, __u64 now)
{
	__u32 place = source->stream - 1;
	struct xway_times *times = bpf_map_lookup_elem(&sink_times, &place);
	__s32 transit = (__u32)now - xway_ntohl(stamp->time_ns);
	__s32 difference = transit - count->transit;

	if (!times)
		return;
	/* Clocks of two processors may differ slightly. */
	if (sink_clocks == SINK_CLOCKS_SHARED || stamp->kind & XWAY_STAMP_REFLECTED)
		xway_histogram_record(&times->latency, transit < 0 ? 0 : transit);
	if (count->timed)
		xway_histogram_record(&times->jitter,
				      difference < 0 ? -(__u32)difference : difference);
	count->transit = transit;
	count->timed = 1;
}

/* Counts an intact frame of data. */
xway_inline enum xway_reason sink_receive(struct sink_source *source, __u32 place,
					  const struct xway_stamp *stamp, __u64 bytes, __u64 now)
{
	struct xway_window *window = bpf_map_lookup_elem(&sink_windows, &place);
	struct sink_count *count = bpf_map_lookup_elem(&sink_counts, &place);
	__u32 expect = stamp->kind & XWAY_STAMP_EXPECT_DROP ? SINK_EXPECT_DROP : SINK_EXPECT_PASS;
	__u64 next = SINK_READ(source->next);
	__u64 number = sink_number(next, xway_ntohl(stamp->number));
	enum xway_reason reason;

	if (!window || !count)
		return XWAY_BEYOND;
	if (source->expect != expect)
		source->expect = expect;
	reason = sink_mark(window, number);
	if (reason == XWAY_DUPLICATED) {
		count->duplicated++;
		return reason;
	}
	if (reason == XWAY_LATE)
		count->late++;
	if (!sink_raise(source, next, number))
		count->reordered++;
	count->received++;
	count->bytes += bytes;
	if (sink_clocks != SINK_CLOCKS_IGNORED)
		sink_time(count, source, stamp, now);
	return reason;
}

/* Only the stamp is checked: the frame may have been sent with a wrong checksum on purpose. */
xway_inline enum xway_reason sink_end(struct sink_source *source, const struct xway_stamp *stamp)
{
	source->end = sink_number(SINK_READ(source->next), xway_ntohl(stamp->number)) + 1;
	return XWAY_END;
}

xway_inline enum xway_reason sink_corrupted(__u32 place)
{
	struct sink_count *count = bpf_map_lookup_elem(&sink_counts, &place);

	if (count)
		count->corrupted++;
	return XWAY_CORRUPTED;
}

#endif
