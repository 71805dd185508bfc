//! Detaches the programs of an interface, regardless of which process attached them.

use std::os::fd::AsFd;

use sys::net::{Ifindex, Netlink, XdpExpect, XdpMode};

use super::ExpectedState;
use super::netlink::overtaken;
use super::occupied::{Holder, occupants, reference};
use crate::error::{Error, ProgramRef, Result};

/// A program that was taken off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detached {
    /// Mode in which the program was attached.
    pub mode: XdpMode,
    /// The program that was detached.
    pub program: ProgramRef,
    /// The link that held it and now holds nothing; a pin of it is still there.
    pub link_id: Option<u32>,
}

/// Detaches the programs of an interface of this thread's network namespace, in one mode or in all.
/// Returns them; the result is empty if none was attached.
///
/// # Errors
/// [`Error::Overtaken`] if a program was replaced meanwhile; the new one remains.
pub fn detach_all(ifindex: Ifindex, mode: Option<XdpMode>) -> Result<Vec<Detached>> {
    let mut netlink = Netlink::open().map_err(Error::from_call)?;
    let mut gone = Vec::new();
    for occupant in occupants(&mut netlink, ifindex, ExpectedState::default())? {
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
