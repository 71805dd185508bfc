//! Lists what is loaded and attached on this machine, and its owners. Needs `CAP_SYS_ADMIN`.
//!
//! Rule: objects appear and disappear during a walk; one that no longer exists is left out.

mod interfaces;
mod owners;
mod pins;

use std::os::fd::{AsFd, OwnedFd};

use sys::bpf::{self, Kind, LinkInfo, MapInfo, ProgInfo};
use sys::errno::{EAGAIN, ENOENT};

use crate::error::{Error, Result};
use crate::limits::LISTING_LIMIT;

pub use interfaces::{Attached, Interface, interface, interfaces};
pub(crate) use owners::holders_of;
pub use owners::{Owner, Owners};
pub use pins::Pins;

/// All programs, by number.
pub fn programs() -> Result<Vec<ProgInfo>> {
    walk(Kind::Prog, |fd| bpf::prog_info(fd.as_fd()))
}

/// All maps, by number.
pub fn maps() -> Result<Vec<MapInfo>> {
    walk(Kind::Map, |fd| bpf::map_info(fd.as_fd()))
}

/// All links, by number.
pub fn links() -> Result<Vec<LinkInfo>> {
    walk(Kind::Link, |fd| bpf::link_info(fd.as_fd()))
}

fn walk<T>(kind: Kind, look: impl Fn(&OwnedFd) -> sys::Result<T>) -> Result<Vec<T>> {
    let mut all = Vec::new();
    let mut id = 0;
    for _ in 0..LISTING_LIMIT {
        let Some(next) = bpf::next_id(kind, id).map_err(Error::from_call)? else { break };
        id = next;
        match bpf::fd_by_id(kind, id) {
            Ok(fd) => all.push(look(&fd).map_err(Error::from_call)?),
            // Gone by now, or a link that is still being made.
            Err(error) if error.is(ENOENT) || error.is(EAGAIN) => {}
            Err(error) => return Err(Error::from_call(error)),
        }
    }
    Ok(all)
}
