//! Health of backends: what a check sends and expects, and what its results mean.
//!
//! ```text
//!  Probe: one check ──▶ Result ──▶ Group: rise, fall, damping, limit ──▶ Transition
//! ```
//!
//! A check is a conversation of its own in user space, also where it is TCP: kernel sockets would
//! need a route to the service that leads to one backend, and would not get the answers where the
//! service's address is local (martian source) or `rp_filter` is strict. So there is no device, no
//! rule and no route to set up, and nothing is left of them after a crash. A connection takes four
//! segments and is reset by its first answer that decides.
//!
//! Rule: no clock, no socket and no randomness of its own; times count from any beginning that the
//! caller keeps. Not here: encapsulation (`outer`), sockets and maps.

mod config;
mod group;
mod probe;
mod reason;
mod stream;
#[cfg(test)]
mod tests;
mod wire;

pub use config::{Bytes, Check, Health, Http, Share, Statuses, Time, Udp};
pub use group::{Group, Member, State, Transition};
pub use probe::{Probe, Step};
pub use reason::{Outcome, Reason};
pub use wire::{Ends, Received};
