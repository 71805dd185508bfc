//! Packet filter: ordered rules, compiled to an XDP program. The first rule that matches and has a
//! verdict decides.
//!
//! ```text
//!  text, file ──▶ Ruleset ──▶ plan: classes, tables ──▶ code ──▶ Spec     (the program)
//!                    │                                                       same answer
//!                    └──────▶ model: facts of a packet, rule by rule         (plain Rust)
//! ```
//!
//! The program is `bpf/filter/filter.bpf.c`, with code generated from the rules in the place of its
//! `filter_match()`. Rule: the model and the program give the same answer for any bytes, and tests
//! hold them to it. Not here: loading, attaching, and which interface a program runs on.
#![forbid(unsafe_code)]

pub mod abi;
pub mod act;
pub mod ban;
pub mod carried;
pub mod classic;
pub mod code;
mod compile;
pub mod detect;
pub mod export;
mod field;
pub mod file;
pub mod import;
pub mod limit;
pub mod limits;
#[cfg(test)]
mod linear_tests;
pub mod lint;
pub mod model;
mod needs;
pub mod plan;
mod policy;
pub mod read;
mod rule;
pub mod sample;
mod sets;
mod syn;
pub mod talkers;
pub mod text;
pub mod trial;
mod unique;
mod values;
pub mod watch;

pub use abi::{Policy, Reason};
pub use carried::Carried;
pub use compile::{Compiled, Environment, Error, Form, compile};
pub use field::{Facts, Family, Field, Place};
pub use file::File;
pub use model::{Judgement, Model};
pub use needs::Needs;
pub use policy::Policies;
pub use read::{Frame, Reading, read};
pub use rule::{
    Action, Addresses, Base, Expression, Limit, Payload, Per, Redirect, Rule, Ruleset, Side,
    SynProxy, Test, Total, Unit,
};
pub use sets::{Compile, Scope, Set, Sets, Source};
pub use syn::{Listeners, Unfit};
pub use values::Values;

/// The compiled program, without rules.
pub const OBJECT: &[u8] = include_bytes!("../../../bpf/prebuilt/filter.o");
/// The program's name in the object, and that for frames of several buffers.
pub const PROGRAM: &str = "xway_filter";
pub const PROGRAM_FRAGS: &str = "xway_filter_frags";
/// The function whose place generated code takes.
pub const MATCH: &str = "filter_match";
/// Function that reads headers.
pub const READ: &str = "filter_read";
/// What generated code calls for a rule that matches and does not decide.
pub const EFFECT: &str = "filter_effect";
