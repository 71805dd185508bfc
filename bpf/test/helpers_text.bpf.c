/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Helpers and kfuncs on text: numbers, comparisons, printing, strings. */
#include "helpers.h"

static long (*const bpf_strtol)(const char *text, unsigned long len, __u64 flags, __s64 *into) =
	(void *)BPF_FUNC_strtol;
static long (*const bpf_strtoul)(const char *text, unsigned long len, __u64 flags, __u64 *into) =
	(void *)BPF_FUNC_strtoul;
static long (*const bpf_strncmp)(const char *left, __u32 len, const char *right) =
	(void *)BPF_FUNC_strncmp;
static long (*const bpf_snprintf)(char *into, __u32 len, const char *format, __u64 *data,
				  __u32 data_len) = (void *)BPF_FUNC_snprintf;
static long (*const bpf_trace_printk)(const char *format, __u32 len, ...) =
	(void *)BPF_FUNC_trace_printk;
static long (*const bpf_trace_vprintk)(const char *format, __u32 len, const void *data,
				       __u32 data_len) = (void *)BPF_FUNC_trace_vprintk;

KFUNC int bpf_strcmp(const char *left, const char *right);
KFUNC int bpf_strcasecmp(const char *left, const char *right);
KFUNC int bpf_strchr(const char *text, char wanted);
KFUNC int bpf_strchrnul(const char *text, char wanted);
KFUNC int bpf_strnchr(const char *text, unsigned long count, char wanted);
KFUNC int bpf_strrchr(const char *text, int wanted);
KFUNC int bpf_strlen(const char *text);
KFUNC int bpf_strnlen(const char *text, unsigned long count);
KFUNC int bpf_strspn(const char *text, const char *set);
KFUNC int bpf_strcspn(const char *text, const char *set);
KFUNC int bpf_strstr(const char *text, const char *part);
KFUNC int bpf_strnstr(const char *text, const char *part, unsigned long len);

#define SIGNED(place, text, flags)                                                                 \
	do {                                                                                       \
		static const char given[] = text;                                                  \
		__s64 value = 77;                                                                  \
		put(place, bpf_strtol(given, sizeof(given) - 1, flags, &value));                   \
		put(place + 1, value);                                                             \
	} while (0)

#define UNSIGNED(place, text, flags)                                                               \
	do {                                                                                       \
		static const char given[] = text;                                                  \
		__u64 value = 77;                                                                  \
		put(place, bpf_strtoul(given, sizeof(given) - 1, flags, &value));                  \
		put(place + 1, value);                                                             \
	} while (0)

SEC("xdp")
int text_numbers(struct xdp_md *ctx)
{
	SIGNED(0, "42", 10);
	SIGNED(2, " \t\n-17 rest", 0);
	SIGNED(4, "0x1fg", 0);
	SIGNED(6, "0x1f", 16);
	SIGNED(8, "0x", 0);
	SIGNED(10, "0xg", 16);
	SIGNED(12, "0777", 0);
	SIGNED(14, "089", 0);
	SIGNED(16, "9223372036854775807", 10);
	SIGNED(18, "9223372036854775808", 10);
	SIGNED(20, "-9223372036854775808", 10);
	SIGNED(22, "-9223372036854775809", 10);
	SIGNED(24, "99999999999999999999", 10);
	SIGNED(26, "-", 10);
	SIGNED(28, "   ", 10);
	SIGNED(30, "+5", 10);
	SIGNED(32, "--5", 10);
	SIGNED(34, "5", 7);
	SIGNED(36, "5", 32 | 10);
	SIGNED(38, "zz", 16);
	SIGNED(40, "-0", 10);
	SIGNED(42, "\xa0" "7", 10);
	SIGNED(44, "12\0003", 10);
	SIGNED(46, "000000000000000000000000000000000000000000000000000000000000000000000001", 10);
	SIGNED(48, "0X1F", 0);
	SIGNED(50, "7fffffffffffffff", 16);
	SIGNED(52, "- 5", 10);
	SIGNED(54, "0", 0);
	UNSIGNED(100, "18446744073709551615", 10);
	UNSIGNED(102, "18446744073709551616", 10);
	UNSIGNED(104, "-1", 10);
	UNSIGNED(106, "0xffffffffffffffff", 0);
	UNSIGNED(108, "0x10000000000000000", 0);
	UNSIGNED(110, "1777777777777777777777", 8);
	UNSIGNED(112, "2000000000000000000000", 8);
	UNSIGNED(114, " 1 2", 10);
	UNSIGNED(116, "-", 10);
	UNSIGNED(118, "-99999999999999999999", 10);
	return XDP_PASS;
}

#define COMPARE(place, left, right)                                                                \
	do {                                                                                       \
		static const char given[] = left;                                                  \
		put(place, bpf_strncmp(given, sizeof(given), right));                              \
	} while (0)

static const char abc[] = "abc";
static const char empty[] = "";
static const char high[] = "\xff";

SEC("xdp")
int text_compare(struct xdp_md *ctx)
{
	COMPARE(0, "abc", abc);
	COMPARE(1, "abd", abc);
	COMPARE(2, "abb", abc);
	COMPARE(3, "ab", abc);
	COMPARE(4, "abcd", abc);
	COMPARE(5, "", empty);
	COMPARE(6, "a", empty);
	COMPARE(7, "a", high);
	COMPARE(8, "\xff", abc);
	put(9, bpf_strncmp(abc, 2, high));
	return XDP_PASS;
}

/* Keeps the answer at `place`, and the contents of the buffer after it. */
#define PRINT(place, len, format, ...)                                                             \
	do {                                                                                       \
		static const char given[] = format;                                                \
		__u64 data[] = { __VA_ARGS__ };                                                    \
		__u64 into[8] = { -1, -1, -1, -1, -1, -1, -1, -1 };                                \
		put(place, bpf_snprintf((char *)into, len, given, data, sizeof(data)));            \
		put(place + 1, into[0]);                                                           \
		put(place + 2, into[1]);                                                           \
		put(place + 3, into[2]);                                                           \
		put(place + 4, into[5]);                                                           \
	} while (0)

SEC("xdp")
int text_print(struct xdp_md *ctx)
{
	static const char text[] = "word";
	static const __u8 bytes[16] = { 192, 0, 2, 1, 0xfe, 0x80, 0, 5 };
	const char *word = text;
	const __u8 *address = bytes;

	/* Arrays of constants would contain addresses that are not relocated. */
	xway_opaque(word);
	xway_opaque(address);

	PRINT(0, 64, "%d %u", -5, 7);
	PRINT(5, 64, "%lld|%llu", -5, -5);
	PRINT(10, 64, "%x %X %lx", 0xabcdef, 0xabcdef, 1ull << 40);
	PRINT(15, 64, "%5d|%-5d|%05d", 3, 3, -5);
	PRINT(20, 64, "%+d|% d|%+x", 3, 3, 3);
	PRINT(25, 64, "%c%c%3c|", 'h', 'i', '!');
	PRINT(30, 64, "%px", 0x1234);
	PRINT(35, 64, "%s|%6s|%-6s|", (__u64)word, (__u64)word, (__u64)word);
	PRINT(40, 64, "%s|", 0);
	PRINT(45, 64, "%pI4 %pi4", (__u64)address, (__u64)address);
	PRINT(50, 64, "%pI6", (__u64)address);
	PRINT(55, 64, "%pi6", (__u64)address);
	PRINT(60, 4, "%d", 123456);
	PRINT(65, 1, "%d", 123456);
	PRINT(70, 64, "100%%%d", 1);
	PRINT(75, 64, "%pks %s", (__u64)word, (__u64)word);
	PRINT(80, 64, "%i %li %lli", -1, -1, -1);
	PRINT(85, 64, "%d", 1ull << 33 | 5);
	PRINT(90, 64, "%16px|%px", 0x1234, -1);
	PRINT(95, 64, "%20pI4|%-12pI4|", (__u64)address, (__u64)address);
	PRINT(100, 64, "%-05d|%0+5d|%0 5d", 7, 7, 7);
	PRINT(105, 64, "%d", 1, 2);
	PRINT(110, 64, "%pI4", 0);
	PRINT(115, 64, "%08x|%8x|%-8x|", 0xbeef, 0xbeef, 0xbeef);
	PRINT(125, 64, "%8pks|%-8pks|", (__u64)word, (__u64)word);
	PRINT(120, 64, "%c|%s", 0, (__u64)word);
	return XDP_PASS;
}

SEC("xdp")
int text_trace(struct xdp_md *ctx)
{
	static const char plain[] = "plain\n";
	static const char three[] = "%d %s %llx";
	static const char four[] = "%d %d %d %d";
	static const char bad[] = "%q";
	static const char word[] = "word";
	__u64 data[4] = { 1, -2, 3, 4 };

	put(0, bpf_trace_printk(plain, sizeof(plain)));
	put(1, bpf_trace_printk(three, sizeof(three), 1, word, -1ll));
	put(2, bpf_trace_printk(three, sizeof(three) - 1, 1, word, -1ll));
	put(3, bpf_trace_printk(bad, sizeof(bad), 1));
	put(4, bpf_trace_vprintk(four, sizeof(four), data, sizeof(data)));
	put(5, bpf_trace_vprintk(four, sizeof(four), data, 24));
	put(6, bpf_trace_vprintk(four, sizeof(four), data, 20));
	put(7, bpf_trace_vprintk(plain, sizeof(plain), NULL, 0));
	return XDP_PASS;
}

SEC("xdp")
int text_strings(struct xdp_md *ctx)
{
	static const char hello[] = "hello world";
	static const char shout[] = "HELLO World";
	static const char other[] = "help";
	static const char nothing[] = "";
	static const char world[] = "world";
	static const char letters[] = "ehl";
	static const char open[4] = { 'a', 'b', 'c', 'd' };

	put(0, bpf_strcmp(hello, hello));
	put(1, bpf_strcmp(hello, other));
	put(2, bpf_strcmp(other, hello));
	put(3, bpf_strcmp(hello, nothing));
	put(4, bpf_strcasecmp(hello, shout));
	put(5, bpf_strcmp(hello, shout));
	put(6, bpf_strcmp(NULL, hello));
	put(7, bpf_strcmp(hello, NULL));
	put(10, bpf_strchr(hello, 'o'));
	put(11, bpf_strchr(hello, 'z'));
	put(12, bpf_strchr(hello, 0));
	put(13, bpf_strchrnul(hello, 'w'));
	put(14, bpf_strchrnul(hello, 'z'));
	put(15, bpf_strnchr(hello, 3, 'o'));
	put(16, bpf_strnchr(hello, 5, 'o'));
	put(17, bpf_strnchr(hello, 0, 'h'));
	put(18, bpf_strrchr(hello, 'o'));
	put(19, bpf_strrchr(hello, 'z'));
	put(20, bpf_strrchr(hello, 0));
	put(21, bpf_strnchr(hello, 100, 0));
	put(30, bpf_strlen(hello));
	put(31, bpf_strlen(nothing));
	put(32, bpf_strnlen(hello, 4));
	put(33, bpf_strnlen(hello, 400));
	put(34, bpf_strnlen(hello, 0));
	put(35, bpf_strlen(NULL));
	put(36, bpf_strnlen(open, 4));
	put(40, bpf_strspn(hello, letters));
	put(41, bpf_strspn(hello, nothing));
	put(42, bpf_strspn(nothing, letters));
	put(43, bpf_strcspn(hello, world));
	put(44, bpf_strcspn(hello, nothing));
	put(45, bpf_strcspn(nothing, letters));
	put(46, bpf_strspn(NULL, letters));
	put(50, bpf_strstr(hello, world));
	put(51, bpf_strstr(hello, other));
	put(52, bpf_strstr(hello, nothing));
	put(53, bpf_strstr(nothing, hello));
	put(54, bpf_strstr(nothing, nothing));
	put(55, bpf_strnstr(hello, world, 10));
	put(56, bpf_strnstr(hello, world, 11));
	put(57, bpf_strnstr(hello, world, 12));
	put(58, bpf_strnstr(hello, nothing, 0));
	put(59, bpf_strnstr(hello, world, 0));
	put(60, bpf_strnstr(hello, world, 100));
	put(61, bpf_strnstr(NULL, world, 100));
	return XDP_PASS;
}

char _license[] SEC("license") = "Dual MIT/GPL";
