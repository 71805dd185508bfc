//! `EditError`: text that is not a valid edit.

use std::net::IpAddr;

use packet::ParseError;

/// Why text is not a valid edit of captured frames.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// A map without `=`.
    #[error("invalid map `{text}`; expected FROM=TO, optionally after src: or dst:")]
    Map { text: String },
    /// A part of a map that is not a valid `kind`.
    #[error("invalid {kind} `{text}`")]
    Value { text: String, kind: &'static str },
    /// A part of a map that is not an Ethernet address.
    #[error(transparent)]
    Mac(#[from] ParseError),
    /// An IPv4 and an IPv6 address in one map.
    #[error("an IPv4 address cannot become an IPv6 address, nor the reverse")]
    Families,
    /// A prefix length that exceeds the address.
    #[error("the prefix length of {address}/{length} is longer than the address")]
    PrefixLength { address: IpAddr, length: u8 },
    /// A range of ports whose last port is less than its first.
    #[error("invalid range of ports `{text}`: it ends below its first port")]
    PortRange { text: String },
    /// A VLAN id that is not a number of 12 bits.
    #[error("invalid VLAN id `{text}`; expected 0 to 4095")]
    VlanId { text: String },
    /// Text that is not a change to VLAN tags.
    #[error("invalid VLAN edit `{text}`; expected set:ID, push:ID or strip")]
    Vlan { text: String },
}
