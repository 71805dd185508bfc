//! Each instruction in each notation that can express it.

use crate::asm::text::{Reference, parse, parse_code};
use crate::insn::Insn;

const fn i(code: u8, dst: u8, src: u8, off: i16, imm: i32) -> Insn {
    Insn::new(code, dst, src, off, imm)
}

/// An instruction of one slot, and texts that all mean it.
const TABLE: &[(Insn, &[&str])] = &[
    // Arithmetic.
    (i(0x07, 1, 0, 0, 5), &["add %r1, 5", "add64 r1, 0x5", "r1 += 5", "(07) r1 += 5"]),
    (i(0x0f, 1, 2, 0, 0), &["add %r1, %r2", "r1 += r2"]),
    (i(0x04, 1, 0, 0, -1), &["add32 %r1, -1", "add32 %r1, 0xffffffff", "w1 += -1"]),
    (i(0x0c, 1, 2, 0, 0), &["add32 %r1, %r2", "w1 += w2"]),
    (i(0x17, 1, 0, 0, 5), &["sub %r1, 5", "r1 -= 5"]),
    (i(0x27, 1, 0, 0, 5), &["mul %r1, 5", "r1 *= 5"]),
    (i(0x37, 1, 0, 0, 5), &["div %r1, 5", "r1 /= 5"]),
    (i(0x37, 1, 0, 1, 5), &["sdiv %r1, 5", "r1 s/= 5"]),
    (i(0x3c, 1, 2, 1, 0), &["sdiv32 %r1, %r2", "w1 s/= w2"]),
    (i(0x47, 1, 0, 0, 5), &["or %r1, 5", "r1 |= 5"]),
    (i(0x57, 1, 0, 0, 5), &["and %r1, 5", "r1 &= 5"]),
    (i(0x67, 1, 0, 0, 5), &["lsh %r1, 5", "r1 <<= 5"]),
    (i(0x77, 1, 0, 0, 5), &["rsh %r1, 5", "r1 >>= 5"]),
    (i(0x97, 1, 0, 0, 5), &["mod %r1, 5", "r1 %= 5"]),
    (i(0x9f, 1, 2, 1, 0), &["smod %r1, %r2", "r1 s%= r2"]),
    (i(0xa7, 1, 0, 0, 5), &["xor %r1, 5", "r1 ^= 5"]),
    (i(0xc7, 1, 0, 0, 5), &["arsh %r1, 5", "r1 s>>= 5"]),
    (i(0xc4, 1, 0, 0, 5), &["arsh32 %r1, 5", "w1 s>>= 5"]),
    (i(0x87, 3, 0, 0, 0), &["neg %r3", "neg64 r3", "r3 = -r3"]),
    (i(0x84, 3, 0, 0, 0), &["neg32 %r3", "w3 = -w3"]),
    (i(0xb7, 0, 0, 0, -2), &["mov %r0, -2", "mov64 %r0,-0x2", "r0 = -2", "(b7) r0 = -2"]),
    (i(0xb4, 0, 0, 0, 7), &["mov32 %r0, +7", "w0 = 7", "w0=0x7"]),
    (i(0xbf, 10, 9, 0, 0), &["mov %r10, %r9", "r10 = r9"]),
    (i(0xbc, 1, 2, 0, 0), &["mov32 %r1, %r2", "w1 = w2"]),
    (i(0xbf, 1, 2, 8, 0), &["movsx864 %r1, %r2", "r1 = (s8)r2"]),
    (i(0xbf, 1, 2, 16, 0), &["movsx1664 %r1, %r2", "r1 = (s16)r2"]),
    (i(0xbf, 1, 2, 32, 0), &["movsx3264 %r1, %r2", "r1 = (s32) r2"]),
    (i(0xbc, 1, 2, 8, 0), &["movsx832 %r1, %r2", "w1 = (s8)w2"]),
    (i(0xbc, 1, 2, 16, 0), &["movsx1632 %r1, %r2", "w1 = (s16)w2"]),
    (i(0xdc, 1, 0, 0, 16), &["be16 %r1", "r1 = be16 r1"]),
    (i(0xd4, 1, 0, 0, 64), &["le64 %r1", "r1 = le64 r1"]),
    (i(0xd7, 1, 0, 0, 32), &["swap32 %r1", "bswap32 %r1", "r1 = bswap32 r1"]),
    (i(0xbf, 1, 2, 1, 0x0002_0001), &["r1 = addr_space_cast(r2, 2, 0x1)"]),
    (i(0xbf, 1, 2, -1, 0), &["r1 = &(void __percpu *)(r2)"]),
    // Memory.
    (i(0x71, 1, 2, 0, 0), &["ldxb %r1, [%r2]", "r1 = *(u8 *)(r2 + 0)", "w1 = *(u8 *)(r2)"]),
    (i(0x69, 1, 2, 4, 0), &["ldxh %r1, [%r2+4]", "r1 = *(u16 *)(r2 +4)"]),
    (i(0x61, 1, 2, -4, 0), &["ldxw %r1, [%r2-0x4]", "r1 = *(u32 *)(r2 -4)"]),
    (i(0x79, 1, 2, -1, 0), &["ldxdw %r1, [%r2+0xffff]", "r1 = *(u64*)(r2-1)"]),
    (i(0x91, 1, 2, 4, 0), &["ldxsb %r1, [%r2+4]", "r1 = *(s8 *)(r2 + 4)"]),
    (i(0x89, 1, 2, 4, 0), &["ldxsh %r1, [%r2+4]", "r1 = *(s16 *)(r2 + 4)"]),
    (i(0x81, 1, 2, 4, 0), &["ldxsw %r1, [%r2+4]", "r1 = *(s32 *)(r2 + 4)"]),
    (i(0x72, 1, 0, 4, 7), &["stb [%r1+4], 7", "*(u8 *)(r1 + 4) = 7"]),
    (i(0x6a, 1, 0, 4, -7), &["sth [%r1+4], -7", "*(u16 *)(r1 + 4) = -7"]),
    (i(0x62, 1, 0, 4, -1), &["stw [%r1+4], 0xffffffff", "*(u32 *)(r1 + 4) = -1"]),
    (i(0x7a, 1, 0, 4, 7), &["stdw [%r1+4], 7", "*(u64 *)(r1 + 4) = 7"]),
    (i(0x73, 1, 2, 4, 0), &["stxb [%r1+4], %r2", "*(u8 *)(r1 + 4) = w2"]),
    (i(0x6b, 1, 2, 4, 0), &["stxh [%r1+4], %r2", "*(u16 *)(r1 + 4) = r2"]),
    (i(0x63, 1, 2, 4, 0), &["stxw [%r1+4], %r2", "*(u32 *)(r1 + 4) = r2"]),
    (i(0x7b, 1, 2, 4, 0), &["stxdw [%r1+4], %r2", "*(u64 *)(r1 + 4) = r2"]),
    (i(0x20, 0, 0, 0, 12), &["r0 = *(u32 *)skb[12]"]),
    (i(0x48, 0, 3, 0, 2), &["r0 = *(u16 *)skb[r3 + 2]"]),
    // Atomic operations.
    (i(0xdb, 1, 2, 4, 0), &["lock add [%r1+4], %r2", "lock *(u64 *)(r1 + 4) += r2"]),
    (i(0xc3, 1, 2, 4, 0x40), &["lock or32 [%r1+4], %r2", "lock *(u32 *)(r1 + 4) |= w2"]),
    (i(0xdb, 1, 2, 4, 0x50), &["lock and [%r1+4], %r2", "lock *(u64 *)(r1 + 4) &= r2"]),
    (
        i(0xdb, 1, 2, 4, 0xa1),
        &[
            "lock fetch xor [%r1+4], %r2",
            "r2 = atomic64_fetch_xor((u64 *)(r1 +4), r2)",
            "r2 = atomic_fetch_xor((u64 *)(r1 + 4), r2)",
        ],
    ),
    (
        i(0xc3, 1, 2, 4, 0x01),
        &[
            "lock fetch add32 [%r1+4], %r2",
            "r2 = atomic_fetch_add((u32 *)(r1 +4), r2)",
            "w2 = atomic_fetch_add((u32 *)(r1 + 4), w2)",
        ],
    ),
    (
        i(0xdb, 1, 2, 4, 0xe1),
        &[
            "lock xchg [%r1+4], %r2",
            "r2 = atomic64_xchg((u64 *)(r1 +4), r2)",
            "r2 = xchg_64(r1 + 4, r2)",
        ],
    ),
    (
        i(0xc3, 1, 2, 4, 0xf1),
        &[
            "lock cmpxchg32 [%r1+4], %r2",
            "r0 = atomic_cmpxchg((u32 *)(r1 +4), r0, r2)",
            "w0 = cmpxchg32_32(r1 + 4, w0, w2)",
        ],
    ),
    (i(0xcb, 1, 2, 4, 0x100), &["r1 = load_acquire((u16 *)(r2 +4))"]),
    (i(0xd3, 1, 2, 4, 0x110), &["store_release((u8 *)(r1 +4), w2)"]),
    // Jumps and calls.
    (i(0x05, 0, 0, 3, 0), &["ja +3", "goto pc+3", "goto +0x3 <main+0x18>"]),
    (i(0x06, 0, 0, 0, -1), &["ja32 -1", "gotol pc-1", "gotol -1"]),
    (i(0xe5, 0, 0, 2, 0), &["may_goto pc+2", "may_goto +2"]),
    (i(0x0d, 3, 0, 0, 0), &["gotox r3"]),
    (i(0x15, 1, 0, 2, -1), &["jeq %r1, -1, +2", "if r1 == 0xffffffff goto pc+2"]),
    (i(0x5d, 1, 2, -2, 0), &["jne %r1, %r2, -2", "if r1 != r2 goto -2"]),
    (i(0x26, 1, 0, 2, 9), &["jgt32 %r1, 9, +2", "if w1 > 9 goto +2"]),
    (i(0x3e, 1, 2, 2, 0), &["jge32 %r1, %r2, +2", "if w1 >= w2 goto pc+2"]),
    (i(0xa5, 1, 0, 2, 9), &["jlt %r1, 9, +2", "if r1 < 9 goto +2"]),
    (i(0xb5, 1, 0, 2, 9), &["jle %r1, 9, +2", "if r1 <= 9 goto +2"]),
    (i(0x45, 1, 0, 2, 9), &["jset %r1, 9, +2", "if r1 & 9 goto +2"]),
    (i(0x65, 1, 0, 2, 9), &["jsgt %r1, 9, +2", "if r1 s> 9 goto +2"]),
    (i(0x7e, 1, 2, 2, 0), &["jsge32 %r1, %r2, +2", "if w1 s>= w2 goto +2"]),
    (i(0xc6, 1, 0, 2, -9), &["jslt32 %r1, -9, +2", "if w1 s< -9 goto +2"]),
    (i(0xd5, 1, 0, 2, 9), &["jsle %r1, 9, +2", "if r1 s<= 9 goto +2"]),
    (
        i(0x85, 0, 0, 0, 1),
        &["call 1", "call helper 0x1", "call bpf_map_lookup_elem#1", "call bpf_map_lookup_elem"],
    ),
    (i(0x85, 0, 0, 0, 1000), &["call 1000", "call unknown#1000"]),
    (i(0x85, 0, 1, 0, 2), &["call local +2", "call pc+2", "call pc+2#name"]),
    (i(0x85, 0, 2, 0, 7), &["call runtime 7", "call unknown#7"]),
    (i(0x8d, 2, 0, 0, 0), &["call %r2", "callx r2", "callx %r2"]),
    (i(0x95, 0, 0, 0, 0), &["exit", "  12: (95) exit", "(95) exit ; r0=2"]),
    (i(0xc2, 0, 0, 0, 0), &["nospec"]),
];

#[test]
fn each_instruction_in_each_notation() {
    for (insn, texts) in TABLE {
        for text in *texts {
            assert_eq!(parse(text).as_deref(), Ok(&[*insn][..]), "{text}");
        }
    }
}

/// What takes two slots: `src`, and the two immediates.
#[test]
fn wide_loads() {
    for (text, src, low, high) in [
        ("lddw %r3, 5", 0, 5, 0),
        ("lddw %r3, -1", 0, -1, -1),
        ("lddw %r3, 0x8000000000000001", 0, 1, i32::MIN),
        ("lddw %r3, 18446744073709551615", 0, -1, -1),
        ("lddw %r3, map[fd:4]", 1, 4, 0),
        ("(18) r3 = 0x5", 0, 5, 0),
        ("r3 = 5 ll", 0, 5, 0),
        ("r3 = 0x100000000", 0, 0, 1),
        ("r3 = -2147483649", 0, i32::MAX, -1),
        ("r3 = map[fd:4]", 1, 4, 0),
        ("r3 = map[fd:4][0]+24", 2, 4, 24),
        ("r3 = map[idx:1]", 5, 1, 0),
        ("r3 = map[idx:1][0]+0", 6, 1, 0),
        ("r3 = btf[id:77]", 3, 77, 0),
        ("r3 = subprog[+2]", 4, 2, 0),
        ("r3 = subprog[-3]", 4, -3, 0),
    ] {
        let expected = [i(0x18, 3, src, 0, low), i(0, 0, 0, 0, high)];
        assert_eq!(parse(text).as_deref(), Ok(&expected[..]), "{text}");
    }
}

#[test]
fn labels_count_slots() {
    let text = "
        start: mov %r0, 0
        lddw %r1, 0x123456789  # two slots
        jeq %r0, %r1, done
        call local twice
        if r0 == 4 goto start
        gotol done
        ja exit
    done:
        exit
    twice:  ; a function
        r1 = subprog[twice]
        exit";
    let insns = parse(text).unwrap();
    let at = |slot: usize| (insns[slot].off, insns[slot].imm);
    assert_eq!(at(3), (4, 0), "a jump forward over everything");
    assert_eq!(at(4), (0, 4), "a call carries its distance in the immediate");
    assert_eq!(at(5), (-6, 4), "a jump back over the wide load");
    assert_eq!(at(6), (0, 1), "so does a long jump");
    assert_eq!(at(7), (0, 0), "the first exit is a label of its own");
    assert_eq!(at(9), (0, -1), "a function's address counts from its own slot");
    assert_eq!(insns.len(), 12);
}

#[test]
fn what_a_text_defines_wins_over_the_first_exit() {
    let insns = parse("ja exit\nexit\nexit: mov %r0, 1\nexit").unwrap();
    assert_eq!(insns[0].off, 1);
}

#[test]
fn names_of_an_object_are_references() {
    let code = parse_code(
        "r1 = map[counters]
         r2 = map[.bss][0]+16
         r3 = ksym[bpf_prog_active]
         call bpf_xdp_pull_data#-1
         exit",
    )
    .unwrap();
    assert_eq!(
        code.references,
        [
            (0, Reference::Map("counters".to_owned())),
            (2, Reference::MapValue(".bss".to_owned(), 16)),
            (4, Reference::Symbol("bpf_prog_active".to_owned())),
            (6, Reference::Kfunc("bpf_xdp_pull_data".to_owned())),
        ]
    );
    assert_eq!(code.insns[0], i(0x18, 1, 1, 0, 0));
    assert_eq!(code.insns[2..4], [i(0x18, 2, 2, 0, 0), i(0, 0, 0, 0, 16)]);
    assert_eq!(code.insns[6], i(0x85, 0, 2, 0, -1));
}

#[test]
fn nothing_is_a_program_of_no_instructions() {
    for text in ["", "\n\r\n", "# words\n; more\n  // and more", "alone:"] {
        assert_eq!(parse(text), Ok(Vec::new()), "{text:?}");
    }
}
