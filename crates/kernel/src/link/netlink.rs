//! Attachments without a link object: where the kernel has none for the mode, or where a program
//! that was attached so is replaced.

use std::os::fd::AsFd;

use sys::errno::ENODEV;
use sys::errno::{EBUSY, EEXIST, ENOENT};
use sys::net::{Ifindex, Netlink, XdpExpect, XdpMode};

use crate::error::{Error, Result};
use crate::program::Program;

/// A program on an interface, and the socket of the namespace that it is in.
#[derive(Debug)]
pub(super) struct NetlinkAttachment {
    /// The interface.
    pub ifindex: Ifindex,
    /// Mode of the attachment.
    pub mode: XdpMode,
    /// The attached program.
    pub program: Program,
    netlink: Netlink,
}

impl NetlinkAttachment {
    /// Only if exactly `expected` runs there now, or nothing for `None`.
    pub fn attach(
        mut netlink: Netlink,
        ifindex: Ifindex,
        program: &Program,
        mode: XdpMode,
        expected: Option<&Program>,
    ) -> sys::Result<Self> {
        let expect = match expected {
            Some(old) => XdpExpect::Program(old.as_fd()),
            None => XdpExpect::Nothing,
        };
        netlink.set_xdp(ifindex, Some(program.as_fd()), Some(mode), expect)?;
        let program = program
            .duplicate()
            .map_err(|_| sys::Error::new("fcntl(F_DUPFD_CLOEXEC)", program.name(), EBUSY))?;
        Ok(Self { ifindex, mode, program, netlink })
    }

    /// Replaces the program atomically; fails if `old` is given and is not the attached one.
    pub fn update(&mut self, new: &Program, old: Option<&Program>) -> Result<()> {
        let duplicate = new.duplicate()?;
        let expected = old.unwrap_or(&self.program).as_fd();
        self.netlink
            .set_xdp(self.ifindex, Some(new.as_fd()), Some(self.mode), XdpExpect::Program(expected))
            .map_err(overtaken)?;
        self.program = duplicate;
        Ok(())
    }

    /// Detaches this program and no other: one that replaced it meanwhile remains. Does nothing if
    /// the interface no longer exists.
    pub fn detach(&mut self) -> Result<()> {
        let expect = XdpExpect::Program(self.program.as_fd());
        match self.netlink.set_xdp(self.ifindex, None, Some(self.mode), expect) {
            Err(error) if [ENODEV, ENOENT].contains(&error.errno) => Ok(()),
            other => other.map_err(overtaken),
        }
    }
}

/// The kernel's answers when another program than the expected one runs.
pub(super) fn overtaken(error: sys::Error) -> Error {
    if [EBUSY, EEXIST].contains(&error.errno) {
        return Error::Overtaken { interface: error.object.clone(), source: error };
    }
    Error::from_call(error)
}
