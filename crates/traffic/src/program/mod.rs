//! The programs that are run on live frames: made from templates, by `spec::asm`.
//!
//! One program is made for each thread, so that its state needs no per-CPU maps. For each frame it
//! does these things, and leaves out what its [`Job`] does not need:
//!
//! ```text
//! limit, hold ─▶ wait until the group is due ─▶ which stream ─▶ draw numbers ─▶ write fields,
//! lengths, stamp, checksums ─▶ count ─▶ shorten ─▶ redirect
//! ```
//! Rule: what a program writes is what [`Template::render`](crate::Template::render) says.
//! Not here: loading and running (`generator`).

pub mod abi;
mod compile;
mod job;

pub use compile::compile;
pub use job::{Clock, Exit, Gaps, Job, Made};
