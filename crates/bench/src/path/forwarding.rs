//! The kernel's leave to forward IPv4, which routes and lookups of routes ask for.

use anyhow::Result;
use lab::Setting;

use super::ActivePath;
use crate::field::{FORWARD, Line};

/// Given until dropped.
#[derive(Debug)]
pub(super) struct Forwarding {
    _allowed: Setting,
}

impl Forwarding {
    pub fn allow(line: &Line) -> Result<Self> {
        Ok(Self { _allowed: line.forwarder.hold_sysctl(FORWARD, "1")? })
    }
}

impl ActivePath for Forwarding {}
