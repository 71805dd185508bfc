//! The setting that permits the kernel to forward IPv4, which routes and route lookups require.

use anyhow::Result;
use lab::Setting;

use super::ActivePath;
use crate::field::{FORWARD, Line};

/// Forwarding is enabled until this is dropped.
#[derive(Debug)]
pub(super) struct Forwarding {
    _allowed: Setting,
}

impl Forwarding {
    /// Enables IPv4 forwarding at the forwarder.
    pub fn allow(line: &Line) -> Result<Self> {
        Ok(Self { _allowed: line.forwarder.hold_sysctl(FORWARD, "1")? })
    }
}

impl ActivePath for Forwarding {}
