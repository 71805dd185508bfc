/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The reasons that all programs share: how a packet can be malformed, regardless of a program's
 * decisions.
 *
 * A program's x.abi.h declares `enum xway_reason` with these first and its own after them, then
 * `XWAY_REASONS`, their number. User space reads the enumerators from the object's BTF:
 * XWAY_BAD_HEADER is counted under the label `bad-header`.
 */
#ifndef XWAY_REASON_H
#define XWAY_REASON_H

/*
 * XWAY_TRUNCATED		the frame ends before a header, or before a length in one
 * XWAY_BAD_HEADER		a version, length or offset that its protocol forbids
 * XWAY_TOO_MANY_TAGS		more than XWAY_MAX_TAGS VLAN tags
 * XWAY_TOO_MANY_EXTENSIONS	more than XWAY_MAX_EXTENSIONS IPv6 extension headers
 */
#define XWAY_COMMON_REASONS                                                                        \
	XWAY_TRUNCATED = 0, XWAY_BAD_HEADER = 1, XWAY_TOO_MANY_TAGS = 2,                           \
	XWAY_TOO_MANY_EXTENSIONS = 3

/* The first number for a program's own reasons. */
#define XWAY_FIRST_REASON 4

#endif
