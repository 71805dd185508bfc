//! The control plane: which programs run on an interface, who owns them, and how they change.
//!
//! ```text
//!  Control ──▶ attach, detach, drop, forward    one call each: load, replace in one step, keep
//!     │
//!     ├──────▶ filter    Update (change rules), ActiveFilter (read), monitor, trial, sampler
//!     ├──────▶ status    interfaces, programs, rates by verdict
//!     └──────▶ host      the live host as a world for the engine
//! ```
//!
//! Everything that remains attached is pinned below a state directory ([`Control::new`]), where any
//! later process finds it. Rule: a change is prepared beside the running program and takes effect
//! in one step; a process that is killed at any point leaves the old or the new program complete.
//! This crate prints nothing, starts a thread only on request ([`metrics::Endpoint`]), and reports
//! events that are not errors as a [`Notice`].
//!
//! Modules depend on each other in this order: `error`; `state` (pins, locks, records); `object`,
//! `counters` and `rates`; `target` and `tags` (an interface that is being changed); `attach`;
//! then the functions `drop`, `forward` and `filter`, and what reads them, `status` and `metrics`.
#![forbid(unsafe_code)]

pub mod attach;
pub mod counters;
pub mod drop;
pub mod error;
pub mod filter;
pub mod forward;
pub mod host;
pub mod memory;
pub mod metrics;
mod notice;
pub mod object;
pub mod rates;
pub mod state;
pub mod status;
mod tags;
mod target;

use std::path::{Path, PathBuf};

use serde::Serialize;

pub use error::{Error, Result};
pub use notice::Notice;
use notice::Observer;
pub use target::Placement;

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
    /// Name of the function, such as `drop`.
    pub function: &'static str,
    pub interfaces: Vec<String>,
    /// Mode in which the program is attached, as the option `--mode` spells it.
    pub mode: &'static str,
    /// `true` if the program ran already and only its maps changed.
    pub updated: bool,
    /// All rules that are loaded now, as text.
    pub rules: Vec<String>,
}
