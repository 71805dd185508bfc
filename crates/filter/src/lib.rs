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
pub mod compile;
pub mod import_export;
pub mod language;
#[cfg(test)]
mod linear_tests;
pub mod maps;
pub mod model;
pub mod runtime;

pub use abi::{Policy, Reason};
pub use compile::{
    Compiled, Environment, Error, FieldLocation, Form, Listeners, Unsupported, compile,
};
pub use language::{
    Action, Addresses, Base, Compile, Expression, Family, Field, File, Limit, Needs, PacketFields,
    Payload, Per, Policies, Redirect, Rule, Ruleset, Scope, Set, Sets, Side, Source, SynProxy,
    Test, Total, Unit, Values,
};
pub use model::{Frame, Judgement, Model, Reading, read};
pub use runtime::carried_counts::Carried;

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
