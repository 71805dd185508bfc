//! Why a frame cannot be built.

use std::error::Error;
use std::net::IpAddr;

use packet::ParseError;

/// Why a frame cannot be built from its description.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    #[error(transparent)]
    Mac(#[from] ParseError),

    #[error("invalid IP address `{text}`")]
    Address { text: String },

    #[error("{length} bytes are shorter than its headers")]
    TooShort { length: usize },

    /// An IPv4 and an IPv6 address in one packet.
    #[error("{from} and {to} belong to different address families")]
    MixedFamilies { from: IpAddr, to: IpAddr },

    /// A value does not fit in its header field.
    #[error(transparent)]
    Header(Box<dyn Error + Send + Sync>),
}
