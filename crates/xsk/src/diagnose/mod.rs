//! Explains why the kernel rejected a call, and what to change.
//!
//! Rule: it is used after a failure, never on the packet path. [`advice`] is a table that depends
//! only on its arguments, the [`Environment`]; [`busy`] finds the holders of a queue.

mod advice;
mod busy;
mod environment;
mod explain;
mod holder;
mod memory;
mod sockets;

pub use advice::advice;
pub use busy::busy;
pub use environment::{Attempt, Environment, Kernel};
pub use explain::explain;
pub use holder::{Holder, QueueHolders, holders};
pub use sockets::{HeldQueue, Sockets, sockets};
