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
        Self::of_pin(path, bpf::Map::open_pin)
    }

    /// Opens a pinned map for reading, which takes no permission to write to the pin. The kernel
    /// refuses changes by this handle.
    ///
    /// # Errors
    /// [`Error::WrongPin`] when something else is pinned there.
    pub fn from_pin_read_only(path: &Path) -> Result<Self> {
        Self::of_pin(path, bpf::Map::open_pin_read_only)
    }

    fn of_pin(path: &Path, open: fn(&str) -> sys::Result<bpf::Map>) -> Result<Self> {
        let shown = path.to_string_lossy();
        let raw = open(&shown).map_err(|error| {
            if error.is(EINVAL) {
                return Error::WrongPin { path: shown.clone().into_owned(), wanted: "map" };
            }
            Error::from_call(error)
        })?;
        Self::new(raw, "")
    }
}
