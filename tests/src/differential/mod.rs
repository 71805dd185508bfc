//! Random valid programs on random packets, kernel against engine.
//!
//! A seed gives a [`Case`]: an object with one to three programs and several maps, and packets.
//! Both arms run it, and verdicts, bytes, metadata and the maps' contents must agree; the first
//! difference is made small and listed. Rule: nothing in a case depends on addresses, clocks,
//! unspecified orders or uninitialized memory, so every difference is a defect.
//! Not here: programs written by hand, or by others (`tests/vm_objects.rs`).

mod arms;
mod campaign;
mod case;
mod compare;
mod maps;
pub mod packets;
pub mod rng;
mod shrink;
mod state;
mod tally;
mod touch;
mod writer;

pub use arms::{Arms, Contents, Failure, Fill, Job, Ran, Seen};
pub use campaign::{Finding, Report, text};
pub use case::Case;
pub use compare::{Judgement, difference, hex};
pub use rng::Rng;
pub use tally::Tally;
pub use touch::{Act, Answer, Touch};
