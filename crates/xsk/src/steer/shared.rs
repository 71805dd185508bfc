//! `Shared`: the attached program, or the map of sockets of another process.

use kernel::Map;

use super::attachment::Attachment;
use super::group::Group;

/// The program on an interface, which all shares and entries hold.
#[derive(Debug)]
pub(super) struct Shared {
    pub access: Access,
}

/// How this process reaches the program.
#[derive(Debug)]
pub(super) enum Access {
    /// This process holds the program.
    Attached {
        at: Box<Attachment>,
        /// The group of this process's rules, if it has any.
        group: Option<Group>,
    },
    /// Another process holds the program.
    Given { xsks: Map, first: u32 },
}

impl Shared {
    pub fn xsks(&self) -> &Map {
        match &self.access {
            Access::Attached { at, .. } => &at.xsks,
            Access::Given { xsks, .. } => xsks,
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Access::Attached { at, group: Some(group) } = &self.access {
            group.clear(&at.state);
        }
    }
}
