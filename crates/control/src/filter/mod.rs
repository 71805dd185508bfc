//! Filters on interfaces: loading, changing and reading rules, trials, and sampling of packets.
//!
//! [`Update`](update::Update) holds the writers' lock of one interface and loads rules;
//! [`ActiveFilter`](active::ActiveFilter) reads the filter that runs, without a lock. Both find it
//! through its pins. The rules themselves, and the program made of them, are in the crate `filter`.

pub mod active;
pub mod auto_detection;
pub mod bans;
pub(crate) mod chained;
pub mod check;
mod clock;
pub mod comparison;
pub mod detection;
pub mod detector;
mod edit;
pub mod explanation;
pub(crate) mod globals;
mod handover;
pub mod limits;
mod listeners;
mod load;
mod maps;
pub mod memory;
pub mod monitor;
pub mod observation;
mod pair;
pub mod report;
pub mod ruleset;
pub mod sample_reader;
pub mod sampler;
pub mod samples;
pub mod source;
pub mod temporary;
pub mod top;
pub mod trial;
pub mod update;

pub use crate::error::no_filter;
pub use clock::Clock;
pub use load::{ApplyOptions, FilterPlacement, LoadReport, LoadTimings};
