//! Translation of a program to eBPF, with every load inside the packet.
//!
//! Registers: R0 is A, R1 is X, R2 the packet, R3 its end, R4 the packet at X, R5 is temporary. A
//! and X have 32 bits, so all arithmetic has 32 bits and clears the upper half.
//!
//! Bytes beyond the first 64 KiB, or beyond the first buffer of a frame, cannot be loaded.

use spec::ProgramKind;
use spec::asm::Reg::{R0, R1, R2, R3, R4, R5, R6, R10};
use spec::asm::{Alu, Assembler, Cond, Label, MemRef, Operand, Reg, Size};

use super::flow::{FURTHEST, Known, Need, known, needs};
use super::{Base, Op, Program, Register, Source, bytes};
use crate::Field;

/// The place of a translation in other code.
#[derive(Clone, Copy, Debug)]
pub struct Site {
    /// Points to `struct filter_packet`; one of R6 to R9.
    pub packet: Reg,
    /// Holds the pointer to the program's context.
    pub context: MemRef,
    /// Offset from R10 of [`Program::MEMORY`] bytes of stack; used if the program has memory.
    pub memory: i16,
    /// The target for a packet that matches.
    pub matched: Label,
    /// The target for any other packet.
    pub unmatched: Label,
}

impl Program {
    /// Bytes of stack for the memory words.
    pub const MEMORY: i16 = 4 * super::WORDS as i16;

    /// Appends the program to `asm`. It continues at one of the labels of the site; the kernel's
    /// verifier sees a path to both. R0 to R5 are overwritten.
    pub fn append(&self, asm: &mut Assembler, site: Site) {
        let needs = needs(&self.0);
        let known = known(&self.0, &needs);
        let labels: Vec<_> = self.0.iter().map(|_| asm.label()).collect();
        let mut out = Translation { asm, site, labels };
        out.enter(&self.0, &known);
        for (at, op) in self.0.iter().enumerate() {
            // The kernel refuses unreachable code.
            if let Some(known) = known[at] {
                let label = out.labels[at];
                out.asm.bind(label);
                out.op(at, *op, known, needs[at]);
            }
        }
    }
}

impl Program {
    /// The program as a function with the context in R1 and the length of the packet in R2, whose
    /// result is 1 if the packet matches and 0 if not.
    pub fn function(&self, name: &str) -> Assembler {
        let mut asm = Assembler::new(name, ProgramKind::XDP);
        let [matched, unmatched] = [asm.label(), asm.label()];
        let length = Field::Length.place();
        // The place of a struct that has its length on the stack, and nothing else.
        asm.store64(CONTEXT, R1).store32(R10.at(LENGTH), R2);
        asm.mov(R6, R10).add(R6, i32::from(LENGTH - length.offset));
        let memory = LENGTH - Self::MEMORY;
        let site = Site { packet: R6, context: CONTEXT, memory, matched, unmatched };
        self.append(&mut asm, site);
        asm.bind(matched).mov32(R0, 1).exit();
        asm.bind(unmatched).mov32(R0, 0).exit();
        asm
    }
}

const CONTEXT: MemRef = R10.at(-8);
const LENGTH: i16 = -16;

struct Translation<'a> {
    asm: &'a mut Assembler,
    site: Site,
    labels: Vec<Label>,
}

impl Translation<'_> {
    /// Loads the bounds of the packet, and zeroes registers that are read before they are written.
    fn enter(&mut self, ops: &[Op], known: &[Option<Known>]) {
        if ops.iter().any(|op| matches!(op, Op::Load(..) | Op::LoadHeaderLength(_))) {
            self.asm.load64(R3, self.site.context).packet(R2, R3, R3);
        }
        self.lead_to_both(ops, known);
        let early = |register| {
            let is_early = |(op, known): (&Op, &Option<Known>)| {
                let there = |known: &Known| if register == Register::A { known.a } else { known.x };
                op.reads(register) && known.is_some_and(|known| !there(&known))
            };
            ops.iter().zip(known).any(is_early)
        };
        for register in [Register::A, Register::X] {
            if early(register) {
                self.asm.mov32(reg(register), 0);
            }
        }
    }

    /// Adds a path to each label: a program that always or never matches must not make the code
    /// after it unreachable.
    fn lead_to_both(&mut self, ops: &[Op], known: &[Option<Known>]) {
        let mut leads = [false; 2];
        for (op, _) in ops.iter().zip(known).filter(|(_, known)| known.is_some()) {
            let (matched, unmatched) = op.leads();
            leads = [leads[0] | matched, leads[1] | unmatched];
        }
        for (leads, label) in leads.into_iter().zip([self.site.matched, self.site.unmatched]) {
            if !leads {
                self.asm.mov32(R0, 0).jump32_if(R0, Cond::Ne, 0, label);
            }
        }
    }

    fn op(&mut self, at: usize, op: Op, known: Known, need: Need) {
        match op {
            Op::Load(size, base, k) => self.load(size, (base, k), known, need),
            Op::LoadHeaderLength(k) => self.load_header_length(k, known, need),
            Op::Set(register, from) => self.set(reg(register), from),
            Op::Store(register, word) => {
                self.asm.store32(R10.at(self.word(word)), reg(register));
            }
            Op::Alu(alu, by) => self.arithmetic(alu, by),
            Op::Negate => {
                self.asm.neg32(R0);
            }
            Op::Jump(to) => self.go(at, to),
            Op::JumpIf { cond, right, yes, no } => self.branch(at, (cond, right), yes, no),
            Op::Return(what) => self.answer(what),
        }
    }

    fn load(&mut self, size: Size, (base, k): (Base, u32), known: Known, need: Need) {
        if self.check((base, k + bytes(size)), known, need).is_none() {
            return;
        }
        self.load_at(R0, size, (base, k));
        match size {
            Size::Half => self.asm.be16(R0),
            Size::Word => self.asm.be32(R0),
            Size::Byte | Size::Double => self.asm,
        };
    }

    fn load_header_length(&mut self, k: u32, known: Known, need: Need) {
        if self.check((Base::Frame, k + 1), known, need).is_some() {
            self.load_at(R1, Size::Byte, (Base::Frame, k));
            self.asm.and32(R1, 0x0f).lsh32(R1, 2);
        }
    }

    fn load_at(&mut self, into: Reg, size: Size, (base, k): (Base, u32)) {
        let from = if base == Base::X { R4 } else { R2 };
        // The check has bounded k.
        match i16::try_from(k) {
            Ok(off) => self.asm.load(size, into, from.at(off)),
            Err(_) => self.asm.mov(R5, from).add(R5, k.cast_signed()).load(size, into, R5.at(0)),
        };
    }

    /// Checks that the packet has the bytes up to `end`; otherwise it does not match. `None` if no
    /// packet has them.
    fn check(&mut self, (base, end): (Base, u32), known: Known, need: Need) -> Option<()> {
        if known.has(base, end) {
            return Some(());
        }
        let checked = need.of_load(base, end);
        if checked > FURTHEST {
            self.asm.jump(self.site.unmatched);
            return None;
        }
        let from = match base {
            Base::Frame => R2,
            Base::X => {
                self.point_at_x(checked, known);
                R4
            }
        };
        self.asm.need(from, R3, checked.cast_signed(), R5, self.site.unmatched);
        Some(())
    }

    fn point_at_x(&mut self, checked: u32, known: Known) {
        if !known.x_is_small || checked > FURTHEST - LONGEST_HEADER {
            let most = (FURTHEST - checked).cast_signed();
            self.asm.jump_if(R1, Cond::Gt, most, self.site.unmatched);
        }
        self.asm.mov(R4, R1).add(R4, R2);
    }

    fn set(&mut self, register: Reg, from: Source) {
        match from {
            Source::Constant(k) => self.asm.mov32(register, k.cast_signed()),
            Source::Register(other) => self.asm.mov32(register, reg(other)),
            Source::Memory(word) => self.asm.load32(register, R10.at(self.word(word))),
            Source::Length => {
                let length = Field::Length.place();
                self.asm.load(length.size, register, self.site.packet.at(length.offset))
            }
        };
    }

    fn arithmetic(&mut self, alu: Alu, by: Source) {
        let by = self.operand(by);
        match (alu, by) {
            (Alu::Div | Alu::Mod, Operand::Reg(by)) => {
                self.asm.jump32_if(by, Cond::Eq, 0, self.site.unmatched).alu32(alu, R0, by);
            }
            // The processor uses the low five bits of the distance only.
            (Alu::Lsh | Alu::Rsh, Operand::Reg(by)) => {
                let small = self.asm.label();
                self.asm.mov32(R5, by).jump32_if(by, Cond::Lt, 32, small);
                self.asm.mov32(R0, 0).mov32(R5, 0).bind(small).alu32(alu, R0, R5);
            }
            (alu, by) => {
                self.asm.alu32(alu, R0, by);
            }
        }
    }

    fn branch(&mut self, at: usize, (cond, right): (Cond, Source), yes: usize, no: usize) {
        let right = self.operand(right);
        let to = self.labels[yes];
        if yes == no {
            return self.go(at, no);
        }
        if yes == at + 1
            && let Some(inverse) = inverse(cond)
        {
            self.asm.jump32_if(R0, inverse, right, self.labels[no]);
            return;
        }
        self.asm.jump32_if(R0, cond, right, to);
        self.go(at, no);
    }

    fn go(&mut self, at: usize, to: usize) {
        if to != at + 1 {
            self.asm.jump(self.labels[to]);
        }
    }

    fn answer(&mut self, what: Source) {
        match what {
            Source::Constant(0) => self.asm.jump(self.site.unmatched),
            Source::Constant(_) => self.asm.jump(self.site.matched),
            _ => self.asm.jump32_if(R0, Cond::Ne, 0, self.site.matched).jump(self.site.unmatched),
        };
    }

    fn operand(&self, source: Source) -> Operand {
        match source {
            Source::Constant(k) => Operand::Imm(k.cast_signed()),
            _ => Operand::Reg(R1),
        }
    }

    fn word(&self, word: u8) -> i16 {
        self.site.memory + 4 * i16::from(word)
    }
}

impl Op {
    /// Whether the instruction may end as a match, and whether as no match.
    fn leads(self) -> (bool, bool) {
        match self {
            Self::Return(Source::Constant(k)) => (k != 0, k == 0),
            Self::Return(_) => (true, true),
            // The first load is checked, and it precedes all others.
            Self::Load(..) | Self::LoadHeaderLength(_) => (false, true),
            Self::Alu(Alu::Div | Alu::Mod, Source::Register(_)) => (false, true),
            _ => (false, false),
        }
    }

    fn reads(self, register: Register) -> bool {
        let from = |source| source == Source::Register(register);
        let is_a = register == Register::A;
        match self {
            Self::Load(_, base, _) => base == Base::X && !is_a,
            Self::Set(_, source) | Self::Return(source) => from(source),
            Self::Store(stored, _) => stored == register,
            Self::Alu(_, source) => is_a || from(source),
            Self::Negate => is_a,
            Self::JumpIf { right, .. } => is_a || from(right),
            Self::LoadHeaderLength(_) | Self::Jump(_) => false,
        }
    }
}

const fn reg(register: Register) -> Reg {
    match register {
        Register::A => R0,
        Register::X => R1,
    }
}

/// The condition that holds when `cond` does not, where there is one.
const fn inverse(cond: Cond) -> Option<Cond> {
    match cond {
        Cond::Eq => Some(Cond::Ne),
        Cond::Gt => Some(Cond::Le),
        Cond::Ge => Some(Cond::Lt),
        _ => None,
    }
}

/// Length of the longest IPv4 header, which is the maximum of X where it is small.
const LONGEST_HEADER: u32 = 60;
