//! Bans of sources by an operator, and `BanReport`: the active bans of a filter.

use std::net::IpAddr;
use std::time::Duration;

use filter::maps::BANS;
use filter::runtime::bans::{self, Ban};
use kernel::Map;
use serde::Serialize;
use sys::thread::monotonic_ns;

use super::active::ActiveFilter;
use super::update::Update;
use crate::error::{Context as _, Error, Result};

impl Update {
    /// Bans sources, for a time or until they are unbanned. A filter that does not look up bans is
    /// replaced with one that does.
    ///
    /// # Errors
    /// No filter runs, or the map of bans is full; sources before the failed one are banned.
    pub fn ban(&mut self, sources: &[IpAddr], time: Option<Duration>) -> Result<()> {
        self.allow_bans()?;
        let map = self.required()?.map(BANS)?;
        let bans = bans::Bans::new(&map);
        bans.sweep(monotonic_ns())?;
        for source in sources {
            let added = bans.add(*source, time, monotonic_ns());
            added.with_context(|| format!("{source} was not banned"))?;
        }
        Ok(())
    }

    /// Lifts bans.
    ///
    /// # Errors
    /// No filter runs, or a source is not banned (most likely it is misspelled); then all bans
    /// remain.
    pub fn unban(&self, sources: &[IpAddr]) -> Result<()> {
        let map = self.required()?.map(BANS)?;
        let known = list(&map)?;
        let is_banned = |source: &IpAddr| known.iter().any(|ban| ban.source == *source);
        if let Some(source) = sources.iter().find(|source| !is_banned(source)) {
            return Err(Error::NotBanned { source_address: *source });
        }
        let bans = bans::Bans::new(&map);
        for source in sources {
            bans.remove(*source)?;
        }
        Ok(())
    }
}

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
        Ok(Self { interface: interface.to_owned(), bans: list(&active.map(BANS)?)? })
    }
}

fn list(map: &Map) -> Result<Vec<Ban>> {
    Ok(bans::Bans::new(map).list(monotonic_ns())?)
}
