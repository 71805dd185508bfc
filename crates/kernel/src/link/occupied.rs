//! Who sits on an interface already, by program, link and process.

use sys::bpf::{self, Kind, LinkTarget};
use sys::net::{Ifindex, Netlink, XdpMode};

use crate::error::{Error, ModeName, ProgramRef, Result, named};
use crate::limits::LISTING_LIMIT;
use crate::program::Program;

/// A program that runs on an interface.
#[derive(Debug)]
pub(super) struct Occupant {
    pub mode: XdpMode,
    pub program: Program,
    /// Number of the link that holds it; `None` when it was attached by netlink.
    pub link: Option<u32>,
}

/// Everything that runs on an interface of this thread's namespace, one entry for each mode.
pub(super) fn occupants(netlink: &mut Netlink, ifindex: Ifindex) -> Result<Vec<Occupant>> {
    let state = netlink.link_by_index(ifindex).map_err(Error::from_call)?.xdp;
    state
        .programs()
        .map(|(mode, id)| {
            let program = Program::from_id(id)?;
            Ok(Occupant { mode, program, link: link_of(ifindex, id)? })
        })
        .collect()
}

/// The program, with the processes behind it.
pub(super) fn reference(occupant: &Occupant) -> ProgramRef {
    let reference = occupant.program.reference();
    let holders = crate::list::holders_of(reference.id, occupant.link);
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
fn link_of(ifindex: Ifindex, program: u32) -> Result<Option<u32>> {
    let mut id = 0;
    for _ in 0..LISTING_LIMIT {
        let Some(next) = bpf::next_id(Kind::Link, id).map_err(named("link"))? else { break };
        id = next;
        // A link may be gone by now.
        let Ok(fd) = bpf::fd_by_id(Kind::Link, id) else { continue };
        let Ok(info) = bpf::link_info(std::os::fd::AsFd::as_fd(&fd)) else { continue };
        if info.target == (LinkTarget::Xdp { ifindex: ifindex.0 }) && info.prog_id == program {
            return Ok(Some(id));
        }
    }
    Ok(None)
}
