//! The generator, the replayer and the sink.
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]

mod generator;
mod generator_faults;
mod generator_recycled;
mod ndr;
mod program;
mod replay;
mod scan;
mod sink;
mod tcp;

#[path = "../../../crates/traffic/src/program/fixture.rs"]
mod fixture;

// Where `fixture` looks for them.
use ::traffic::template;
mod stamp {
    pub use traffic::{Expect, Stamp};
}
