//! Attaching an XDP program by a link, with netlink as the fallback and for error messages.

use std::os::fd::AsFd;

use sys::bpf::uapi::attach_type;
use sys::bpf::{self, LinkCreate};
use sys::errno::{EAGAIN, EBUSY, EMFILE, ENOMEM, ENOSPC, EPERM};
use sys::net::{Ifindex, Netlink, XdpExpect, XdpMode};

use super::guard::ReplacedProgram;
use super::netlink::{NetlinkAttachment, overtaken};
use super::occupied::{Holder, Occupant, occupants, refusal};
use super::{Attach, ExpectedState, Link, Replace};
use crate::error::{Error, Result};
use crate::program::Program;

/// Attaches a program to an interface of this thread's network namespace.
///
/// # Errors
/// [`Error::Occupied`] names the attached program; [`Error::System`] carries the driver's or
/// the kernel's own sentence.
pub fn attach(attach: &Attach<'_>) -> Result<Link> {
    attach_expecting(attach, ExpectedState::default())
}

/// As [`attach`], for a caller that holds what runs there.
pub fn attach_expecting(attach: &Attach<'_>, expected: ExpectedState<'_>) -> Result<Link> {
    let mut netlink = Netlink::open().map_err(Error::from_call)?;
    let interface = netlink.link_by_index(attach.ifindex).map_err(Error::from_call)?.name;
    let occupants = occupants(&mut netlink, attach.ifindex, expected)?;
    let occupant = foremost(occupants, attach);
    if let Replace::Only(id) = attach.replace
        && occupant.as_ref().is_none_or(|one| one.program.id() != id)
    {
        let error = sys::Error::new("program", interface.clone(), EBUSY);
        return Err(overtaken(sys::Error { detail: format!("{id} does not run"), ..error }));
    }
    let Some(occupant) = occupant else {
        return fresh(attach, netlink);
    };
    if attach.replace == Replace::No {
        return Err(refusal(&interface, &occupant));
    }
    if occupant.mode == attach.mode {
        return take_over(attach, occupant, netlink);
    }
    switch_mode(attach, occupant, netlink, expected.caller_restores)
}

/// The one in the wanted mode, else any: two modes do not go together.
fn foremost(mut occupants: Vec<Occupant>, attach: &Attach<'_>) -> Option<Occupant> {
    let same = occupants.iter().position(|occupant| occupant.mode == attach.mode).unwrap_or(0);
    (!occupants.is_empty()).then(|| occupants.swap_remove(same))
}

/// On an interface without a program.
fn fresh(attach: &Attach<'_>, netlink: Netlink) -> Result<Link> {
    let create = LinkCreate {
        program: attach.program.as_fd(),
        ifindex: attach.ifindex.0,
        attach_type: attach_type::XDP,
        flags: attach.mode.flag(),
    };
    let refused = match bpf::link_create(&create) {
        Ok(fd) => return Ok(Link::bpf(fd, Some(attach.mode))),
        Err(error) if error.is(EPERM) => return Err(Error::from_call(error)),
        // A program was attached since the check, and may be detached before netlink checks.
        Err(error) if error.is(EBUSY) => return Err(overtaken(error)),
        // Links are supported and resources are short: an attachment by netlink would succeed, but
        // later changes of it would be without a link.
        Err(error) if SHORTAGES.contains(&error.errno) => return Err(Error::from_call(error)),
        Err(error) => error,
    };
    // A link fails with an errno alone. Netlink adds the reason, or attaches where links cannot.
    let made =
        NetlinkAttachment::attach(netlink, attach.ifindex, attach.program, attach.mode, None);
    match made {
        Ok(attachment) => Ok(Link::netlink(attachment)),
        Err(error) if error.detail.is_empty() => {
            let mode = attach.mode.name();
            let detail = format!("the driver gives no reason; it may not have {mode} mode");
            Err(Error::from_call(sys::Error { object: error.object, detail, ..refused }))
        }
        Err(error) => Err(Error::from_call(error)),
    }
}

/// No memory, no number or descriptor for the link.
const SHORTAGES: [i32; 4] = [ENOMEM, ENOSPC, EMFILE, EAGAIN];

/// Replaces a program in the same mode, in one step, by the same means as it was attached.
fn take_over(attach: &Attach<'_>, occupant: Occupant, netlink: Netlink) -> Result<Link> {
    let (before, holder) = before(attach, occupant)?;
    let Attach { ifindex, program, mode, .. } = *attach;
    let Some(holder) = holder else {
        let old = Some(&before.program);
        let attachment =
            NetlinkAttachment::attach(netlink, ifindex, program, mode, old).map_err(overtaken)?;
        return Ok(Link::netlink(attachment).remember(before));
    };
    let mut link = holder.open()?;
    link.update(program, Some(&before.program))?;
    link.mode = Some(mode);
    Ok(link.remember(before))
}

/// Modes exclude each other, so no program runs in between. If the new one is rejected, the old one
/// is restored by netlink: a link that was detached cannot be attached again.
fn switch_mode(
    attach: &Attach<'_>,
    occupant: Occupant,
    mut netlink: Netlink,
    caller_restores: bool,
) -> Result<Link> {
    let (mut before, holder) = before(attach, occupant)?;
    match holder {
        Some(link) => link.open()?.detach()?,
        None => {
            let expect = XdpExpect::Program(before.program.as_fd());
            netlink.set_xdp(attach.ifindex, None, Some(before.mode), expect).map_err(overtaken)?;
        }
    }
    match fresh(attach, netlink) {
        attached if caller_restores => attached,
        Ok(link) => Ok(link.remember(before)),
        Err(error) => {
            before.restore().map_err(Error::from_call)?;
            Err(error)
        }
    }
}

/// The program to restore, and the link that holds it now.
fn before(attach: &Attach<'_>, occupant: Occupant) -> Result<(ReplacedProgram, Option<Holder>)> {
    let Occupant { mode, program, link } = occupant;
    let before = ReplacedProgram {
        netlink: Netlink::open().map_err(Error::from_call)?,
        ifindex: attach.ifindex,
        mode,
        program,
        ours: attach.program.duplicate()?,
    };
    Ok((before, link))
}

/// Attaches by netlink, without a link, on an interface on which nothing runs.
pub fn restore(ifindex: Ifindex, program: &Program, mode: XdpMode) -> Result<()> {
    let mut netlink = Netlink::open().map_err(Error::from_call)?;
    netlink
        .set_xdp(ifindex, Some(program.as_fd()), Some(mode), XdpExpect::Nothing)
        .map_err(overtaken)
}

/// Takes exactly this program off; the link that holds it, if any, is detached.
pub fn detach(ifindex: Ifindex, mode: XdpMode, expected: ExpectedState<'_>) -> Result<()> {
    let mut netlink = Netlink::open().map_err(Error::from_call)?;
    let found = occupants(&mut netlink, ifindex, expected)?.into_iter();
    let wanted = expected.program.map(Program::id);
    let is_it = |one: &Occupant| one.mode == mode && Some(one.program.id()) == wanted;
    for occupant in found.filter(is_it) {
        match occupant.link {
            Some(link) => link.open()?.detach()?,
            None => {
                let expect = XdpExpect::Program(occupant.program.as_fd());
                netlink.set_xdp(ifindex, None, Some(mode), expect).map_err(overtaken)?;
            }
        }
    }
    Ok(())
}
