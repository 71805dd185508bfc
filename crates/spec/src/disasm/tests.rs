//! Assembler → instruction → text, and any bytes → text.

use super::*;
use crate::asm::Reg::*;
use crate::asm::{Alu, Assembler, Atomic, Cond, Helper, Label, Size, Width};
use crate::model::ProgramKind;
use proptest::prelude::*;

type Write = fn(&mut Assembler, Label) -> &mut Assembler;

/// Each row is one instruction at slot 0, with the label `l` bound two slots after it.
const TABLE: &[(&str, Write)] = &[
    // Arithmetic.
    ("(b7) r0 = 2", |a, _| a.mov(R0, 2)),
    ("(b4) w0 = -1", |a, _| a.mov32(R0, -1)),
    ("(bf) r6 = r1", |a, _| a.mov(R6, R1)),
    ("(bc) w6 = w1", |a, _| a.mov32(R6, R1)),
    ("(07) r4 += 14", |a, _| a.add(R4, 14)),
    ("(0f) r4 += r5", |a, _| a.add(R4, R5)),
    ("(0c) w4 += w5", |a, _| a.add32(R4, R5)),
    ("(17) r1 -= 1", |a, _| a.sub(R1, 1)),
    ("(1f) r1 -= r2", |a, _| a.sub(R1, R2)),
    ("(2f) r1 *= r2", |a, _| a.mul(R1, R2)),
    ("(37) r1 /= 10", |a, _| a.div(R1, 10)),
    ("(34) w1 /= 10", |a, _| a.div32(R1, 10)),
    ("(37) r1 s/= -10", |a, _| a.sdiv(R1, -10)),
    ("(3c) w1 s/= w2", |a, _| a.sdiv32(R1, R2)),
    ("(97) r1 %= 16", |a, _| a.rem(R1, 16)),
    ("(9f) r1 s%= r2", |a, _| a.srem(R1, R2)),
    ("(47) r1 |= 1", |a, _| a.or(R1, 1)),
    ("(57) r1 &= 255", |a, _| a.and(R1, 255)),
    ("(a7) r1 ^= -1", |a, _| a.xor(R1, -1)),
    ("(67) r1 <<= 32", |a, _| a.lsh(R1, 32)),
    ("(77) r1 >>= 32", |a, _| a.rsh(R1, 32)),
    ("(c7) r1 s>>= 32", |a, _| a.arsh(R1, 32)),
    ("(c4) w1 s>>= 3", |a, _| a.arsh32(R1, 3)),
    ("(ac) w1 ^= w2", |a, _| a.alu32(Alu::Xor, R1, R2)),
    ("(87) r3 = -r3", |a, _| a.neg(R3)),
    ("(84) w3 = -w3", |a, _| a.neg32(R3)),
    ("(bf) r1 = (s8)r2", |a, _| a.mov_s8(R1, R2)),
    ("(bf) r1 = (s16)r2", |a, _| a.mov_s16(R1, R2)),
    ("(bf) r1 = (s32)r2", |a, _| a.mov_s32(R1, R2)),
    ("(bc) w1 = (s8)w2", |a, _| a.mov32_s8(R1, R2)),
    ("(bc) w1 = (s16)w2", |a, _| a.mov32_s16(R1, R2)),
    ("(dc) r1 = be16 r1", |a, _| a.be16(R1)),
    ("(dc) r1 = be32 r1", |a, _| a.be32(R1)),
    ("(dc) r1 = be64 r1", |a, _| a.be64(R1)),
    ("(d4) r1 = le16 r1", |a, _| a.le16(R1)),
    ("(d4) r1 = le32 r1", |a, _| a.le32(R1)),
    ("(d4) r1 = le64 r1", |a, _| a.le64(R1)),
    ("(d7) r1 = bswap16 r1", |a, _| a.bswap16(R1)),
    ("(d7) r1 = bswap32 r1", |a, _| a.bswap32(R1)),
    ("(d7) r1 = bswap64 r1", |a, _| a.bswap64(R1)),
    ("(bf) r1 = addr_space_cast(r2, 0, 1)", |a, _| a.raw(Insn::new(0xbf, 1, 2, 1, 1))),
    ("(bf) r1 = &(void __percpu *)(r1)", |a, _| a.raw(Insn::new(0xbf, 1, 1, -1, 0))),
    // Memory.
    ("(71) r2 = *(u8 *)(r1 +0)", |a, _| a.load8(R2, R1.at(0))),
    ("(69) r2 = *(u16 *)(r1 +12)", |a, _| a.load16(R2, R1.at(12))),
    ("(61) r2 = *(u32 *)(r1 +4)", |a, _| a.load32(R2, R1.at(4))),
    ("(79) r2 = *(u64 *)(r10 -8)", |a, _| a.load64(R2, R10.at(-8))),
    ("(91) r2 = *(s8 *)(r1 +0)", |a, _| a.load_s8(R2, R1.at(0))),
    ("(89) r2 = *(s16 *)(r1 +0)", |a, _| a.load_s16(R2, R1.at(0))),
    ("(81) r2 = *(s32 *)(r1 +0)", |a, _| a.load_s32(R2, R1.at(0))),
    ("(73) *(u8 *)(r1 +0) = r2", |a, _| a.store8(R1.at(0), R2)),
    ("(6b) *(u16 *)(r1 +2) = r2", |a, _| a.store16(R1.at(2), R2)),
    ("(63) *(u32 *)(r10 -4) = r0", |a, _| a.store32(R10.at(-4), R0)),
    ("(7b) *(u64 *)(r10 -8) = r0", |a, _| a.store64(R10.at(-8), R0)),
    ("(72) *(u8 *)(r1 +0) = 7", |a, _| a.store8(R1.at(0), 7)),
    ("(7a) *(u64 *)(r10 -8) = -1", |a, _| a.store64(R10.at(-8), -1)),
    ("(db) lock *(u64 *)(r1 +0) += r2", |a, _| atomic(a, Atomic::Add)),
    ("(db) lock *(u64 *)(r1 +0) |= r2", |a, _| atomic(a, Atomic::Or)),
    ("(db) lock *(u64 *)(r1 +0) &= r2", |a, _| atomic(a, Atomic::And)),
    ("(db) lock *(u64 *)(r1 +0) ^= r2", |a, _| atomic(a, Atomic::Xor)),
    ("(db) r2 = atomic64_fetch_add((u64 *)(r1 +0), r2)", |a, _| atomic(a, Atomic::FetchAdd)),
    ("(db) r2 = atomic64_fetch_or((u64 *)(r1 +0), r2)", |a, _| atomic(a, Atomic::FetchOr)),
    ("(db) r2 = atomic64_fetch_and((u64 *)(r1 +0), r2)", |a, _| atomic(a, Atomic::FetchAnd)),
    ("(db) r2 = atomic64_fetch_xor((u64 *)(r1 +0), r2)", |a, _| atomic(a, Atomic::FetchXor)),
    ("(db) r2 = atomic64_xchg((u64 *)(r1 +0), r2)", |a, _| atomic(a, Atomic::Xchg)),
    ("(db) r0 = atomic64_cmpxchg((u64 *)(r1 +0), r0, r2)", |a, _| atomic(a, Atomic::CmpXchg)),
    ("(c3) r2 = atomic_fetch_add((u32 *)(r1 +4), r2)", |a, _| {
        a.atomic(Atomic::FetchAdd, Width::W32, R1.at(4), R2)
    }),
    ("(cb) r1 = load_acquire((u16 *)(r2 +2))", |a, _| a.load_acquire(Size::Half, R1, R2.at(2))),
    ("(db) store_release((u64 *)(r1 -8), r2)", |a, _| a.store_release(Size::Double, R1.at(-8), R2)),
    ("(18) r1 = 0x8000000000000001", |a, _| a.load_imm64(R1, 1 << 63 | 1)),
    ("(18) r1 = map[fd:0]", |a, _| a.load_map(R1, 0)),
    ("(18) r1 = map[fd:0][0]+16", |a, _| a.load_map_value(R1, 0, 16)),
    ("(20) r0 = *(u32 *)skb[12]", |a, _| a.raw(Insn::new(0x20, 0, 0, 0, 12))),
    ("(48) r0 = *(u16 *)skb[r3 + 2]", |a, _| a.raw(Insn::new(0x48, 0, 3, 0, 2))),
    ("(c2) nospec", |a, _| a.raw(Insn::new(0xc2, 0, 0, 0, 0))),
    // Jumps.
    ("(05) goto pc+1", |a, l| a.jump(l)),
    ("(06) gotol pc+1", |a, l| a.jump_far(l)),
    ("(e5) may_goto pc+1", |a, l| a.may_goto(l)),
    ("(0d) gotox r3", |a, _| a.raw(Insn::new(0x0d, 3, 0, 0, 0))),
    ("(15) if r1 == 0x8 goto pc+1", |a, l| a.jump_if(R1, Cond::Eq, 8, l)),
    ("(55) if r1 != 0xffffffff goto pc+1", |a, l| a.jump_if(R1, Cond::Ne, -1, l)),
    ("(2d) if r1 > r2 goto pc+1", |a, l| a.jump_if(R1, Cond::Gt, R2, l)),
    ("(3d) if r1 >= r2 goto pc+1", |a, l| a.jump_if(R1, Cond::Ge, R2, l)),
    ("(ad) if r1 < r2 goto pc+1", |a, l| a.jump_if(R1, Cond::Lt, R2, l)),
    ("(bd) if r1 <= r2 goto pc+1", |a, l| a.jump_if(R1, Cond::Le, R2, l)),
    ("(45) if r1 & 0x2 goto pc+1", |a, l| a.jump_if(R1, Cond::Set, 2, l)),
    ("(6d) if r1 s> r2 goto pc+1", |a, l| a.jump_if(R1, Cond::Sgt, R2, l)),
    ("(7d) if r1 s>= r2 goto pc+1", |a, l| a.jump_if(R1, Cond::Sge, R2, l)),
    ("(cd) if r1 s< r2 goto pc+1", |a, l| a.jump_if(R1, Cond::Slt, R2, l)),
    ("(dd) if r1 s<= r2 goto pc+1", |a, l| a.jump_if(R1, Cond::Sle, R2, l)),
    ("(16) if w1 == 0x8 goto pc+1", |a, l| a.jump32_if(R1, Cond::Eq, 8, l)),
    ("(2e) if w1 > w2 goto pc+1", |a, l| a.jump32_if(R1, Cond::Gt, R2, l)),
    ("(95) exit", |a, _| a.exit()),
    // Calls.
    ("(85) call bpf_map_lookup_elem#1", |a, _| a.call(Helper::MAP_LOOKUP_ELEM)),
    ("(85) call unknown#1000", |a, _| a.call(Helper(1000))),
    ("(85) call unknown#0", |a, _| a.call_kfunc("bpf_xdp_pull_data")),
    ("(85) call pc+1", |a, l| a.call_local(l)),
    ("(18) r2 = subprog[+2]", |a, l| a.load_function(R2, l)),
    // What no kernel knows.
    ("BUG_alu_f4", |a, _| a.raw(Insn::new(0xf4, 0, 0, 0, 0))),
    ("BUG_alu64_e7", |a, _| a.raw(Insn::new(0xe7, 0, 0, 0, 0))),
    ("BUG_ld_00", |a, _| a.raw(Insn::default())),
    ("BUG_ldx_99", |a, _| a.raw(Insn::new(0x99, 0, 0, 0, 0))),
    ("BUG_st_02", |a, _| a.raw(Insn::new(0x02, 0, 0, 0, 0))),
    ("BUG_stx_c3", |a, _| a.raw(Insn::new(0xc3, 0, 0, 0, 0x77))),
    ("BUG_stx_cb", |a, _| a.raw(Insn::new(0xcb, 0, 0, 0, 0))),
    ("(8d) callx r2", |a, _| a.raw(Insn::new(0x8d, 2, 0, 0, 0))),
    ("BUG_jmp_f5", |a, _| a.raw(Insn::new(0xf5, 0, 0, 0, 0))),
    ("BUG_jmp32_86", |a, _| a.raw(Insn::new(0x86, 0, 0, 0, 0))),
];

fn atomic(a: &mut Assembler, atomic: Atomic) -> &mut Assembler {
    a.atomic(atomic, Width::W64, R1.at(0), R2)
}

#[test]
fn each_method_of_the_assembler_reads_back() {
    for (text, write) in TABLE {
        let mut a = Assembler::new("row", ProgramKind::XDP);
        let label = a.label();
        write(&mut a, label).exit();
        a.function(label, "target").mov(R0, 0).exit();
        // A jump leaves the function, which `finish` refuses: bind it as a plain label instead.
        let program = a.clone().finish().or_else(|_| {
            let mut a = Assembler::new("row", ProgramKind::XDP);
            let label = a.label();
            write(&mut a, label).exit().bind(label).exit();
            a.finish()
        });
        assert_eq!(insn(&program.unwrap().insns, 0, &Plain), *text);
    }
}

#[test]
fn a_caller_names_what_the_kernel_has_rewritten() {
    struct Loaded;
    impl Names for Loaded {
        fn wide(&self, _: usize, insn: Insn, value: u64) -> Option<String> {
            (insn.src == 1).then(|| format!("map[id:{}]", value as u32))
        }
        fn call(&self, slot: usize, _: Insn) -> Option<String> {
            (slot == 2).then(|| "__htab_map_lookup_elem".to_owned())
        }
        fn label(&self, slot: usize) -> Option<String> {
            (slot == 4).then(|| "out".to_owned())
        }
    }
    let insns = [
        Insn::new(0x18, 1, 1, 0, 42),
        Insn::default(),
        Insn::new(0x85, 0, 0, 0, 230_000),
        Insn::new(0x15, 0, 0, 0, 0),
        Insn::new(0x95, 0, 0, 0, 0),
    ];
    let text: Vec<_> = slots(&insns).map(|slot| insn(&insns, slot, &Loaded)).collect();
    assert_eq!(
        text,
        [
            "(18) r1 = map[id:42]",
            "(85) call __htab_map_lookup_elem#230000",
            "(15) if r0 == 0x0 goto out",
            "(95) exit",
        ]
    );
}

#[test]
fn a_wide_load_cut_in_half_is_a_bug() {
    let insns = [Insn::new(0x18, 1, 0, 0, 1)];
    assert_eq!(insn(&insns, 0, &Plain), "BUG_ld_18");
    assert_eq!(insn(&insns, 1, &Plain), "BUG_end");
    assert_eq!(slots(&insns).collect::<Vec<_>>(), [0]);
    assert_eq!(slots(&[]).count(), 0);
}

proptest! {
    /// No bytes make it panic, and each gives one line; so does a listing with wild tables.
    #[test]
    fn any_bytes_give_text(
        raw in proptest::collection::vec(any::<[u8; 8]>(), 0..40),
        function in 0_usize..50,
        line in 0_usize..50,
    ) {
        let insns: Vec<Insn> = raw.into_iter().map(Insn::from_bytes).collect();
        for slot in 0..insns.len() + 2 {
            let text = insn(&insns, slot, &Plain);
            prop_assert!(!text.is_empty() && !text.contains('\n'));
        }
        let slots = slots(&insns).count();
        let program = crate::Program {
            insns,
            functions: vec![crate::Function { slot: function, ..Default::default() }],
            lines: vec![crate::Line { slot: line, text: 99, ..Default::default() }],
            ..Default::default()
        };
        let types = crate::btf::Btf::default();
        let listing = Listing::new(&program, &Plain).source(Some(&types)).labels(true).to_string();
        prop_assert_eq!(listing.lines().filter(|line| line.contains(": ")).count(), slots);
    }
}
