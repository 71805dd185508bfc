//! Every arithmetic operation and jump, both widths, immediate and register, on edge operands,
//! against arithmetic on wide integers.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use spec::insn::{self, Insn};
use spec::{Program, Spec};
use vm::{Machine, Options};

const EDGES: &[u64] = &[
    0,
    1,
    2,
    7,
    31,
    32,
    63,
    64,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0x8000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0xffff_ffff_8000_0000,
    0xffff_ffff_ffff_ffff,
];

/// The low `bits` of a number, as an unsigned and as a signed one.
fn unsigned(value: u64, bits: u32) -> i128 {
    i128::from(value) & ((1 << bits) - 1)
}

fn signed(value: u64, bits: u32) -> i128 {
    let value = unsigned(value, bits);
    if value >> (bits - 1) == 0 { value } else { value - (1 << bits) }
}

/// What an operation should leave, before it is cut to its width.
fn expected(op: u8, is_signed: bool, (a, b): (u64, u64), bits: u32) -> i128 {
    let (ua, ub) = (unsigned(a, bits), unsigned(b, bits));
    let (sa, sb) = (signed(a, bits), signed(b, bits));
    let count = b & u64::from(bits - 1);
    match op {
        insn::ADD => ua + ub,
        insn::SUB => ua - ub,
        insn::MUL => ua.wrapping_mul(ub),
        insn::DIV if ub == 0 => 0,
        insn::DIV if is_signed => sa / sb,
        insn::DIV => ua / ub,
        insn::MOD if ub == 0 => ua,
        insn::MOD if is_signed => sa % sb,
        insn::MOD => ua % ub,
        insn::OR => ua | ub,
        insn::AND => ua & ub,
        insn::XOR => ua ^ ub,
        insn::MOV => ub,
        insn::LSH => unsigned((ua as u64) << count, bits),
        insn::RSH => ua >> count,
        insn::ARSH => sa >> count,
        _ => panic!("{op:#x} is not in the table"),
    }
}

fn taken(op: u8, (a, b): (u64, u64), bits: u32) -> bool {
    let (ua, ub) = (unsigned(a, bits), unsigned(b, bits));
    let (sa, sb) = (signed(a, bits), signed(b, bits));
    match op {
        insn::JEQ => ua == ub,
        insn::JNE => ua != ub,
        insn::JGT => ua > ub,
        insn::JGE => ua >= ub,
        insn::JLT => ua < ub,
        insn::JLE => ua <= ub,
        insn::JSET => ua & ub != 0,
        insn::JSGT => sa > sb,
        insn::JSGE => sa >= sb,
        insn::JSLT => sa < sb,
        insn::JSLE => sa <= sb,
        _ => panic!("{op:#x} is not in the table"),
    }
}

fn wide(register: u8, value: u64) -> [Insn; 2] {
    let half = |code, value: u64| Insn::new(code, register, 0, 0, value as u32 as i32);
    [half(insn::LD_IMM64, value), Insn { dst: 0, ..half(0, value >> 32) }]
}

/// Instructions between loading r0 and r1 and the end, run again and again.
struct Case {
    worker: vm::Worker,
}

impl Case {
    fn new(what: &[Insn]) -> Self {
        let load = |register, off| Insn::new(0x79, register, 6, off, 0);
        let start = [Insn::new(0xbf, 6, 1, 0, 0), load(0, 0), load(1, 8)];
        let insns = [&start, what, &[Insn::new(insn::EXIT, 0, 0, 0, 0)]].concat();
        let program = Program { autoload: true, insns, ..Program::default() };
        let spec = Spec { programs: vec![program], ..Spec::default() };
        Self { worker: Machine::load(&spec, &Options::default()).unwrap().worker(0) }
    }

    /// r0 at the end, after r0 = a and r1 = b.
    fn run(&mut self, a: u64, b: u64) -> u64 {
        let mut memory = [a.to_ne_bytes(), b.to_ne_bytes()].concat();
        self.worker.run_raw(0, &mut memory).unwrap()
    }
}

fn run(a: u64, b: u64, what: &[Insn]) -> u64 {
    Case::new(what).run(a, b)
}

/// The edges that can be immediates, and what they are as operands.
fn immediates() -> impl Iterator<Item = (i32, u64)> {
    EDGES.iter().filter_map(|value| Some((i32::try_from(*value as i64).ok()?, *value)))
}

#[test]
fn arithmetic() {
    let rows = [
        (insn::ADD, 0),
        (insn::SUB, 0),
        (insn::MUL, 0),
        (insn::DIV, 0),
        (insn::DIV, 1),
        (insn::MOD, 0),
        (insn::MOD, 1),
        (insn::OR, 0),
        (insn::AND, 0),
        (insn::XOR, 0),
        (insn::MOV, 0),
        (insn::LSH, 0),
        (insn::RSH, 0),
        (insn::ARSH, 0),
    ];
    for (op, off) in rows {
        for (class, bits) in [(insn::CLASS_ALU64, 64), (insn::CLASS_ALU, 32)] {
            let expected =
                |a, b| unsigned(expected(op, off == 1, (a, b), bits) as u64, bits) as u64;
            let insn = Insn::new(class | op | insn::FROM_REG, 0, 1, off, 0);
            let mut case = Case::new(&[insn]);
            for (a, b) in pairs() {
                assert_eq!(case.run(a, b), expected(a, b), "{insn:?} {a:#x} {b:#x}");
            }
            for (imm, b) in immediates() {
                let insn = Insn::new(class | op, 0, 0, off, imm);
                let mut case = Case::new(&[insn]);
                for a in EDGES {
                    assert_eq!(case.run(*a, 0), expected(*a, b), "{insn:?} {a:#x}");
                }
            }
        }
    }
}

#[test]
fn jumps_forward_and_back() {
    let rows = [
        insn::JEQ,
        insn::JNE,
        insn::JGT,
        insn::JGE,
        insn::JLT,
        insn::JLE,
        insn::JSET,
        insn::JSGT,
        insn::JSGE,
        insn::JSLT,
        insn::JSLE,
    ];
    for op in rows {
        for (class, bits) in [(insn::CLASS_JMP, 64), (insn::CLASS_JMP32, 32)] {
            let expected = |a, b| u64::from(taken(op, (a, b), bits));
            let jump = Insn::new(class | op | insn::FROM_REG, 0, 1, 0, 0);
            for mut case in [forward(jump), back(jump)] {
                for (a, b) in pairs() {
                    assert_eq!(case.run(a, b), expected(a, b), "{jump:?} {a:#x} {b:#x}");
                }
            }
            for (imm, b) in immediates() {
                let jump = Insn::new(class | op, 0, 0, 0, imm);
                for mut case in [forward(jump), back(jump)] {
                    for a in EDGES {
                        assert_eq!(case.run(*a, 0), expected(*a, b), "{jump:?} {a:#x}");
                    }
                }
            }
        }
    }
}

/// 1 where a jump over what follows is taken.
fn forward(jump: Insn) -> Case {
    Case::new(&[Insn { off: 2, ..jump }, set(0), Insn::new(insn::EXIT, 0, 0, 0, 0), set(1)])
}

/// 1 where a jump to what is before it is taken.
fn back(jump: Insn) -> Case {
    let goto = Insn::new(insn::CLASS_JMP, 0, 0, 2, 0);
    let exit = Insn::new(insn::EXIT, 0, 0, 0, 0);
    Case::new(&[goto, set(1), exit, Insn { off: -3, ..jump }, set(0)])
}

fn set(value: i32) -> Insn {
    Insn::new(0xb7, 0, 0, 0, value)
}

fn pairs() -> impl Iterator<Item = (u64, u64)> {
    EDGES.iter().flat_map(|a| EDGES.iter().map(|b| (*a, *b)))
}

#[test]
fn signs_and_byte_orders() {
    for &b in EDGES {
        let extend = |bits: u32| signed(b, bits) as u64;
        let rows = [
            (0xbf, 8, 0, extend(8)),
            (0xbf, 16, 0, extend(16)),
            (0xbf, 32, 0, extend(32)),
            (0xbc, 8, 0, extend(8) & 0xffff_ffff),
            (0xbc, 16, 0, extend(16) & 0xffff_ffff),
            (0x87, 0, 0, b.wrapping_neg()),
            (0x84, 0, 0, (b as u32).wrapping_neg().into()),
            (0xd4, 0, 16, (b as u16).into()),
            (0xd4, 0, 32, (b as u32).into()),
            (0xd4, 0, 64, b),
            (0xdc, 0, 16, (b as u16).swap_bytes().into()),
            (0xdc, 0, 32, (b as u32).swap_bytes().into()),
            (0xdc, 0, 64, b.swap_bytes()),
            (0xd7, 0, 16, (b as u16).swap_bytes().into()),
            (0xd7, 0, 32, (b as u32).swap_bytes().into()),
            (0xd7, 0, 64, b.swap_bytes()),
        ];
        for (code, off, imm, expected) in rows {
            let move_ = code == 0xbf || code == 0xbc;
            let insn = Insn::new(code, 0, u8::from(move_), off, imm);
            assert_eq!(run(b, b, &[insn]), expected, "{insn:?} {b:#x}");
        }
    }
}

#[test]
fn atomics_change_memory_and_fetch() {
    use insn::{ADD, AND, CMPXCHG, FETCH, OR, XCHG, XOR};
    const NEW: u64 = 0x1_0000_00f0;
    const OLD: u64 = 0xff_0000_0f0f;
    let fetch = |op: u8| i32::from(op) | FETCH;
    // Operation, what is in memory then, what r1 is then, what r0 is then; r0 starts as OLD.
    let rows = [
        (ADD.into(), OLD + NEW, NEW, OLD),
        (OR.into(), OLD | NEW, NEW, OLD),
        (AND.into(), OLD & NEW, NEW, OLD),
        (XOR.into(), OLD ^ NEW, NEW, OLD),
        (fetch(ADD), OLD + NEW, OLD, OLD),
        (fetch(OR), OLD | NEW, OLD, OLD),
        (fetch(AND), OLD & NEW, OLD, OLD),
        (fetch(XOR), OLD ^ NEW, OLD, OLD),
        (XCHG, NEW, OLD, OLD),
        (CMPXCHG, NEW, NEW, OLD),
    ];
    for (imm, memory, r1, r0) in rows {
        assert_eq!(atomic(0xdb, imm, OLD, NEW, OLD), [memory, r1, r0], "64 bits, {imm:#x}");
        let low = |value: u64| value & 0xffff_ffff;
        let high = OLD & !0xffff_ffff;
        let fetched = if imm & FETCH != 0 && imm != CMPXCHG { low(r1) } else { NEW };
        let r0 = if imm == CMPXCHG { low(r0) } else { OLD };
        let expected = [high | low(memory), fetched, r0];
        assert_eq!(atomic(0xc3, imm, OLD, NEW, OLD), expected, "32 bits, {imm:#x}");
    }
    let other = OLD + 1;
    assert_eq!(atomic(0xdb, CMPXCHG, OLD, NEW, other), [OLD, NEW, OLD], "not equal");
}

/// Memory, r1 and r0 after an atomic operation of r1 on memory.
fn atomic(code: u8, imm: i32, memory: u64, r1: u64, r0: u64) -> [u64; 3] {
    let mut bytes = [memory.to_ne_bytes(), [0; 8], [0; 8]].concat();
    let store = |src, off| Insn::new(0x7b, 6, src, off, 0);
    let body = [
        Insn::new(0xbf, 6, 1, 0, 0),
        wide(0, r0)[0],
        wide(0, r0)[1],
        wide(1, r1)[0],
        wide(1, r1)[1],
        Insn::new(code, 6, 1, 0, imm),
        store(1, 8),
        store(0, 16),
        Insn::new(insn::EXIT, 0, 0, 0, 0),
    ];
    vm::run_raw(&body, &mut bytes).unwrap();
    let words = bytes.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap()));
    words.collect::<Vec<_>>().try_into().unwrap()
}

#[test]
fn loads_and_stores_of_all_sizes() {
    const VALUE: u64 = 0x8182_8384_8586_8788;
    let sizes = [(insn::SIZE_B, 8), (insn::SIZE_H, 16), (insn::SIZE_W, 32), (insn::SIZE_DW, 64)];
    for (size, bits) in sizes {
        let kept = unsigned(VALUE, bits) as u64;
        let load = Insn::new(insn::CLASS_LDX | insn::MODE_MEM | size, 0, 10, -8, 0);
        let store = Insn::new(insn::CLASS_STX | insn::MODE_MEM | size, 10, 1, -8, 0);
        assert_eq!(run(0, VALUE, &[store, Insn { code: 0x79, ..load }]), kept, "{store:?}");
        let all = Insn { code: 0x7b, ..store };
        assert_eq!(run(0, VALUE, &[all, load]), kept, "{load:?}");
        let number = Insn::new(insn::CLASS_ST | insn::MODE_MEM | size, 10, 0, -8, -2);
        let expected = unsigned(-2_i64 as u64, bits) as u64;
        assert_eq!(run(0, 0, &[number, Insn { code: 0x79, ..load }]), expected, "{number:?}");
        if bits < 64 {
            let signed_load = Insn { code: insn::CLASS_LDX | insn::MODE_MEMSX | size, ..load };
            let expected = signed(VALUE, bits) as u64;
            assert_eq!(run(0, VALUE, &[all, signed_load]), expected, "{signed_load:?}");
        }
        let acquire = Insn::new(0xc3 | size, 0, 10, -8, insn::LOAD_ACQUIRE);
        assert_eq!(run(0, VALUE, &[all, acquire]), kept, "{acquire:?}");
        let release = Insn::new(0xc3 | size, 10, 1, -8, insn::STORE_RELEASE);
        assert_eq!(run(0, VALUE, &[release, Insn { code: 0x79, ..load }]), kept, "{release:?}");
    }
}
