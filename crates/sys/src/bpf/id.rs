//! Walking through everything that the kernel holds, by number. Needs `CAP_SYS_ADMIN`.

use std::os::fd::OwnedFd;

use crate::bpf::attr::{Command, IdAttr, call, call_fd};
use crate::{Error, Result};

/// What numbers are given to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Prog,
    Map,
    Btf,
    Link,
}

impl Kind {
    /// Name of the kind in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Prog => "program",
            Self::Map => "map",
            Self::Btf => "BTF",
            Self::Link => "link",
        }
    }

    const fn next_command(self) -> Command {
        match self {
            Self::Prog => Command::ProgNextId,
            Self::Map => Command::MapNextId,
            Self::Btf => Command::BtfNextId,
            Self::Link => Command::LinkNextId,
        }
    }

    const fn open_command(self) -> Command {
        match self {
            Self::Prog => Command::ProgById,
            Self::Map => Command::MapById,
            Self::Btf => Command::BtfById,
            Self::Link => Command::LinkById,
        }
    }
}

/// The smallest number greater than `after`; `None` at the end.
pub fn next_id(kind: Kind, after: u32) -> Result<Option<u32>> {
    let mut attr = IdAttr { id: after, ..Default::default() };
    // SAFETY: this attribute holds no pointers.
    match unsafe { call(kind.next_command(), &mut attr) } {
        Ok(_) => Ok(Some(attr.next_id)),
        Err(error) if error.is(libc::ENOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// `ENOENT` if it no longer exists, which may happen right after [`next_id`].
pub fn fd_by_id(kind: Kind, id: u32) -> Result<OwnedFd> {
    let mut attr = IdAttr { id, ..Default::default() };
    // SAFETY: this attribute holds no pointers, and the returned descriptor is new.
    unsafe { call_fd(kind.open_command(), &mut attr) }
        .map_err(|error| Error { object: id.to_string(), ..error })
}
