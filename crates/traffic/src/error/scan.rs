//! `ScanError`: why a scan cannot be planned.

use std::net::IpAddr;

use packet::ParseError;

/// Why a scan cannot be planned.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScanError {
    /// A text does not describe targets.
    #[error(transparent)]
    Text(#[from] ParseError),
    /// A line of a file does not describe targets.
    #[error("line {line}: {reason}")]
    Line { line: usize, reason: ParseError },
    /// No target was named.
    #[error("there are no targets: name networks, ranges or addresses")]
    Empty,
    /// Each target is excluded.
    #[error("all {blocked} addresses are excluded")]
    AllBlocked { blocked: u128 },
    /// More targets than an order can number.
    #[error("there are more than 2^128 targets: name fewer addresses or ports")]
    TooMany,
    /// A pattern with too many addresses.
    #[error("`{text}` has more than 2^64 addresses: name fewer subnets or hosts")]
    LargePattern { text: String },
    /// A large pattern that shares addresses with another target.
    #[error(
        "`{text}` has more than {max} subnets and overlaps another target between {first} and \
         {last}: name the overlapping part only once"
    )]
    Overlap { text: String, max: u128, first: IpAddr, last: IpAddr },
    /// An address outside of private networks.
    #[error(
        "{address} is not in a private or documentation network: public addresses are scanned \
         only with --public, and --contact with a page that explains the scan"
    )]
    Public { address: IpAddr },
    /// A frame that cannot be a probe.
    #[error("this frame cannot be a probe: {reason}")]
    Frame { reason: &'static str },
    /// The table of targets that answered has a size that cannot be indexed.
    #[error(
        "the table of targets that answered must have a power of two bytes from 64, not {bytes}"
    )]
    SeenBytes { bytes: u64 },
    /// A target of the other address family.
    #[error("{address} is not of the address family of the probes: scan each family separately")]
    Family { address: IpAddr },
    /// A shard that does not exist.
    #[error("invalid shard `{text}`: expected I/N, with I from 1 to N")]
    Shard { text: String },
}
