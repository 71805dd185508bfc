//! Links: attachments that the kernel undoes when the last descriptor and pin are closed.
//! Linux 5.9 for XDP, 6.6 for tcx.

use std::os::fd::{BorrowedFd, OwnedFd};

use crate::bpf::attr::{
    self, Command, LinkCreateAttr, LinkUpdateAttr, RawTracepointAttr, WordsAttr, call, call_fd, raw,
};
use crate::bpf::uapi::LINK_REPLACE;
use crate::{Error, Result};

/// What `LINK_CREATE` takes for an attachment to an interface.
#[derive(Clone, Copy, Debug)]
pub struct LinkCreate<'a> {
    /// The program to attach.
    pub program: BorrowedFd<'a>,
    /// The interface.
    pub ifindex: u32,
    /// `attach_type::{XDP, TCX_INGRESS, TCX_EGRESS}`.
    pub attach_type: u32,
    /// `xdp_flag::*` modes for XDP.
    pub flags: u32,
}

/// Attaches a program and returns the descriptor of the link.
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

/// Runs a program at each pass of a kernel tracepoint, such as `xdp_devmap_xmit`, on all processors
/// and in all namespaces, until the descriptor is closed. `ENOENT` when there is no such
/// tracepoint. Linux 4.17, `CAP_PERFMON`.
pub fn raw_tracepoint_open(program: BorrowedFd<'_>, name: &str) -> Result<OwnedFd> {
    let text = attr::c_string("bpf(RAW_TRACEPOINT_OPEN)", name)?;
    let mut attr = RawTracepointAttr {
        name: text.as_ptr() as u64,
        prog_fd: raw(Some(program)),
        ..Default::default()
    };
    // SAFETY: the name is closed by a zero and outlives the call; the descriptor answered is new.
    unsafe { call_fd(Command::RawTracepoint, &mut attr) }
        .map_err(|error| Error { object: format!("tracepoint {name}"), ..error })
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
