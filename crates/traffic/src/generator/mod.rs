//! `Generator`: programs on live frames, on the processors that they were given, at a rate.

mod config;
mod report;

pub use config::{Action, Config, Load, Rewrite};
pub use report::{Fault, Pacing, Report, Snapshot, ThreadReport};
