//! Packet filter: ordered rules, compiled to an XDP program.
//!
//! The first rule that matches a packet and has a verdict decides; other rules count, limit,
//! sample or mark it. The program is `bpf/filter/filter.bpf.c`; code generated from the rules
//! replaces its function `filter_match()`.
//!
//! ```text
//!  text, file ─▶ language ─▶ compile ─▶ Spec ─▶ (load) ─▶ runtime: maps of the loaded program
//!                   │  ▲
//!                   │  └──── import_export: nftables, BGP FlowSpec
//!                   └──────▶ model: the same decision in plain Rust
//! ```
//!
//! Rule: the model and the program give the same answer for any bytes, and tests enforce it.
//! Not here: loading and attaching a program, which is `xway-control`.
//!
//! # Example
//!
//! ```
//! use std::path::Path;
//!
//! use filter::{Environment, File, Frame, Model, compile};
//! use spec::Verdict;
//!
//! let text = "rules = ['dns: limit 5pps per source udp dport 53', 'web: drop tcp dport 80']";
//! let file = File::parse("rules.toml", text, Path::new(""), |_| Err("unused".to_owned()))?;
//!
//! // The XDP program for these rules, ready to be loaded.
//! let compiled = compile(&file.ruleset, &Environment::default())?;
//! assert_eq!(compiled.names, ["dns", "web"]);
//!
//! // The decision of the program, in plain Rust.
//! let frame = Frame { bytes: &[0; 60], ..Frame::default() };
//! let judgement = Model::new(&file.ruleset, |_| None).judge(&frame, 0);
//! assert_eq!((judgement.verdict, judgement.rule), (Verdict::Pass, None));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Modules
//!
//! | module | content | uses |
//! |---|---|---|
//! | [`language`] | rules, values, sets, policies, rule text, rule files, lint | |
//! | [`import_export`] | rules from and for nftables and BGP FlowSpec; removable | `language` |
//! | [`model`] | headers and decisions in plain Rust, the reference for tests | `language` |
//! | [`compile`] | rules to a [`Spec`](spec::Spec): plan, code, globals, sizes of maps | `language`
//! |
//! | [`runtime`] | counters, limits, bans, samples and trials of a loaded program | all above |
//! | [`maps`], [`abi`] | names and layouts that the C program shares | |
//!
//! The crate has no optional features. The rule language is described in `docs/filter.md`.
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
pub static OBJECT: &[u8] = include_bytes!("../../../bpf/prebuilt/filter.o");
/// Name of the program in the object.
pub const PROGRAM: &str = "xway_filter";
/// Name of the program for frames of several buffers.
pub const PROGRAM_FRAGS: &str = "xway_filter_frags";
/// Name of the function that generated code replaces.
pub const MATCH: &str = "filter_match";
/// Name of the function that reads headers.
pub const READ: &str = "filter_read";
/// Name of the function that generated code calls for a rule that matches and does not decide.
pub const EFFECT: &str = "filter_effect";
