//! What an assembled program can be wrong about. All of it is the generating code's to mend.

use thiserror::Error;

/// A mistake in a generated program.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("program \"{program}\": {fault}")]
pub struct Error {
    /// Name of the program.
    pub program: String,
    /// The mistake.
    pub fault: Fault,
}

/// The first mistake of a program. Labels count from 0 in the order of their creation.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    #[error("no instructions")]
    Empty,
    #[error("label {label}, used at slot {slot}, is never bound")]
    Unbound { label: usize, slot: usize },
    #[error("label {label} is bound at slot {first} and again at slot {again}")]
    BoundTwice { label: usize, first: usize, again: usize },
    #[error("label {label} is of another assembler")]
    Foreign { label: usize },
    #[error("label {label}, used at slot {slot}, is bound after the last instruction")]
    PastEnd { label: usize, slot: usize },
    #[error("the jump at slot {slot} spans {distance} slots, more than 16 bits hold: use jump_far")]
    TooFar { slot: usize, distance: i64 },
    #[error("the jump at slot {slot} leaves its function for slot {target}")]
    LeavesFunction { slot: usize, target: usize },
    #[error("slot {slot} calls slot {target}, where no function begins")]
    NoFunction { slot: usize, target: usize },
    #[error("slot {slot} calls function \"{name}\", which is not there")]
    UnknownFunction { slot: usize, name: String },
    #[error("function \"{name}\" has no instructions")]
    EmptyFunction { name: String },
    #[error("slot {slot} uses map \"{name}\", which is not declared")]
    UnknownMap { slot: usize, name: String },
    #[error("slot {slot} uses map number {index} of {count}")]
    NoSuchMap { slot: usize, index: usize, count: usize },
    #[error(
        "slot {slot} addresses byte {offset} of map \"{name}\", which has no fixed value there"
    )]
    OutsideValue { slot: usize, name: String, offset: u32 },
    #[error("two programs have this name")]
    NameTaken,
    #[error("its types cannot be built: {0}")]
    Types(Box<crate::Error>),
}
