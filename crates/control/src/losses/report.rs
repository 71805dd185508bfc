//! The report of lost frames.

use serde::Serialize;

use super::{Cause, DropKey};
use crate::inventory::{MapName, ProgramName};

/// Frames that an interface lost while they were counted.
#[derive(Debug, Serialize)]
pub struct LossReport {
    /// Name of the interface.
    pub interface: String,
    /// Time of counting.
    pub seconds: f64,
    /// Frames that XDP lost: the sum of `losses`.
    pub lost: u64,
    /// Lost frames by cause, most first. Each frame is counted once.
    pub losses: Vec<Loss>,
    /// Frames of this host with further causes, for which the table had no place.
    pub uncounted: u64,
    /// Packets that programs dropped on purpose.
    pub drops: Vec<DropRow>,
    /// Counters of lost packets that grew. They may contain frames of `losses` and `drops` again.
    pub counters: Vec<GrownCounter>,
}

impl LossReport {
    /// Whether nothing was lost or dropped, and no counter grew.
    pub fn is_empty(&self) -> bool {
        self.lost == 0 && self.uncounted == 0 && self.drops.is_empty() && self.counters.is_empty()
    }
}

/// Frames that were lost for the same cause.
#[derive(Debug, Serialize)]
pub struct Loss {
    /// The cause.
    pub cause: Cause,
    /// Lost frames.
    pub frames: u64,
    /// Interface that received them; `null` if that is not known, or in another namespace.
    pub received_on: Option<String>,
    /// Interface that was to send them; `null` if that is not known, or in another namespace.
    pub target: Option<String>,
    /// Error of the kernel or the driver, such as `EMSGSIZE`.
    pub errno: Option<String>,
    /// The program that gave the verdict; its name is empty if it no longer runs.
    pub program: Option<ProgramName>,
    /// The map to which the frames were redirected.
    pub map: Option<MapName>,
    /// The key in that map.
    pub key: Option<u32>,
    /// The cause in words.
    pub reason: String,
    /// What to change.
    pub remedy: String,
}

/// Packets that a program dropped on purpose.
#[derive(Debug, Serialize)]
pub struct DropRow {
    /// The program.
    pub program: ProgramName,
    /// The reason that the program gives; `null` for a program without reasons.
    pub reason: Option<String>,
    /// Dropped packets.
    pub packets: u64,
}

impl DropRow {
    pub(super) fn key(&self) -> DropKey {
        (self.program.id, self.reason.clone())
    }
}

/// A counter of lost packets that grew.
#[derive(Debug, Serialize)]
pub struct GrownCounter {
    /// `true` for a counter of the driver (`ethtool -S`), `false` for one of the interface
    /// (`ip -s link`).
    pub of_driver: bool,
    /// Name of the counter.
    pub name: String,
    /// Its increase.
    pub increase: u64,
}
