//! Loaded programs: what the kernel reports about them, test runs, pins.
//!
//! Not here: loading an object (`load`), attaching (`link`).

mod dump;
mod live_frames;
mod pin;
mod test_run;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use sys::bpf::{self, ProgInfo};

use crate::error::{Error, ProgramRef, Result, named};

pub use dump::{Dump, DumpFunction, DumpLine};
pub use live_frames::{Burst, LiveRun};
pub use test_run::{TestOutcome, TestRun};

/// A loaded program. It exists as long as this handle, an attachment or a pin refers to it.
#[derive(Debug)]
pub struct Program {
    fd: OwnedFd,
    /// As the object calls it, which may be longer than the kernel's name.
    name: String,
    kind: u32,
    id: u32,
}

impl Program {
    /// Needs `CAP_SYS_ADMIN`.
    pub fn from_id(id: u32) -> Result<Self> {
        let fd = bpf::fd_by_id(bpf::Kind::Prog, id).map_err(Error::from_call)?;
        Self::from_fd(fd, "")
    }

    /// Takes over a descriptor, which must be of a program. An empty name is
    /// replaced by the kernel's.
    pub fn from_fd(fd: OwnedFd, name: &str) -> Result<Self> {
        let info = bpf::prog_info(fd.as_fd()).map_err(named(name))?;
        let name = if name.is_empty() { info.name } else { name.to_owned() };
        Ok(Self { fd, name, kind: info.kind, id: info.id })
    }

    /// A second handle on the same program.
    pub fn duplicate(&self) -> Result<Self> {
        let fd = self.fd.try_clone().map_err(|error| {
            Error::System(sys::Error::from_io("fcntl(F_DUPFD_CLOEXEC)", &self.name, &error))
        })?;
        Ok(Self { fd, name: self.name.clone(), ..*self })
    }

    /// Name in the object, or that of the kernel for an opened program.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The kernel's number of it, which no other program gets until the next boot.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// `BPF_PROG_TYPE_*`.
    pub fn kind(&self) -> u32 {
        self.kind
    }

    /// As of now.
    pub fn info(&self) -> Result<ProgInfo> {
        bpf::prog_info(self.as_fd()).map_err(named(&self.name))
    }

    /// How messages call it.
    pub fn reference(&self) -> ProgramRef {
        let tag = self.info().map(|info| tag_text(&info.tag)).unwrap_or_default();
        ProgramRef { id: self.id, name: self.name.clone(), tag, holders: Vec::new() }
    }
}

impl AsFd for Program {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// A tag in hexadecimal, as every tool prints it.
pub fn tag_text(tag: &[u8]) -> String {
    tag.iter().map(|byte| format!("{byte:02x}")).collect()
}
