//! The control plane: which programs run on an interface, who owns them, and how they change.
//!
//! ```text
//!  Control ──▶ attach, detach, drop, route    one call each: load, replace in one step, keep
//!     │
//!     ├──────▶ balance   services and backends, changed while connections exist
//!     ├──────▶ backend   tunnels of balancers, opened on backends
//!     ├──────▶ filter    Update (change rules), ActiveFilter (read), monitor, trial, sampler
//!     ├──────▶ confirmation  changes that are undone unless they are confirmed
//!     ├──────▶ apply    interfaces as files declare them
//!     ├──────▶ chain    several programs on one interface; adopts those of libxdp
//!     ├──────▶ capture  packets before and after the programs, to files
//!     ├──────▶ losses   lost frames by cause, with remedies
//!     ├──────▶ lockout  changes that would end the operator's own session
//!     ├──────▶ status    interfaces, programs, rates by verdict
//!     ├──────▶ overview  interfaces, programs, queues and processors, with rates
//!     ├──────▶ doctor    what this kernel and this user allow
//!     └──────▶ host      the live host as a world for the engine
//!
//!  inventory   programs and maps of any owner      check   the verifier's results for an object
//!  assignment  entries of maps set field by field
//!  maps        changes of maps of any owner        object  opening an object by name
//!  folder      files that the user asked for
//! ```
//!
//! ```no_run
//! use control::Control;
//! use control::filter::ApplyOptions;
//! use control::filter::source::read;
//! use control::filter::update::Update;
//!
//! # fn main() -> Result<(), control::Error> {
//! let control = Control::new("/run/xway").with_observer(|notice| eprintln!("{notice}"));
//! let file = read("rules.toml".as_ref())?;
//! let report = Update::begin(&control, "eth0")?.apply(&file, &ApplyOptions::default())?;
//! println!("{} rules in {} mode", report.rules.len(), report.mode);
//! # Ok(())
//! # }
//! ```
//!
//! Everything that remains attached is pinned below a state directory ([`Control::new`]), where any
//! later process finds it. Rule: a change is prepared beside the running program and takes effect
//! in one step; a process that is killed at any point leaves the old or the new program complete.
//! This crate prints nothing, starts a thread only on request ([`metrics::Endpoint`]), and reports
//! events that are not errors as a [`Notice`].
//!
//! # Features
//!
//! None. Linux 5.15 or newer; an [`Error`] for lack of rights names the missing capabilities.
//!
//! # Guide
//!
//! `crates/control/README.md` explains how attached programs are found again, `docs/state.md` the
//! state directory and the capabilities of each operation, `docs/configuration.md` declarations.
//! `examples/08-filter.rs` loads, reads, changes and unloads a filter.
//!
//! # Modules
//!
//! Modules depend on each other in this order: `error`; `state` (pins, locks, records); `object`,
//! `counters` and `rates`; `lockout`, `deadline` and `dispatcher` (of
//! libxdp); `target`, `record` and `tags` (an interface that is being changed); `attach`;
//! then the functions `drop`, `route`, `balance`, `backend` and `filter`; `apply`, which calls them
//! for a `declaration`; what reads them, `snapshot`, `status`, `overview` and `metrics`; and
//! `daemon`.
#![forbid(unsafe_code)]

mod adoption;
pub mod apply;
pub mod assembly;
pub mod assignment;
pub mod attach;
pub mod backend;
pub mod balance;
pub mod capture;
pub mod chain;
pub mod check;
mod composition;
pub mod confirmation;
pub mod counters;
pub mod daemon;
mod deadline;
pub mod declaration;
mod detach;
pub mod detection;
mod dispatcher;
pub mod doctor;
pub mod drop;
pub mod error;
pub mod filter;
pub mod folder;
pub mod hits;
pub mod host;
pub mod inventory;
pub mod lockout;
pub mod losses;
mod map_names;
pub mod maps;
pub mod member;
pub mod memory;
pub mod metrics;
mod notice;
pub mod object;
pub mod overview;
pub mod rates;
pub mod record;
pub mod route;
pub mod route_memory;
pub mod session;
pub mod snapshot;
pub mod state;
pub mod status;
mod tags;
mod target;
pub mod text;
mod text_map;

use std::path::{Path, PathBuf};

use serde::Serialize;

pub use error::{Error, Result};
pub use notice::Notice;
use notice::Observer;
pub use target::{Place, Placement};

/// A state directory, and the receiver of notices. Creating a value does not touch the file system.
#[derive(Clone, Debug)]
pub struct Control {
    root: PathBuf,
    observer: Observer,
}

impl Control {
    /// Uses a state directory, such as `/run/xway`. Processes that use the same directory see and
    /// change the same programs.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), observer: Observer::default() }
    }

    /// Passes each [`Notice`] to a function.
    #[must_use]
    pub fn with_observer(self, observe: impl Fn(&Notice) + Send + Sync + 'static) -> Self {
        Self { observer: Observer::new(observe), ..self }
    }

    /// This value with another path of the state directory.
    pub(crate) fn at(&self, root: PathBuf) -> Self {
        Self { root, observer: self.observer.clone() }
    }

    pub(crate) fn notify(&self, notice: &Notice) {
        self.observer.notify(notice);
    }

    /// Path of the state directory.
    pub fn root(&self) -> &Path {
        &self.root
    }
}

/// A built-in function that was configured on interfaces.
#[derive(Clone, Debug, Serialize)]
pub struct Configured {
    /// Name of the function: `drop` or `forward`.
    pub function: &'static str,
    /// Names of the interfaces that it runs on.
    pub interfaces: Vec<String>,
    /// `native`, `generic` or `offload`.
    pub mode: &'static str,
    /// `true` if the program ran already and only its tables were changed, so that its counters
    /// continue.
    pub updated: bool,
    /// All rules that are active now, in no particular order.
    pub rules: Vec<String>,
}
