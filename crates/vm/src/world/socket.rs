//! Sockets that programs can look up.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::Protocol;

/// An open socket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Socket {
    pub protocol: Protocol,
    /// Local endpoint. An unspecified address accepts packets to every address of the family;
    /// `[::]` accepts IPv4 as well, unless `ipv6_only`.
    pub local: SocketAddr,
    /// Peer of a connected socket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<SocketAddr>,
    /// State; by default listening without a peer, else established.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<SocketState>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub ipv6_only: bool,
    /// Name of the interface that the socket is bound to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dev: Option<String>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub mark: u32,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub priority: u32,
    /// Receive queue of the socket's packets, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rx_queue: Option<u16>,
    /// Identifier of another network namespace, as seen from this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub netns: Option<u32>,
    /// Whether a listening TCP socket issues SYN cookies because its queue overflowed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub syncookies: bool,
}

/// TCP states; a UDP socket is established when connected, else closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum SocketState {
    Established = 1,
    SynSent = 2,
    SynRecv = 3,
    FinWait1 = 4,
    FinWait2 = 5,
    TimeWait = 6,
    Close = 7,
    CloseWait = 8,
    LastAck = 9,
    Listen = 10,
    Closing = 11,
    NewSynRecv = 12,
}

impl SocketState {
    pub const ALL: [Self; 12] = [
        Self::Established,
        Self::SynSent,
        Self::SynRecv,
        Self::FinWait1,
        Self::FinWait2,
        Self::TimeWait,
        Self::Close,
        Self::CloseWait,
        Self::LastAck,
        Self::Listen,
        Self::Closing,
        Self::NewSynRecv,
    ];

    /// State by the kernel's number, as in `/proc/net/tcp`.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|state| *state as u8 == number)
    }
}

impl Socket {
    /// A listening TCP socket, or a UDP socket without a peer.
    pub fn new(protocol: Protocol, local: SocketAddr) -> Self {
        Self {
            protocol,
            local,
            remote: None,
            state: None,
            ipv6_only: false,
            dev: None,
            mark: 0,
            priority: 0,
            rx_queue: None,
            netns: None,
            syncookies: false,
        }
    }

    /// Sets the peer.
    #[must_use]
    pub fn connected(mut self, remote: SocketAddr) -> Self {
        self.remote = Some(remote);
        self
    }

    /// The state, given or derived from the rest.
    pub fn state(&self) -> SocketState {
        self.state.unwrap_or(match (self.protocol, self.remote) {
            (_, Some(_)) => SocketState::Established,
            (Protocol::Tcp, None) => SocketState::Listen,
            (Protocol::Udp, None) => SocketState::Close,
        })
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands references")]
const fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands references")]
const fn is_false(word: &bool) -> bool {
    !*word
}
