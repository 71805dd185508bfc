//! Balancers that share clients send each other what their files do not state: which flows are
//! remembered, and which backends slots had before.
//!
//! [`wire`] is the format, [`Key`] seals and opens datagrams, [`Session`] refuses those that are
//! not fresh, [`merge`] decides about a flow of a peer, [`News`] finds what to send, and
//! [`history`] is about former backends. Nothing here does I/O: `control::balance::sync` has the
//! socket and the clock. `docs/balance-sync.md` describes the protocol.

pub mod history;
mod inherit;
mod merge;
mod news;
mod seal;
mod session;
#[cfg(test)]
mod tests;
mod window;
pub mod wire;

use super::memory::{FLOW, LIFE, NOTE, TIME, YOUNG};
pub use super::memory::{Flow, now_units};
pub use inherit::{inherit, needs};
pub use merge::{CellMemory, Merged, copies, merge};
pub use news::News;
pub use seal::{Key, WeakKey};
pub use session::{Accepted, Session};
pub use wire::{Refused, open};

/// `BALANCER_WAYS`.
const WAYS: usize = 8;
