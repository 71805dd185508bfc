//! Pinned programs.

use std::os::fd::AsFd;
use std::path::Path;

use sys::bpf;

use super::Program;
use crate::error::{Error, Result};

impl Program {
    /// Gives the program a name in a bpf file system, under which it outlives this process.
    pub fn pin(&self, path: &Path) -> Result<()> {
        bpf::pin(self.as_fd(), &path.to_string_lossy()).map_err(Error::from_call)
    }

    /// Removes a pin; the program exists as long as another handle refers to it.
    pub fn unpin(path: &Path) -> Result<()> {
        bpf::unpin(&path.to_string_lossy()).map_err(Error::from_call)
    }

    /// Opens a pinned program.
    ///
    /// # Errors
    /// [`Error::WrongPin`] when something else is pinned there.
    pub fn from_pin(path: &Path) -> Result<Self> {
        let shown = path.to_string_lossy().into_owned();
        let fd = bpf::open_pin(&shown).map_err(Error::from_call)?;
        match bpf::obj_kind(fd.as_fd()).map_err(Error::from_call)? {
            Some(bpf::Kind::Prog) => Self::from_fd(fd, ""),
            _ => Err(Error::WrongPin { path: shown, wanted: "program" }),
        }
    }
}
