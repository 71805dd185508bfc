//! The control plane: what runs on an interface, who keeps it, and how it changes.
//!
//! ```text
//!  Control ──▶ attach, detach, drop, forward    one call each: load, replace in one step, keep
//!     │
//!     ├──────▶ filter    Update (change rules), ActiveFilter (read), monitor, trial, sampler
//!     ├──────▶ status    interfaces, programs, rates by verdict
//!     ├──────▶ doctor    what this kernel and this user allow
//!     └──────▶ host      the live host as a world for the engine
//!
//!  inventory   programs and maps of any owner      check   what the verifier says of an object
//! ```
//!
//! Everything that stays attached is pinned below a state directory ([`Control::new`]) and is found
//! again there by any later process. Rule: a change is prepared beside what runs and takes effect
//! in one step; a process that is killed at any moment leaves the old or the new program complete.
//! This crate prints nothing, starts no process or thread unless a call is made for it
//! ([`metrics::Endpoint`]), and reports what is not an error as a [`Notice`].
#![forbid(unsafe_code)]

pub mod attach;
pub mod check;
pub mod counters;
pub mod doctor;
pub mod drop;
mod error;
pub mod filter;
pub mod forward;
pub mod host;
pub mod inventory;
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

/// The state directory, and who receives notices. Making one touches nothing.
#[derive(Clone, Debug)]
pub struct Control {
    root: PathBuf,
    observer: Observer,
}

impl Control {
    /// Control through a state directory, such as `/run/xway`. Processes that use the same one
    /// see and change the same programs.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), observer: Observer::default() }
    }

    /// Passes each [`Notice`] to a function.
    #[must_use]
    pub fn with_observer(self, observe: impl Fn(&Notice) + Send + Sync + 'static) -> Self {
        Self { observer: Observer::new(observe), ..self }
    }

    /// The same for another path of the state directory.
    pub(crate) fn at(&self, root: PathBuf) -> Self {
        Self { root, observer: self.observer.clone() }
    }

    pub(crate) fn notify(&self, notice: &Notice) {
        self.observer.notify(notice);
    }

    /// The state directory.
    pub fn root(&self) -> &Path {
        &self.root
    }
}

/// A function of this project that runs on interfaces, and what was asked of it.
#[derive(Clone, Debug, Serialize)]
pub struct Configured {
    pub function: &'static str,
    pub interfaces: Vec<String>,
    pub mode: &'static str,
    /// `true` if the program was there already and only its maps changed.
    pub updated: bool,
    pub rules: Vec<String>,
}
