//! Links: attachments that the kernel undoes when the last descriptor and pin are gone.
//! Linux 5.9 for XDP, 6.6 for tcx.

use std::os::fd::{BorrowedFd, OwnedFd};

use crate::bpf::attr::{Command, LinkCreateAttr, LinkUpdateAttr, WordsAttr, call, call_fd};
use crate::bpf::map::raw;
use crate::bpf::uapi::LINK_REPLACE;
use crate::{Error, Result};

/// What `LINK_CREATE` takes for an attachment to an interface.
#[derive(Clone, Copy, Debug)]
pub struct LinkCreate<'a> {
    pub program: BorrowedFd<'a>,
    pub ifindex: u32,
    /// `attach_type::{XDP, TCX_INGRESS, TCX_EGRESS}`.
    pub attach_type: u32,
    /// `xdp_flag::*` modes for XDP.
    pub flags: u32,
}

pub fn link_create(create: &LinkCreate<'_>) -> Result<OwnedFd> {
    let mut attr = LinkCreateAttr {
        prog_fd: raw(Some(create.program)),
        target: create.ifindex,
        attach_type: create.attach_type,
        flags: create.flags,
        ..Default::default()
    };
    // SAFETY: this attribute holds no pointers, and the descriptor answered is new.
    unsafe { call_fd(Command::LinkCreate, &mut attr) }
        .map_err(|error| Error { object: format!("interface {}", create.ifindex), ..error })
}

/// Swaps the program atomically. With `old`, only if that is the one attached now (`EPERM`
/// otherwise).
pub fn link_update(
    link: BorrowedFd<'_>,
    new: BorrowedFd<'_>,
    old: Option<BorrowedFd<'_>>,
) -> Result<()> {
    let mut attr = LinkUpdateAttr {
        link_fd: raw(Some(link)),
        new_prog_fd: raw(Some(new)),
        flags: if old.is_some() { LINK_REPLACE } else { 0 },
        old_prog_fd: raw(old),
    };
    // SAFETY: this attribute holds no pointers.
    unsafe { call(Command::LinkUpdate, &mut attr) }.map(drop)
}

/// Detaches now, even if descriptors and pins remain. Linux 5.9.
pub fn link_detach(link: BorrowedFd<'_>) -> Result<()> {
    let mut attr = WordsAttr { first: raw(Some(link)), ..Default::default() };
    // SAFETY: this attribute holds no pointers.
    unsafe { call(Command::LinkDetach, &mut attr) }.map(drop)
}
