//! A tracked connection.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::Protocol;

/// An entry of connection tracking.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Connection {
    pub protocol: Protocol,
    /// Endpoints of its first packet.
    pub original: Direction,
    /// Endpoints of packets in the reply direction; without translation the reverse of the
    /// original.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<Direction>,
    #[serde(default = "confirmed")]
    pub status: Vec<Status>,
    /// Lifetime without packets.
    #[serde(default = "two_minutes")]
    pub timeout_s: u32,
    #[serde(default)]
    pub mark: u32,
}

/// Source and destination of packets in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Direction {
    pub from: SocketAddr,
    pub to: SocketAddr,
}

/// State flags of a connection; `IPS_*` of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u32)]
pub enum Status {
    Expected = 1,
    SeenReply = 1 << 1,
    Assured = 1 << 2,
    Confirmed = 1 << 3,
    SourceNat = 1 << 4,
    DestinationNat = 1 << 5,
    SequenceAdjust = 1 << 6,
    SourceNatDone = 1 << 7,
    DestinationNatDone = 1 << 8,
    Dying = 1 << 9,
    FixedTimeout = 1 << 10,
    Template = 1 << 11,
    Untracked = 1 << 12,
    Helper = 1 << 13,
    Offload = 1 << 14,
}

impl Direction {
    /// The reverse direction.
    #[must_use]
    pub const fn swapped(self) -> Self {
        Self { from: self.to, to: self.from }
    }
}

impl Connection {
    /// A confirmed connection without translation.
    pub fn new(protocol: Protocol, from: SocketAddr, to: SocketAddr) -> Self {
        Self {
            protocol,
            original: Direction { from, to },
            reply: None,
            status: confirmed(),
            timeout_s: two_minutes(),
            mark: 0,
        }
    }

    /// Endpoints of packets in the reply direction.
    pub fn reply(&self) -> Direction {
        self.reply.unwrap_or_else(|| self.original.swapped())
    }

    /// The flags as the kernel's bit mask.
    pub fn status_bits(&self) -> u32 {
        self.status.iter().fold(0, |bits, status| bits | *status as u32)
    }
}

fn confirmed() -> Vec<Status> {
    vec![Status::Confirmed]
}

const fn two_minutes() -> u32 {
    120
}
