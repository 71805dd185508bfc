//! What the generator knows of registers: enough to write only what the verifier accepts.
//!
//! Rule: a state never claims more than holds on every path that leads to where it is. Pointers
//! never become numbers, or runs would differ by addresses.

use spec::asm::Reg;

/// What is in a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Unset,
    Scalar,
    /// Into the packet or its metadata, with the number of bytes after it.
    Packet {
        len: u16,
    },
    /// Into a value of a map, with the number of bytes after it and the offset modulo eight, if
    /// that is known.
    Value {
        map: usize,
        len: u16,
        skew: Option<u8>,
    },
    /// Into numbers on a stack, eight-byte aligned.
    Memory {
        len: u16,
    },
}

impl Kind {
    /// Bytes that may be read and written after it.
    pub fn len(self) -> u16 {
        match self {
            Self::Unset | Self::Scalar => 0,
            Self::Packet { len } | Self::Value { len, .. } | Self::Memory { len } => len,
        }
    }

    /// Whether it may point to a place on the stack that only the run decides: helpers and atomic
    /// steps do not take that.
    pub fn is_undecided(self) -> bool {
        matches!(self, Self::Memory { len: ..=8 })
    }

    /// What is left of it `by` bytes further.
    pub fn behind(self, by: u16) -> Self {
        match self {
            Self::Packet { len } => Self::Packet { len: len - by },
            Self::Value { map, len, skew } => {
                let skew = skew.map(|skew| ((u16::from(skew) + by) % 8) as u8);
                Self::Value { map, len: len - by, skew }
            }
            Self::Memory { len } => Self::Memory { len: len - by },
            other => other,
        }
    }

    fn meet(self, other: Self) -> Self {
        match (self, other) {
            (a, b) if a == b => a,
            (Self::Packet { len: a }, Self::Packet { len: b }) => Self::Packet { len: a.min(b) },
            _ => Self::Unset,
        }
    }
}

/// Registers that programs may write.
pub const REGISTERS: usize = 10;
/// Places on the stack where pointers are spilled.
pub const SPILLS: usize = 3;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    registers: [Kind; REGISTERS],
    spills: [Kind; SPILLS],
    /// Registers that must not be written: the context, counters of loops.
    held: u16,
    /// Registers that must not change, because they are live across a loop.
    fixed: u16,
}

impl State {
    pub fn new() -> Self {
        Self {
            registers: [Kind::Unset; REGISTERS],
            spills: [Kind::Unset; SPILLS],
            held: 0,
            fixed: 0,
        }
    }

    pub fn kind(&self, reg: Reg) -> Kind {
        self.registers[usize::from(reg.number())]
    }

    pub fn set(&mut self, reg: Reg, kind: Kind) {
        self.registers[usize::from(reg.number())] = kind;
    }

    pub fn spill(&self, slot: usize) -> Kind {
        self.spills[slot]
    }

    pub fn set_spill(&mut self, slot: usize, kind: Kind) {
        self.spills[slot] = kind;
    }

    pub fn hold(&mut self, reg: Reg) {
        self.held |= 1 << reg.number();
    }

    pub fn release(&mut self, reg: Reg) {
        self.held &= !(1 << reg.number());
    }

    /// Registers whose kind satisfies `wanted`.
    pub fn all(&self, wanted: impl Fn(Kind) -> bool) -> Vec<Reg> {
        Reg::ALL[..REGISTERS].iter().copied().filter(|reg| wanted(self.kind(*reg))).collect()
    }

    /// Registers that a number may be written to.
    pub fn open(&self) -> Vec<Reg> {
        let open = |reg: &Reg| {
            let bit = 1 << reg.number();
            let stays = self.fixed & bit != 0 && self.kind(*reg) != Kind::Scalar;
            self.held & bit == 0 && !stays
        };
        Reg::ALL[..REGISTERS].iter().copied().filter(open).collect()
    }

    /// Registers that a pointer may be written to.
    pub fn open_for_pointers(&self) -> Vec<Reg> {
        let open = |reg: &Reg| (self.held | self.fixed) & 1 << reg.number() == 0;
        Reg::ALL[..REGISTERS].iter().copied().filter(open).collect()
    }

    pub fn is_held(&self, reg: Reg) -> bool {
        self.held & 1 << reg.number() != 0
    }

    /// Whether the body of a loop is being written.
    pub fn in_loop(&self) -> bool {
        self.fixed != 0
    }

    /// After a call: what callees may overwrite is gone.
    pub fn called(&mut self) {
        self.registers[..6].fill(Kind::Unset);
    }

    /// Forgets pointers.
    pub fn forget(&mut self, which: impl Fn(Kind) -> bool) {
        for kind in self.registers.iter_mut().chain(&mut self.spills) {
            if which(*kind) {
                *kind = Kind::Unset;
            }
        }
    }

    /// The start of a loop's body; the end of the loop takes the answer back.
    pub fn enter_loop(&mut self) -> u16 {
        self.called();
        let before = self.fixed;
        for number in 6..REGISTERS {
            if self.registers[number] != Kind::Unset {
                self.fixed |= 1 << number;
            }
        }
        // A bit that no register has: a loop with nothing to keep is a loop too.
        self.fixed |= 1 << 15;
        before
    }

    pub fn leave_loop(&mut self, before: u16) {
        self.fixed = before;
    }

    /// What holds on both of two paths that meet.
    pub fn meet(&mut self, other: &Self) {
        let all = self.registers.iter_mut().zip(&other.registers);
        for (mine, theirs) in all.chain(self.spills.iter_mut().zip(&other.spills)) {
            *mine = mine.meet(*theirs);
        }
    }
}

impl Default for State {
    fn default() -> Self {
        Self::new()
    }
}
