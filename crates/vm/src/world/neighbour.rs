//! The hardware address of an IP address on an interface.

use std::net::IpAddr;

use packet::Mac;
use serde::{Deserialize, Serialize};

/// An entry of the neighbor tables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Neighbour {
    pub ip: IpAddr,
    /// Name of the interface.
    pub dev: String,
    #[serde(default)]
    pub mac: Mac,
    #[serde(default)]
    pub state: NeighbourState,
}

/// State of an entry; `NUD_*` of the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NeighbourState {
    /// Resolution is in progress: the address is unknown.
    Incomplete,
    #[default]
    Reachable,
    Stale,
    Delay,
    Probe,
    /// Resolution failed.
    Failed,
    /// Needs no resolution, for example on loopback.
    Noarp,
    Permanent,
}

impl NeighbourState {
    /// Whether the hardware address may be used; `NUD_VALID` of the kernel.
    pub const fn is_valid(self) -> bool {
        !matches!(self, Self::Incomplete | Self::Failed)
    }
}
