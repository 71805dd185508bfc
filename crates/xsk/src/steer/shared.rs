//! `Shared`: the attached program, or the map of sockets of one that another process attached.

use kernel::Map;

use super::attachment::Attachment;
use super::group::Group;

/// The program on an interface, which all shares and entries hold together.
#[derive(Debug)]
pub(super) struct Shared {
    pub at: At,
}

/// Whether this process attached the program.
#[derive(Debug)]
pub(super) enum At {
    Attached {
        at: Box<Attachment>,
        /// Where this process's rules are, if it has any.
        group: Option<Group>,
    },
    /// Another process holds the program.
    Given { xsks: Map, first: u32 },
}

impl Shared {
    pub fn xsks(&self) -> &Map {
        match &self.at {
            At::Attached { at, .. } => &at.xsks,
            At::Given { xsks, .. } => xsks,
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let At::Attached { at, group: Some(group) } = &self.at {
            group.clear(&at.state);
        }
    }
}
