/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Definitions for test objects beyond xway/bpf.h: externs, CO-RE queries, wide map fields. */
#ifndef XWAY_TEST_H
#define XWAY_TEST_H

#include <xway/bpf.h>

/* Most test programs return a result without reading their context. */
#pragma clang diagnostic ignored "-Wunused-parameter"

#define __kconfig __attribute__((section(".kconfig")))
#define __ksym __attribute__((section(".ksyms")))
#define __weak __attribute__((weak))
#define __hidden __attribute__((visibility("hidden")))
#define __noinline __attribute__((noinline))
#define __core __attribute__((preserve_access_index))

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define __ulong(name, value) enum { JOIN(ulong_value_, __COUNTER__) = value } name
#define __map_of(name, type) type *name[]

/* Numbers of enum bpf_field_info_kind and bpf_type_info_kind, as clang knows them. */
#define core_offset(field) __builtin_preserve_field_info(field, 0)
#define core_size(field) __builtin_preserve_field_info(field, 1)
#define core_exists(field) __builtin_preserve_field_info(field, 2)
#define core_signed(field) __builtin_preserve_field_info(field, 3)
#define core_left(field) __builtin_preserve_field_info(field, 4)
#define core_right(field) __builtin_preserve_field_info(field, 5)
#define core_type_exists(type) __builtin_preserve_type_info(*(type *)0, 0)
#define core_type_size(type) __builtin_preserve_type_info(*(type *)0, 1)
#define core_type_matches(type) __builtin_preserve_type_info(*(type *)0, 2)
#define core_local_id(type) __builtin_btf_type_id(*(type *)0, 0)
#define core_target_id(type) __builtin_btf_type_id(*(type *)0, 1)
#define core_enum_exists(type, value) \
	__builtin_preserve_enum_value(*(typeof(type) *)value, 0)
#define core_enum_value(type, value) \
	__builtin_preserve_enum_value(*(typeof(type) *)value, 1)

#endif
