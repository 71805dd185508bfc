//! `Outcome` of a check, and the `Reason`: why a check failed.

use std::fmt;

/// How a check ended.
pub type Outcome = Result<(), Reason>;

/// Why a check failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A RST answered the SYN.
    Refused,
    /// A RST came after the connection was made.
    Reset,
    /// The connection was closed before the response.
    Closed,
    /// An ICMP error reported that the packet cannot be delivered.
    Unreachable,
    /// There was no answer within the timeout.
    Timeout,
    /// The response came too slowly or in part.
    Incomplete,
    /// A status of HTTP that is not among the expected ones.
    Status(u16),
    /// The response is not one of HTTP.
    NotHttp,
    /// The datagram does not begin as expected.
    Unexpected,
    /// There is no route to the backend.
    NoRoute,
    /// The MAC address of the next hop is unknown.
    NoNeighbour,
    /// The interface did not accept the packets.
    NotSent,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Refused => "connection refused",
            Self::Reset => "connection reset",
            Self::Closed => "connection closed without a response",
            Self::Unreachable => "unreachable (ICMP)",
            Self::Timeout => "no answer in time",
            Self::Incomplete => "response incomplete in time",
            Self::Status(status) => return write!(f, "HTTP status {status}"),
            Self::NotHttp => "response is not HTTP",
            Self::Unexpected => "unexpected answer",
            Self::NoRoute => "no route to the backend",
            Self::NotSent => "the interface does not accept packets",
            Self::NoNeighbour => "MAC address of the next hop is unknown",
        };
        f.pad(text)
    }
}
