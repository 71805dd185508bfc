//! What every peer shares: arguments, roles, frames, the report. A peer is a [`Port`] and a
//! [`Bridge`] in `src/bin/`, and is measured by the same loops as all others (`roles`).
//!
//! Rule: a library is used as its own examples use it; nothing here makes it faster or slower.
//! `c/libxdp.c` is its counterpart in C. Not here: what starts them, what is compared
//! (`crates/bench/src/micro/xsk`).

pub mod cpu;
pub mod frame;
pub mod kernel;
pub mod options;
pub mod port;
pub mod report;
mod roles;

pub use options::{Options, Role, Wait};
pub use port::{Bridge, Dropped, Port};
pub use roles::{ask, main};
