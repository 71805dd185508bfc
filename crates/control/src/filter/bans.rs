//! `BanReport`: the active bans of a filter.

use filter::maps::BANS;
use filter::runtime::bans::{Ban, Bans};
use serde::Serialize;
use sys::thread::monotonic_ns;

use super::active::ActiveFilter;
use crate::error::Result;

/// The active bans of an interface.
#[derive(Clone, Debug, Serialize)]
pub struct BanReport {
    /// Name of the interface.
    pub interface: String,
    /// Bans, sorted by address.
    pub bans: Vec<Ban>,
}

impl BanReport {
    /// Reads the bans of a filter.
    ///
    /// # Errors
    /// The map of bans cannot be read.
    pub fn read(interface: &str, active: &ActiveFilter) -> Result<Self> {
        let bans = Bans::new(&active.map(BANS)?).list(monotonic_ns())?;
        Ok(Self { interface: interface.to_owned(), bans })
    }
}
