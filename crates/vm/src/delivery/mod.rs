//! Delivery of packets according to their verdicts, with the programs of devmap and cpumap entries.
//!
//! Rule: a packet is delivered as in the kernel. A [`Run`] lists each copy that reached a [`Port`]
//! and each that was lost, with a named [`Reason`]. Programs after a redirect run immediately and
//! in order, on the worker that redirected; a cpumap program runs under the number of its own
//! processor, so that a machine whose cpumap programs count per processor must be run by one worker
//! at a time.
//! Not here: the helpers that choose a target (`helpers::redirect`), the contents of maps.

mod act;
mod outcome;
mod reason;

pub use outcome::{Loss, Output, Port, Run};
pub use reason::Reason;
