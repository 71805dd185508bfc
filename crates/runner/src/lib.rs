//! `xway-runner`: runs a program of a BPF object over a capture, in the engine or in the kernel,
//! without an interface: verdicts, bytes, map contents, rates, coverage, and the path of a packet.
//!
//! ```no_run
//! use runner::{Callbacks, Job, Options};
//!
//! let options = Options {
//!     object: "firewall.o".to_owned(),
//!     input: "monday.pcap".into(),
//!     ..Options::default()
//! };
//! let report = Job::open(&options, Callbacks::default())?.run()?;
//! for (verdict, counted) in &report.tally.verdicts {
//!     println!("{verdict}: {} packets", counted.packets);
//! }
//! # Ok::<(), runner::Error>(())
//! ```
//!
//! A [`Job`] is opened with [`Options`] and [`Callbacks`] and used once: [`Job::run`] counts,
//! [`Job::compare`] runs kernel and engine side by side, [`Job::explain`] and [`Job::trace`] show
//! what the program does. The results serialize as `xway run --json` prints them.
//!
//! Rule: nothing is attached, and nothing of the system is changed. This crate prints nothing,
//! handles no signals ([`Interrupt`]), and writes only the captures that [`Options::out`] asks for.
//! The same objects, packets and environment give the same result in the engine. ARCHITECTURE.md
//! shows the place of the crate in the workspace.
#![forbid(unsafe_code)]

mod arm;
mod callbacks;
mod compare;
mod configure;
mod cover;
pub mod debug;
mod difference;
mod entries;
mod error;
mod events;
mod explain;
pub mod fixtures;
mod input;
mod interrupt;
mod job;
mod lcov;
mod maps;
mod measure;
mod nature;
mod notice;
mod options;
mod outputs;
mod pair;
mod results;
mod setup;
mod tally;
mod testable;
mod trace;

pub use callbacks::{Callbacks, Progress};
pub use error::{Error, Result};
pub use interrupt::Interrupt;
pub use job::Job;
pub use lcov::lcov;
pub use notice::Notice;
pub use options::{Options, Runtime};
pub use pcap::LinkPolicy;
pub use results::{
    BranchCounts, Counted, Covered, CoveredFunction, CoveredInsn, CoveredLine, Difference, Event,
    Events, Explanation, FieldChange, FirstFault, Item, MapChange, NotCompared, Rates, Report,
    StepEffect, Tallied, Traced, Unfit, What,
};
