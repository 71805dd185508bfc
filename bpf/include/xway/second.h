/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The Geneve option by which a balancer names the other backend of a segment, see docs/balance.md.
 *
 * The address follows, of the family of the outer packet. Backends that do not know the option
 * ignore it, because it is not critical (RFC 8926, section 3.5).
 */
#ifndef XWAY_SECOND_H
#define XWAY_SECOND_H

#include <xway/bpf.h>

/* A class for experimental use (RFC 8926, section 7), and a type of it. */
#define XWAY_SECOND_CLASS 0xff58
#define XWAY_SECOND_TYPE 1

struct xway_second {
	__be16 class;
	__u8 type;
	/* Bytes of the address, in units of four. */
	__u8 length;
};

/* The head of an option that has this number of bytes in all. */
xway_inline struct xway_second xway_second_head(__u32 size)
{
	return (struct xway_second){
		.class = xway_htons(XWAY_SECOND_CLASS),
		.type = XWAY_SECOND_TYPE,
		.length = size / 4 - 1,
	};
}

/* Whether it is the head of this option, and the only one of `options` units of four bytes. */
xway_inline int xway_names_second(const struct xway_second *head, __u32 size, __u8 options)
{
	return head->class == xway_htons(XWAY_SECOND_CLASS) && head->type == XWAY_SECOND_TYPE &&
	       head->length == size / 4 - 1 && options == size / 4;
}

#endif
