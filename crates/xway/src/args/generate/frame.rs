//! Contents of a stream's frames, by option.

use clap::{Args, ValueEnum};
use traffic::stream::{Sizes, Value};

use super::parse::{self, Bytes, Vlans};

/// Expected outcome of the frames at a device under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExpectArg {
    /// They arrive
    Pass,
    /// They do not arrive
    Drop,
}

/// Values vary as `1..9`, `10.0.0.0/24`, `1,2,3`, `random:1..9` or `zipf=1.1:1..9`.
#[derive(Clone, Debug, Args)]
pub struct FrameArgs {
    /// Frame size in bytes without the checksum: 60, 64,128, 60..1514, imix
    #[arg(long, value_name = "SIZES")]
    pub size: Option<Sizes>,

    /// Source addresses, such as 10.0.0.0/24; the interface's address without it
    #[arg(long, value_name = "ADDRESSES", value_parser = parse::value)]
    pub src: Option<Value>,

    /// Source MAC addresses; the interface's without it
    #[arg(long, value_name = "MAC", value_parser = parse::value)]
    pub src_mac: Option<Value>,

    /// Destination MAC addresses; that of the next hop without it
    #[arg(long, value_name = "MAC", value_parser = parse::value)]
    pub dst_mac: Option<Value>,

    /// VLAN ID, or outer and inner ID: 7 or 100:7
    #[arg(long, value_name = "ID[:ID]", value_parser = parse::vlans)]
    pub vlan: Option<Vlans>,

    /// Time to live, or hop limit of IPv6
    #[arg(long, value_name = "N")]
    pub ttl: Option<u8>,

    /// Differentiated services code point
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..64))]
    pub dscp: Option<u8>,

    /// Payload, in hexadecimal
    #[arg(long, value_name = "HEX", value_parser = parse::hex)]
    pub payload: Option<Bytes>,

    /// Put a stamp at the end of each frame, so that a sink can verify it; the default if it fits
    #[arg(long, conflicts_with = "no_stamp")]
    pub stamp: bool,

    /// Send frames without a stamp
    #[arg(long)]
    pub no_stamp: bool,

    /// Expected outcome at the device under test
    #[arg(long, value_enum, default_value = "pass", conflicts_with = "no_stamp")]
    pub expect: ExpectArg,

    /// Send wrong checksums
    #[arg(long)]
    pub bad_checksum: bool,
}
