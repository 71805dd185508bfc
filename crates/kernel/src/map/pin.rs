//! Pinned maps.

use std::os::fd::AsFd;
use std::path::Path;

use sys::bpf;
use sys::errno::EINVAL;

use super::Map;
use crate::error::{Error, Result};

impl Map {
    /// Gives the map a name in a bpf file system, under which it outlives this process.
    pub fn pin(&self, path: &Path) -> Result<()> {
        bpf::pin(self.as_fd(), &path.to_string_lossy()).map_err(Error::from_call)
    }

    /// Removes a pin; the map exists as long as another handle refers to it.
    pub fn unpin(path: &Path) -> Result<()> {
        bpf::unpin(&path.to_string_lossy()).map_err(Error::from_call)
    }

    /// Opens a pinned map.
    ///
    /// # Errors
    /// [`Error::WrongPin`] when something else is pinned there.
    pub fn from_pin(path: &Path) -> Result<Self> {
        let shown = path.to_string_lossy();
        let raw = bpf::Map::open_pin(&shown).map_err(|error| {
            if error.is(EINVAL) {
                return Error::WrongPin { path: shown.clone().into_owned(), wanted: "map" };
            }
            Error::from_call(error)
        })?;
        Self::new(raw, "")
    }
}
