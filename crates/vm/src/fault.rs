//! Faults: what stopped a program at run time, with instruction and source line.
//!
//! Rule: a fault is the program's error, with the place where it happened; it never stands for a
//! broken invariant of this crate (those assert). Programs that the kernel accepts raise none.

use std::fmt;

use crate::limits::CHAIN;

/// Why a run ended without a verdict. Functions return it boxed, to keep their results small.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What the program did wrong.
    pub cause: Cause,
    /// Where; filled in by the interpreter, which alone knows the instruction.
    pub site: Option<Site>,
}

/// What a program did wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Cause {
    /// A load or store outside the memory that the program may use.
    #[error("{} {len} bytes at {address:#x}: {why}", if *.write { "writes" } else { "reads" })]
    Access { address: u64, len: usize, write: bool, why: String },
    /// An argument that the kernel's verifier would not accept, counted from 1.
    #[error("argument {argument} of {function}: {why}")]
    Argument { function: String, argument: u8, why: String },
    /// An instruction that can be loaded but must not be executed.
    #[error(transparent)]
    Trap(Trap),
    /// A call through a register whose value is not a function.
    #[error("{address:#x} is not a function")]
    CallTarget { address: u64 },
    /// A callback to a value that is not a function.
    #[error("calls back {address:#x}, which is not a function")]
    CallbackTarget { address: u64 },
    /// A tail call while a callback runs.
    #[error("a callback cannot make a tail call")]
    TailCallInCallback,
    /// `bpf_spin_lock` while a lock is held.
    #[error("bpf_spin_lock: a lock is already held")]
    LockHeld,
    /// The holder of a `bpf_spin_lock` does not release it.
    #[error("bpf_spin_lock: the lock is never released")]
    LockTimeout,
    /// The end of a section that was not begun.
    #[error("{function}: the section was not entered")]
    SectionNotEntered { function: &'static str },
    /// `bpf_throw`; the worker turns it into the result of the run.
    #[error("bpf_throw")]
    Thrown,
    /// A place that the compiler considers unreachable.
    #[error("__bpf_trap: an uninitialized variable or a missing return")]
    Unreachable,
    /// A map whose keys cannot be lent to a callback.
    #[error("a key of {len} bytes is too long for a callback")]
    KeyTooLong { len: usize },
    /// The limit of objects that are lent to a program.
    #[error("too many objects are lent to the program")]
    TooManyObjects,
    /// The limit of ring buffer records that are open.
    #[error("too many records are open")]
    TooManyRecords,
    /// The program gives away an object that it does not own.
    #[error("{object} is not owned by the program")]
    NotOwned { object: String },
    /// The links of a tree form a cycle.
    #[error("the tree contains a cycle")]
    TreeCycle,
    /// A resource that the program still holds at its end.
    #[error("at the end of the program {0}")]
    Leak(Leak),
    /// The call depth is exhausted.
    #[error("the call depth of {CHAIN} functions is exhausted")]
    Depth,
    /// The budget of instructions is exhausted.
    #[error("still running after {budget} instructions")]
    Endless { budget: u64 },
    /// The caller stopped the run.
    #[error("interrupted")]
    Interrupted,
}

/// An instruction that can be loaded but must not be executed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trap {
    #[error("the second half of a 64-bit load is not an instruction")]
    WideLoad,
    #[error("control reaches the end of the program without an exit")]
    End,
    /// A relocation that the target's types do not resolve; holds the field.
    #[error("unresolved field: {0}")]
    UnresolvedField(String),
    /// A weak kernel function that does not exist; holds its name.
    #[error("calls {0}, which does not exist")]
    MissingFunction(String),
    #[error("{0}")]
    NotLoaded(SkipReason),
}

/// Why a program of the object is not loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SkipReason {
    #[error("programs of type {kind} are not supported; expected xdp")]
    ProgramType { kind: &'static str },
    #[error("only other programs were requested by name")]
    NotRequested,
    #[error("it is loaded only when it is requested by name")]
    NoAutoload,
}

/// A resource that a program must release before it ends.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Leak {
    #[error("a reference to a {kind} is not released")]
    Reference { kind: &'static str },
    #[error("an allocated object is not dropped")]
    Object,
    #[error("a record is reserved and neither submitted nor discarded")]
    Record,
    #[error("{lock} is still locked")]
    Lock { lock: String },
    #[error("a section with preemption, interrupts or RCU held is not left")]
    Section,
}

/// The instruction at which a program was stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Site {
    /// Name of the program.
    pub program: String,
    /// Name of the function that holds the instruction.
    pub function: String,
    /// Slot of the instruction in the program.
    pub slot: usize,
    /// The disassembled instruction.
    pub insn: String,
    /// The register that held the address, for faults of an access.
    pub register: Option<u8>,
    /// File, line and text, for objects with line information.
    pub source: Option<(String, u32, String)>,
}

impl Fault {
    /// A fault whose instruction is not known yet.
    #[cold]
    pub fn new(cause: Cause) -> Box<Self> {
        Box::new(Self { cause, site: None })
    }
}

impl std::error::Error for Fault {}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(site) = &self.site else {
            return write!(f, "{}", self.cause);
        };
        write!(f, "`{}` instruction {}: `{}`", site.function, site.slot, site.insn)?;
        if let Some(register) = site.register {
            write!(f, " (r{register})")?;
        }
        write!(f, ": {}", self.cause)?;
        if let Some((file, line, text)) = &site.source {
            write!(f, "\n  {file}:{line}: {}", text.trim())?;
        }
        Ok(())
    }
}
