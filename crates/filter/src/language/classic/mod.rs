//! Classic BPF, to which libpcap compiles tcpdump expressions: checked, run and translated.
//!
//! ```text
//!  instructions ──check──▶ Program ──▶ matches(frame)          (plain Rust, the model)
//!                                  ──▶ append to an assembler  (what the kernel runs)
//! ```
//!
//! Rule: a [`Program`] is always valid: every jump leads forward within it, the last
//! instruction returns, memory is written before it is read, no division is by a constant zero. A
//! load beyond the end of the packet fails the match. Not here: the compiler (`sys::pcap`).

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

/// A valid program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program(Vec<Op>);

/// An instruction. The targets of jumps are indices of instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    /// Sets A to bytes of the packet, in network byte order.
    Load(Size, Base, u32),
    /// Sets X to four times the low half of a byte of the packet: the length of an IPv4 header.
    LoadHeaderLength(u32),
    Set(Register, Source),
    Store(Register, u8),
    /// Applies an operation to A.
    Alu(Alu, Source),
    Negate,
    Jump(usize),
    JumpIf {
        cond: Cond,
        right: Source,
        yes: usize,
        no: usize,
    },
    /// Ends the program; the packet matches unless the value is 0.
    Return(Source),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Register {
    A,
    X,
}

/// The base of the offset of a load.
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
    /// Checks the instructions of a program.
    ///
    /// # Errors
    /// The first instruction that is not valid, or that needs more than the packet.
    pub fn new(instructions: &[Classic]) -> Result<Self, Error> {
        check::check(instructions).map(Self)
    }

    /// Whether it uses memory words, which the translation keeps on the stack.
    pub fn has_memory(&self) -> bool {
        self.0.iter().any(|op| matches!(op, Op::Store(..)))
    }

    /// The number of instructions.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Always `false`: a program has at least one instruction.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Op {
    /// The instructions that may follow: at most two.
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

/// The number of memory words.
const WORDS: u32 = 16;
/// The length of a load in bytes.
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
