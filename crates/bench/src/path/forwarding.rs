//! The kernel's leave to forward IPv4, which routes and lookups of routes ask for.

use anyhow::Result;
use lab::Host;

use super::Set;
use crate::field::{FORWARD, Line};

/// Given until dropped.
#[derive(Debug)]
pub(super) struct Forwarding {
    host: Host,
    before: String,
}

impl Forwarding {
    pub fn allow(line: &Line) -> Result<Self> {
        let host = line.forwarder.clone();
        let before = host.netns().sysctl(FORWARD)?;
        host.set_sysctl(FORWARD, "1")?;
        Ok(Self { host, before })
    }
}

impl Drop for Forwarding {
    fn drop(&mut self) {
        // The namespace ends with the run, whatever it says.
        let _ = self.host.set_sysctl(FORWARD, &self.before);
    }
}

impl Set for Forwarding {}
