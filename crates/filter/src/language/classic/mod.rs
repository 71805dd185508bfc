//! Classic BPF, the language that libpcap makes of tcpdump expressions: checked, run, translated.
//!
//! ```text
//!  instructions ──check──▶ Program ──▶ matches(frame)          (plain Rust, the model)
//!                                  ──▶ append to an assembler  (what the kernel runs)
//! ```
//!
//! Rule: a [`Program`] can only be right: every jump leads forward and stays inside, the last
//! instruction returns, memory is written before it is read, nothing divides by a constant zero.
//! So neither half has a case for what is wrong. A load behind the packet's end is "no match".
//! Not here: the compiler (`sys::pcap`).

mod check;
mod code;
mod flow;
mod run;

pub use check::Error;
pub use code::Site;

use spec::asm::{Alu, Cond, Size};

/// An instruction as in `struct bpf_insn` of libpcap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Classic {
    pub code: u16,
    pub jump_true: u8,
    pub jump_false: u8,
    pub k: u32,
}

/// A program that was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program(Vec<Op>);

/// What an instruction does. Targets of jumps are places in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    /// A = bytes of the packet, in network order.
    Load(Size, Base, u32),
    /// X = 4 * (the low half of a byte of the packet): the length of an IPv4 header.
    LoadHeaderLength(u32),
    Set(Register, Source),
    Store(Register, u8),
    /// A = A op what.
    Alu(Alu, Source),
    Negate,
    Jump(usize),
    JumpIf {
        cond: Cond,
        right: Source,
        yes: usize,
        no: usize,
    },
    /// Ends; the packet matches unless it is 0.
    Return(Source),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Register {
    A,
    X,
}

/// Where the offset of a load counts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Base {
    Frame,
    X,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Constant(u32),
    Register(Register),
    Memory(u8),
    /// Bytes of the frame.
    Length,
}

impl Program {
    /// # Errors
    /// The first instruction that is wrong, or that asks for what a packet does not tell.
    pub fn new(instructions: &[Classic]) -> Result<Self, Error> {
        check::check(instructions).map(Self)
    }

    /// Whether it has the word memory, which the translation keeps on the stack.
    pub fn has_memory(&self) -> bool {
        self.0.iter().any(|op| matches!(op, Op::Store(..)))
    }

    /// Instructions.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Never: a program returns.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Op {
    /// Where it may go on: at most two places.
    fn next(self, at: usize) -> impl Iterator<Item = usize> {
        let (first, second) = match self {
            Self::Return(_) => (None, None),
            Self::Jump(to) => (Some(to), None),
            Self::JumpIf { yes, no, .. } => (Some(yes), Some(no)),
            _ => (Some(at + 1), None),
        };
        first.into_iter().chain(second)
    }
}

/// Words of memory.
const WORDS: u32 = 16;
/// Bytes of a load.
const fn bytes(size: Size) -> u32 {
    match size {
        Size::Byte => 1,
        Size::Half => 2,
        Size::Word => 4,
        Size::Double => 8,
    }
}

#[cfg(test)]
mod tests;
