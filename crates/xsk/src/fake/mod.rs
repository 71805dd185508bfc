//! A kernel that is a value: sockets over rings on the heap, whose other side a test holds, well
//! behaved or hostile. Only with `cfg(test)` and when fuzzing; nothing here makes a system call,
//! so that checkers of memory can watch (see CONTRIBUTING.md).
//!
//! What is not here: what a real kernel does, which the tests in namespaces show.

mod campaign;
mod kernel;
#[cfg(test)]
mod tests;
mod world;

pub use campaign::campaign;
pub(crate) use kernel::{Answer, Kernel, Line, Registered, State};
pub(crate) use world::World;
