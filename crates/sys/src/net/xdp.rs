//! Which XDP programs an interface holds, and attaching one by netlink.
//!
//! Netlink attaches without a link object: the program persists until a process removes it.
//! `kernel` uses it where the kernel has no XDP links, and to obtain the driver's message when a
//! link fails.

use std::os::fd::{AsRawFd, BorrowedFd};

use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkMessage, LinkXdp};

use super::{Ifindex, Netlink};
use crate::error::Result;

/// Where in an interface a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum XdpMode {
    /// In the driver, before a socket buffer exists.
    Native,
    /// In the stack, on a socket buffer.
    Generic,
    /// On the card.
    Offload,
}

/// Program ids that sit on an interface, by mode. More than one may.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct XdpState {
    /// Id of the program in native mode.
    pub native: Option<u32>,
    /// Id of the program in generic mode.
    pub generic: Option<u32>,
    /// Id of the program that is offloaded to the device.
    pub offload: Option<u32>,
}

/// What must be attached before a change; otherwise the change fails with `EBUSY` or `EEXIST`.
#[derive(Clone, Copy, Debug)]
pub enum XdpExpect<'fd> {
    Anything,
    Nothing,
    Program(BorrowedFd<'fd>),
}

impl XdpMode {
    /// All modes.
    pub const ALL: [Self; 3] = [Self::Native, Self::Generic, Self::Offload];

    /// As options, JSON and tables spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Generic => "generic",
            Self::Offload => "offload",
        }
    }

    /// `XDP_FLAGS_*_MODE`, the same for netlink and for `bpf(LINK_CREATE)`.
    pub const fn flag(self) -> u32 {
        match self {
            Self::Generic => 1 << 1,
            Self::Native => 1 << 2,
            Self::Offload => 1 << 3,
        }
    }
}

impl XdpState {
    /// Id of the program in a mode.
    pub fn id(&self, mode: XdpMode) -> Option<u32> {
        match mode {
            XdpMode::Native => self.native,
            XdpMode::Generic => self.generic,
            XdpMode::Offload => self.offload,
        }
    }

    /// Mode and program id of each program, fastest mode last.
    pub fn programs(&self) -> impl Iterator<Item = (XdpMode, u32)> + '_ {
        XdpMode::ALL.into_iter().filter_map(|mode| Some((mode, self.id(mode)?)))
    }

    /// Whether no program is attached.
    pub fn is_empty(&self) -> bool {
        self.programs().next().is_none()
    }

    pub(super) fn from_attributes(attributes: &[LinkXdp]) -> Self {
        let mut state = Self::default();
        for attribute in attributes {
            match attribute {
                LinkXdp::DrvProgId(id) => state.native = Some(*id),
                LinkXdp::SkbProgId(id) => state.generic = Some(*id),
                LinkXdp::HwProgId(id) => state.offload = Some(*id),
                _ => {}
            }
        }
        state
    }
}

impl Netlink {
    /// Attaches `program`, or detaches when it is `None`. Without a mode the kernel chooses native
    /// where the driver can, else generic. `EOPNOTSUPP` carries the driver's sentence.
    pub fn set_xdp(
        &mut self,
        ifindex: Ifindex,
        program: Option<BorrowedFd<'_>>,
        mode: Option<XdpMode>,
        expect: XdpExpect<'_>,
    ) -> Result<()> {
        let fd = program.map_or(-1, |program| program.as_raw_fd());
        let mut flags = mode.map_or(0, XdpMode::flag);
        let mut xdp = vec![LinkXdp::Fd(fd)];
        match expect {
            XdpExpect::Anything => {}
            XdpExpect::Nothing => flags |= XDP_FLAGS_UPDATE_IF_NOEXIST,
            XdpExpect::Program(old) => {
                flags |= XDP_FLAGS_REPLACE;
                xdp.push(LinkXdp::ExpectedFd(old.as_raw_fd() as u32));
            }
        }
        xdp.push(LinkXdp::Flags(flags));
        let mut message = LinkMessage::default();
        message.header.index = ifindex.0;
        message.attributes.push(LinkAttribute::Xdp(xdp));
        let call = if program.is_some() {
            "rtnetlink(RTM_SETLINK, XDP attach)"
        } else {
            "rtnetlink(RTM_SETLINK, XDP detach)"
        };
        let object = self.name_of(ifindex);
        self.ask(call, &object, &RouteNetlinkMessage::SetLink(message), 0)?;
        Ok(())
    }
}

const XDP_FLAGS_UPDATE_IF_NOEXIST: u32 = 1 << 0;
const XDP_FLAGS_REPLACE: u32 = 1 << 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_all_modes_are_told_apart() {
        let state = XdpState::from_attributes(&[
            LinkXdp::SkbProgId(7),
            LinkXdp::DrvProgId(5),
            LinkXdp::ProgId(9),
        ]);
        let programs: Vec<_> = state.programs().collect();
        assert_eq!(programs, [(XdpMode::Native, 5), (XdpMode::Generic, 7)]);
        assert!(!state.is_empty());
        assert!(XdpState::default().is_empty());
    }
}
