//! Who sits on an interface already, by program, link and process.

use sys::bpf::{self, Kind, LinkTarget};
use sys::net::{Ifindex, Netlink, XdpMode};

use super::{ExpectedState, Link};
use crate::error::{Error, ModeName, ProgramRef, Result, named};
use crate::limits::LISTING_LIMIT;
use crate::program::Program;

/// A program that runs on an interface.
#[derive(Debug)]
pub(super) struct Occupant {
    /// Mode of the attachment.
    pub mode: XdpMode,
    /// The attached program.
    pub program: Program,
    /// The link that holds it; `None` when it was attached by netlink.
    pub link: Option<Holder>,
}

/// A link, as the caller holds it or by its number.
#[derive(Debug)]
pub(super) enum Holder {
    Open(Link),
    Number(u32),
}

impl Holder {
    /// Opens the attachment as a link.
    pub fn open(self) -> Result<Link> {
        match self {
            Self::Open(link) => Ok(link),
            Self::Number(id) => Link::from_id(id),
        }
    }

    /// Id of the link; `None` for an attachment by netlink.
    pub fn id(&self) -> Option<u32> {
        match self {
            Self::Open(link) => Some(link.info().ok()??.id),
            Self::Number(id) => Some(*id),
        }
    }
}

/// Everything that runs on an interface of this thread's namespace, one entry for each mode. What
/// the caller holds is not opened by number.
pub(super) fn occupants(
    netlink: &mut Netlink,
    ifindex: Ifindex,
    expected: ExpectedState<'_>,
) -> Result<Vec<Occupant>> {
    let state = netlink.link_by_index(ifindex).map_err(Error::from_call)?.xdp;
    state
        .programs()
        .map(|(mode, id)| {
            let Some(program) = expected.program.filter(|one| one.id() == id) else {
                let program = Program::from_id(id)?;
                return Ok(Occupant { mode, program, link: link_of(ifindex, id)? });
            };
            let link = match expected.link {
                Some(link) if holds(link, ifindex, id)? => Some(Holder::Open(link.duplicate()?)),
                // Listing takes more rights than changing. Without them nothing but the caller's
                // own link is known, and the kernel refuses to replace the program of another.
                _ => match link_of(ifindex, id) {
                    Err(Error::Denied { .. }) => None,
                    other => other?,
                },
            };
            Ok(Occupant { mode, program: program.duplicate()?, link })
        })
        .collect()
}

fn holds(link: &Link, ifindex: Ifindex, program: u32) -> Result<bool> {
    let target = LinkTarget::Xdp { ifindex: ifindex.0 };
    Ok(link.info()?.is_some_and(|info| info.target == target && info.prog_id == program))
}

/// The program, with the processes that hold it.
pub(super) fn reference(occupant: &Occupant) -> ProgramRef {
    let reference = occupant.program.reference();
    let holders =
        crate::list::holders_of(reference.id, occupant.link.as_ref().and_then(Holder::id));
    ProgramRef { holders, ..reference }
}

pub(super) fn refusal(interface: &str, occupant: &Occupant) -> Error {
    Error::Occupied {
        interface: interface.to_owned(),
        mode: ModeName(occupant.mode),
        program: reference(occupant),
    }
}

/// Interface numbers repeat across namespaces, so the program has to be the same too.
fn link_of(ifindex: Ifindex, program: u32) -> Result<Option<Holder>> {
    let mut id = 0;
    for _ in 0..LISTING_LIMIT {
        let Some(next) = bpf::next_id(Kind::Link, id).map_err(named("link"))? else { break };
        id = next;
        // A link may be gone by now.
        let Ok(fd) = bpf::fd_by_id(Kind::Link, id) else { continue };
        let Ok(info) = bpf::link_info(std::os::fd::AsFd::as_fd(&fd)) else { continue };
        if info.target == (LinkTarget::Xdp { ifindex: ifindex.0 }) && info.prog_id == program {
            return Ok(Some(Holder::Number(id)));
        }
    }
    Ok(None)
}
