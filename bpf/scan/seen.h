/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Which targets answered: a table of tags, made of the bits of cookies. A tag and its line have
 * more than 48 bits, so that two targets are hardly ever taken for one. In a full line, a tag at a
 * place that depends on the new one is replaced.
 */
#ifndef SCAN_SEEN_H
#define SCAN_SEEN_H

#include "answer.abi.h"

#include <xway/bpf.h>

struct answer_line {
	__u32 tags[ANSWER_TAGS];
};

/* User space sets the size. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct answer_line);
} answer_seen SEC(".maps");

/* Remembers a target by its cookie; returns whether it was remembered before. */
xway_inline int answer_was_seen(__u32 mask, __u64 cookie)
{
	__u32 index = (__u32)cookie & mask, tag = cookie >> 32;
	struct answer_line *line = bpf_map_lookup_elem(&answer_seen, &index);
	__u32 place = tag & (ANSWER_TAGS - 1), old;

	if (!line)
		return 0;
	/* 0 is a free place. */
	tag = tag ? tag : 1;
	for (__u32 i = 0; i < ANSWER_TAGS; i++) {
		__u32 at = place + i & (ANSWER_TAGS - 1);

		old = __sync_val_compare_and_swap(&line->tags[at], 0, tag);
		if (old == tag)
			return 1;
		if (!old)
			return 0;
	}
	line->tags[place] = tag;
	return 0;
}

#endif
