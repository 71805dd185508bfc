//! A simulated kernel: sockets whose rings are on the heap, with a test on the other side, which
//! behaves well or is hostile. Only with `cfg(test)` and when fuzzing. Nothing here makes a system
//! call, so that memory checkers can be used (see CONTRIBUTING.md).
//!
//! Not here: the behavior of a real kernel, which the tests in namespaces cover.

mod campaign;
mod kernel;
#[cfg(test)]
mod tests;
mod world;

pub use campaign::campaign;
pub(crate) use kernel::{Answer, Kernel, Line, Registered, State};
pub(crate) use world::World;
