//! Verdicts acted on: where a packet goes, with the programs of devmap and cpumap entries.
//!
//! Rule: what the kernel would do with the frame is what comes out: a [`Run`] lists each copy
//! that reached a [`Port`] and each that was lost, with a named [`Reason`]. Programs behind a
//! redirect run at once and in order, on the worker that redirected; a cpumap's under the number
//! of its own processor, so that a machine whose cpumap programs count per processor is run by one
//! worker at a time.
//! Not here: the helpers that choose a target (`helpers::redirect`), what maps hold.

mod act;
mod outcome;
mod reason;

pub use outcome::{Loss, Output, Port, Run};
pub use reason::Reason;
