//! What is refused: where, what stands there, what was expected.

use crate::asm::text::{parse, parse_code};

/// Text, line, column, token, and words of what was expected.
const TABLE: &[(&str, usize, usize, &str, &str)] = &[
    // Registers and numbers.
    ("mov %r50, 1", 1, 5, "%r50", "a register"),
    ("mov %r16, 1", 1, 5, "%r16", "a register"),
    ("mov %r01, 1", 1, 5, "%r01", "a register"),
    ("add %w1, 1", 1, 5, "%w1", "a register such as `r1`"),
    ("w1 += r2", 1, 7, "r2", "a register such as `w1`"),
    ("w1 = r2", 1, 6, "r2", "a register such as `w1`"),
    ("mov %r0, 2147483648", 1, 10, "2147483648", "to 2147483647"),
    ("mov %r0, -2147483649", 1, 11, "2147483649", "from -2147483648"),
    ("mov32 %r0, 0x100000000", 1, 12, "0x100000000", "up to 0xffffffff"),
    ("mov %r0, 12monkeys", 1, 10, "12monkeys", "a number"),
    ("mov %r0, 0x", 1, 10, "0x", "a number"),
    ("mov %r0, 99999999999999999999", 1, 10, "99999999999999999999", "a number"),
    ("mov %r0, -", 1, 11, "", "a number"),
    ("lddw %r0, 0x10000000000000000", 1, 11, "0x10000000000000000", "64 bits"),
    ("lddw %r0, -9223372036854775809", 1, 12, "9223372036854775809", "64 bits"),
    ("ldxb %r0, [%r1+0x10000]", 1, 16, "0x10000", "an offset from -32768"),
    ("ldxb %r0, [%r1-32769]", 1, 16, "32769", "an offset from -32768"),
    // The line's shape.
    ("mov %r0 1", 1, 9, "1", "`,`"),
    ("mov %r0,", 1, 9, "", "a register or number"),
    ("mov %r0, 1 2", 1, 12, "2", "the end of the line"),
    ("lddw %r0", 1, 9, "", "`,`"),
    ("ldxb %r0, %r1", 1, 11, "%r1", "`[`"),
    ("ldxq %r0, [%r1]", 1, 1, "ldxq", "an instruction"),
    ("ldxsdw %r0, [%r1]", 1, 1, "ldxsdw", "an instruction"),
    ("movsx3232 %r0, %r1", 1, 1, "movsx3232", "an instruction"),
    ("movsx864 %r0, 1", 1, 15, "1", "a register"),
    ("be24 %r0", 1, 1, "be24", "an instruction"),
    ("lock", 1, 5, "", "add, and, or"),
    ("lock or [%r10-8]", 1, 17, "", "`,`"),
    ("lock fetch sub [%r1], %r2", 1, 12, "sub", "add, and, or"),
    ("exit\n\n   bogus", 3, 4, "bogus", "an instruction"),
    ("é§ = 1", 1, 1, "é", "an instruction"),
    ("\u{a0}r1 § 1", 1, 5, "§", "an operator"),
    ("r1 ?= 2", 1, 4, "?", "an operator"),
    ("r1 == 2", 1, 4, "==", "an operator"),
    ("r1 = ", 1, 5, "", "a register, a number"),
    ("r1 = what", 1, 6, "what", "a register, a number"),
    ("r1 = -r2", 1, 7, "r2", "`r1` again"),
    ("r1 = be16 r2", 1, 11, "r2", "`r1` again"),
    ("w1 = be16 w1", 1, 6, "be16", "a register, a number"),
    ("w1 = 0x100000000", 1, 6, "0x100000000", "to 2147483647"),
    ("r1 = (u8)r2", 1, 7, "u8", "s8, s16 or s32"),
    ("r1 = *(s64 *)(r2 +0)", 1, 8, "s64", "u8, u16"),
    ("w1 = *(u64 *)(r2 +0)", 1, 7, "(", "half register"),
    ("*(s8 *)(r1 +0) = 1", 1, 2, "(", "a cast to u8"),
    ("*(u64 *)(r1 +0) = w2", 1, 19, "w2", "a whole register"),
    ("lock *(u16 *)(r1 +0) += r2", 1, 7, "(", "a cast to u32 or u64"),
    ("lock *(u32 *)(r1 +0) -= r2", 1, 22, "-=", "`+=`"),
    ("r1 = atomic_fetch_sub((u32 *)(r1 +0), r1)", 1, 6, "atomic_fetch_sub", "a register, a"),
    ("r1 = atomic_fetch_add((u32 *)(r1 +0), r2)", 1, 39, "r2", "register 1"),
    ("r1 = cmpxchg_64(r1 + 0, r0, r2)", 1, 6, "cmpxchg_64", "r0 alone"),
    ("r0 = cmpxchg_64(r1 + 0, r1, r2)", 1, 25, "r1", "register 0"),
    ("r1 = map[fd:x]", 1, 10, "fd:x", "a number after the colon"),
    ("r1 = map[id:3]", 1, 10, "id:3", "fd:N, idx:N or a name"),
    ("r1 = map[m][1]+0", 1, 13, "1", "`0`"),
    ("r1 = map[m", 1, 6, "map", "a register, a number"),
    ("w1 = map[m]", 1, 6, "map", "a register, a number"),
    // Codes, labels, jumps.
    ("(b4) r0 = 1", 1, 1, "(", "(b7)"),
    ("(xy) r0 = 1", 1, 2, "xy", "two hex digits"),
    ("(b7)", 1, 5, "", "an instruction after its opcode"),
    ("ja nowhere\nexit", 1, 4, "nowhere", "a label of this text"),
    ("ja exit", 1, 4, "exit", "a label of this text"),
    ("a: exit\nb: a: exit", 2, 4, "a", "a new label: this one is in line 1"),
    ("+: exit", 1, 1, "+", "a label or slot number"),
    ("ja +32768", 1, 5, "32768", "`gotol` goes further"),
    ("ja -0x8001", 1, 5, "0x8001", "`gotol` goes further"),
    ("ja32 +2147483648", 1, 7, "2147483648", "32 bits"),
    ("ja 3", 1, 4, "3", "a label, or a distance"),
    ("ja pc*3", 1, 6, "*", "the end of the line"),
    ("jeq %r1, 1", 1, 11, "", "`,`"),
    ("if r1 = 5 goto +1", 1, 7, "=", "a comparison"),
    ("if r1 == 5 exit", 1, 12, "exit", "`goto`"),
    ("call", 1, 5, "", "a label"),
    ("call nobody", 1, 6, "nobody", "a label of this text"),
    ("call local", 1, 11, "", "a label"),
    ("callx 5", 1, 7, "5", "a register"),
];

#[test]
fn each_mistake_is_shown_where_it_is() {
    for (text, line, column, token, expected) in TABLE {
        let error = parse_code(text).expect_err(text);
        assert_eq!((error.line, error.column), (*line, *column), "{text}: {error}");
        assert_eq!(error.token, *token, "{text}: {error}");
        assert!(error.expected.contains(expected), "{text}: {error}");
    }
}

#[test]
fn a_message_reads_as_a_sentence() {
    let text = |text| parse(text).unwrap_err().to_string();
    assert_eq!(text("exit\nmov %r0"), "line 2, column 8: end of line, expected `,`");
    assert_eq!(text("mov %r0 7"), "line 1, column 9: `7`, expected `,`");
}

#[test]
fn instructions_alone_refer_to_no_object() {
    let error = parse("exit\n  r1 = map[counters]\n").unwrap_err();
    assert_eq!((error.line, error.column), (2, 3));
    assert!(error.expected.contains("no part of an object"), "{error}");
}

/// A label more than 32767 slots away.
#[test]
fn a_near_jump_does_not_reach_far() {
    let filler = "mov %r0, 0\n".repeat(40_000);
    let error = parse(&format!("ja end\n{filler}end: exit")).unwrap_err();
    assert_eq!((error.line, error.token.as_str()), (1, "end"));
    let far = parse(&format!("ja32 end\n{filler}end: exit")).unwrap();
    assert_eq!(far[0].imm, 40_000);
}
