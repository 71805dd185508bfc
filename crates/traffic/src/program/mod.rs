//! Generates the programs for live frames from templates, with `spec::asm`.
//!
//! Each thread has a program of its own, so that its state needs no per-CPU maps. For each frame a
//! program executes these steps, without those that its [`Job`] does not need:
//!
//! ```text
//! limit, hold ─▶ wait until the group is due ─▶ which stream ─▶ draw numbers ─▶ write fields,
//! lengths, stamp, checksums ─▶ count ─▶ shorten ─▶ redirect
//! ```
//! Rule: a program writes the bytes that [`Template::render`](crate::Template::render) defines.
//! `generator` loads and runs programs.

pub mod abi;
mod alias;
mod checksum;
mod compile;
mod draft;
mod draw;
mod erlang;
mod fields;
#[cfg(test)]
mod fixture;
mod gate;
mod image;
mod job;
mod mix;
mod pace;
mod preview;
mod random;
mod replay;
mod shape;
mod sizes;
mod stamp;
mod stream;
#[cfg(test)]
mod tests;

pub use compile::compile;
pub use job::{Clock, Exit, Gaps, Job, Made};
pub use preview::{Frames, Planned};
pub use replay::{ReplayJob, replay};
