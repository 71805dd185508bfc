//! Runs a program on a frame, in plain Rust: the reference for the translation.

use spec::asm::{Alu, Cond};

use super::{Base, Op, Program, Register, Source, WORDS, bytes};

impl Program {
    /// Whether a frame of this length matches; `bytes` is the part of it that can be read.
    pub fn matches(&self, bytes: &[u8], length: u32) -> bool {
        let state = State { bytes, length, a: 0, x: 0, memory: [0; WORDS as usize] };
        state.run(&self.0).is_some_and(|answer| answer != 0)
    }
}

struct State<'a> {
    bytes: &'a [u8],
    length: u32,
    a: u32,
    x: u32,
    memory: [u32; WORDS as usize],
}

impl State<'_> {
    /// `None` if a load fails or a division is by zero: the packet does not match.
    fn run(mut self, ops: &[Op]) -> Option<u32> {
        let mut at = 0;
        // Jumps lead forward, so the loop ends.
        loop {
            let op = ops[at];
            at += 1;
            match op {
                Op::Load(size, base, k) => self.a = self.load(bytes(size), base, k)?,
                Op::LoadHeaderLength(k) => self.x = 4 * (self.load(1, Base::Frame, k)? & 0x0f),
                Op::Set(register, from) => *self.register(register) = self.value(from),
                Op::Store(register, word) => {
                    self.memory[usize::from(word)] = *self.register(register);
                }
                Op::Alu(alu, by) => self.a = arithmetic(alu, self.a, self.value(by))?,
                Op::Negate => self.a = self.a.wrapping_neg(),
                Op::Jump(to) => at = to,
                Op::JumpIf { cond, right, yes, no } => {
                    at = if holds(cond, self.a, self.value(right)) { yes } else { no };
                }
                Op::Return(what) => return Some(self.value(what)),
            }
        }
    }

    fn register(&mut self, register: Register) -> &mut u32 {
        match register {
            Register::A => &mut self.a,
            Register::X => &mut self.x,
        }
    }

    fn value(&self, source: Source) -> u32 {
        match source {
            Source::Constant(k) => k,
            Source::Register(Register::A) => self.a,
            Source::Register(Register::X) => self.x,
            Source::Memory(word) => self.memory[usize::from(word)],
            Source::Length => self.length,
        }
    }

    fn load(&self, bytes: u32, base: Base, k: u32) -> Option<u32> {
        let base = if base == Base::X { self.x } else { 0 };
        let at = usize::try_from(base.checked_add(k)?).ok()?;
        let there = self.bytes.get(at..at.checked_add(bytes as usize)?)?;
        Some(there.iter().fold(0, |value, byte| value << 8 | u32::from(*byte)))
    }
}

fn arithmetic(alu: Alu, a: u32, by: u32) -> Option<u32> {
    Some(match alu {
        Alu::Add => a.wrapping_add(by),
        Alu::Sub => a.wrapping_sub(by),
        Alu::Mul => a.wrapping_mul(by),
        Alu::Div => a.checked_div(by)?,
        Alu::Mod => a.checked_rem(by)?,
        Alu::Or => a | by,
        Alu::And => a & by,
        Alu::Xor => a ^ by,
        Alu::Lsh => a.checked_shl(by).unwrap_or(0),
        Alu::Rsh => a.checked_shr(by).unwrap_or(0),
        Alu::Mov | Alu::Arsh | Alu::Sdiv | Alu::Smod => unreachable!("not in classic BPF"),
    })
}

fn holds(cond: Cond, a: u32, right: u32) -> bool {
    match cond {
        Cond::Eq => a == right,
        Cond::Gt => a > right,
        Cond::Ge => a >= right,
        Cond::Set => a & right != 0,
        _ => unreachable!("not in classic BPF"),
    }
}
