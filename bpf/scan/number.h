/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Numbers of 128 bits. The compiler has no such shifts and divisions for BPF. */
#ifndef SCAN_NUMBER_H
#define SCAN_NUMBER_H

#include <xway/bpf.h>

struct scan_number {
	__u64 low;
	__u64 high;
};

xway_inline struct scan_number scan_number(const volatile __u64 words[2])
{
	return (struct scan_number){ .low = words[0], .high = words[1] };
}

xway_inline int scan_is_above(struct scan_number a, struct scan_number b)
{
	return a.high != b.high ? a.high > b.high : a.low > b.low;
}

xway_inline struct scan_number scan_add(struct scan_number a, struct scan_number b)
{
	struct scan_number sum = { .low = a.low + b.low, .high = a.high + b.high };

	sum.high += sum.low < a.low;
	return sum;
}

xway_inline struct scan_number scan_subtract(struct scan_number a, struct scan_number b)
{
	struct scan_number rest = { .low = a.low - b.low, .high = a.high - b.high };

	rest.high -= a.low < b.low;
	return rest;
}

/* Shifts by 0 to 127 bits. */
xway_inline struct scan_number scan_left(struct scan_number a, __u32 bits)
{
	if (bits >= 64)
		return (struct scan_number){ .high = a.low << (bits & 63) };
	if (!bits)
		return a;
	return (struct scan_number){
		.low = a.low << bits,
		.high = a.high << bits | a.low >> (64 - bits),
	};
}

xway_inline struct scan_number scan_right(struct scan_number a, __u32 bits)
{
	if (bits >= 64)
		return (struct scan_number){ .low = a.high >> (bits & 63) };
	if (!bits)
		return a;
	return (struct scan_number){
		.low = a.low >> bits | a.high << (64 - bits),
		.high = a.high >> bits,
	};
}

/* Divides by a number of 32 bits that is not 0; `rest` gets the remainder. */
xway_inline struct scan_number scan_divide(struct scan_number a, __u32 by, __u32 *rest)
{
	struct scan_number quotient = {};
	__u64 part, digits[4] = { a.high >> 32, (__u32)a.high, a.low >> 32, (__u32)a.low };

	if (!a.high) {
		*rest = a.low % by;
		quotient.low = a.low / by;
		return quotient;
	}
	part = digits[0];
	quotient.high = part / by << 32;
	part = part % by << 32 | digits[1];
	quotient.high |= part / by;
	part = part % by << 32 | digits[2];
	quotient.low = part / by << 32;
	part = part % by << 32 | digits[3];
	quotient.low |= part / by;
	*rest = part % by;
	return quotient;
}

#endif
