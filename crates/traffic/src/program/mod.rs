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
