//! Taking off whatever runs on an interface, whoever attached it.

use std::os::fd::AsFd;

use sys::net::{Ifindex, Netlink, XdpExpect, XdpMode};

use super::Known;
use super::netlink::overtaken;
use super::occupied::{Holder, occupants, reference};
use crate::error::{Error, ProgramRef, Result};

/// A program that was taken off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detached {
    pub mode: XdpMode,
    pub program: ProgramRef,
    /// The link that held it and now holds nothing; a pin of it is still there.
    pub link_id: Option<u32>,
}

/// Takes programs off an interface of this thread's network namespace: in one mode, or in all.
/// Answers what was there; nothing is no error.
///
/// # Errors
/// [`Error::Overtaken`] when a program was exchanged meanwhile; the new one stays.
pub fn detach_all(ifindex: Ifindex, mode: Option<XdpMode>) -> Result<Vec<Detached>> {
    let mut netlink = Netlink::open().map_err(Error::from_call)?;
    let mut gone = Vec::new();
    for occupant in occupants(&mut netlink, ifindex, Known::default())? {
        if mode.is_some_and(|mode| mode != occupant.mode) {
            continue;
        }
        let program = reference(&occupant);
        let link_id = occupant.link.as_ref().and_then(Holder::id);
        match occupant.link {
            Some(link) => link.open()?.detach()?,
            None => {
                let expect = XdpExpect::Program(occupant.program.as_fd());
                netlink.set_xdp(ifindex, None, Some(occupant.mode), expect).map_err(overtaken)?;
            }
        }
        gone.push(Detached { mode: occupant.mode, program, link_id });
    }
    Ok(gone)
}
