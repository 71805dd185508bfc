//! The rule language: rules, fields, values and sets as Rust values; rule text, rule files, lint.
//!
//! Rule: this module depends on nothing else in this crate except the layouts of the program
//! (`abi`). Not here: the meaning of a rule for a packet (`model`), and its code (`compile`).

pub mod bounds;
pub mod classic;
mod field;
pub mod file;
pub mod lint;
pub(crate) mod names;
mod policies;
mod required_headers;
mod rule;
mod sets;
pub mod text;
mod values;

pub use field::{Family, Field, PacketFields};
pub use file::File;
pub use policies::Policies;
pub use required_headers::Needs;
pub use rule::{
    Action, Addresses, Base, Expression, Limit, Payload, Per, Redirect, Rule, Ruleset, Side,
    SynProxy, Test, Total, Unit,
};
pub use sets::{Compile, Scope, Set, Sets, Source};
pub use values::Values;
