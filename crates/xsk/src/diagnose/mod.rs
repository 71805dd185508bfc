//! Why the kernel refused something, and what to change: the answers that a bare errno keeps back.
//!
//! Rule: this is asked after a failure, never on the packet path. [`advice`] is a table that looks
//! at nothing but its arguments; [`Facts`] gathers what it needs, [`busy`] asks who is in the way.

mod advice;
mod busy;
mod explain;
mod facts;
mod holder;
mod memory;
mod sockets;

pub use advice::advice;
pub use busy::busy;
pub use explain::explain;
pub use facts::{Attempt, Facts, Kernel};
pub use holder::{Holder, QueueHolders, holders};
pub use sockets::{HeldQueue, Sockets, sockets};
