//! Options of a change of rules, and its report.

use std::path::PathBuf;
use std::time::Duration;

use kernel::Mode;
use serde::Serialize;

use super::memory::Memory;
use crate::lockout::Lockout;
use crate::target::Place;

/// How the program of a rule set is attached.
#[derive(Clone, Debug, Default)]
pub struct FilterPlacement {
    /// `None`: the mode of the filter that runs, else native.
    pub mode: Option<Mode>,
    /// Replace a program that is not a filter.
    pub replace: bool,
    /// Values of global variables, by name, as text.
    pub set: Vec<(String, String)>,
    /// Most kernel memory, in bytes, that the maps of the rules may take.
    pub memory: Option<u64>,
    /// Load rules that depend on VLAN tags even if tags cannot be seen.
    pub ignore_stripped_tags: bool,
    /// What ran before runs again after this time, unless the change is confirmed.
    pub confirm: Option<Duration>,
    /// Whether the change may end the SSH session of this process.
    pub lockout: Lockout,
    /// The declaration that the change comes from.
    pub declaration: Option<PathBuf>,
    /// The place in a chain, see [`Placement::place`](crate::Placement::place).
    pub place: Option<Place>,
}

/// How a rule set is loaded.
#[derive(Clone, Debug, Default)]
pub struct ApplyOptions {
    pub placement: FilterPlacement,
    /// Whether sources will be banned manually, for which the program has to look up bans.
    pub bans: bool,
    /// Discard what was set for the previous rules: global variables, and the declaration that they
    /// come from.
    pub reset: bool,
    /// Names of added rules that do not belong to the declaration.
    pub temporary: Vec<String>,
}

impl ApplyOptions {
    /// Options with this placement, and defaults for all else.
    pub fn with_placement(placement: &FilterPlacement) -> Self {
        Self { placement: placement.clone(), ..Self::default() }
    }
}

/// A rule set that was loaded.
#[derive(Clone, Debug, Serialize)]
pub struct LoadReport {
    /// Name of the interface.
    pub interface: String,
    /// `native`, `generic` or `offload`.
    pub mode: &'static str,
    /// `true` if it replaced another rule set, whose counters and state continue.
    pub updated: bool,
    /// The default verdict.
    pub default: &'static str,
    /// Names of the rules, in order.
    pub rules: Vec<String>,
    /// Memory of the maps that were created.
    pub memory: Memory,
    /// Seconds of the parts of the change.
    #[serde(rename = "took")]
    pub timings: LoadTimings,
}

/// Seconds that each part of a change took, for the program that the kernel accepted.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct LoadTimings {
    /// Reading rules and sets, waiting for other writers, finding the filter that runs.
    pub read_s: f64,
    /// Compiling rules to a program.
    pub compile_s: f64,
    /// Creation of maps, verification and translation by the kernel.
    pub load_s: f64,
    /// Transfer of the state of limits, bans and timed rules.
    pub carry_s: f64,
    /// Update of the link, waiting for the old program's last run, transfer of its counts.
    pub swap_s: f64,
}
