//! Targets: from text to a [`Space`], which numbers all addresses that are probed.
//!
//! ```text
//! text ─▶ Pattern ─┬─▶ Ranges (overlaps united, exclusions removed) ─┬─▶ Space
//!                  └─▶ large patterns, cut where they are excluded  ─┘
//! ```
//! Rule: addresses of both families are numbers of 128 bits here, IPv4 mapped into IPv6 (RFC 4291).

mod list;
mod pattern;
mod range;
mod space;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

pub use list::Targets;
pub use pattern::Pattern;
pub use space::{Block, Space};

/// Most subnets of a pattern that become ranges; one with more must not overlap other targets.
pub const EXPANDED: u128 = 1 << 16;

/// The number of an address.
pub(super) fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => MAPPED | u128::from(v4.to_bits()),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

/// The address with a number.
pub(super) fn address(number: u128) -> IpAddr {
    match is_ipv4(number) {
        true => Ipv4Addr::from_bits(number as u32).into(),
        false => Ipv6Addr::from_bits(number).into(),
    }
}

fn is_ipv4(number: u128) -> bool {
    number & !0xffff_ffff == MAPPED
}

/// First number of an IPv4 address.
const MAPPED: u128 = 0xffff_0000_0000;
/// Last number of an IPv4 address.
const MAPPED_LAST: u128 = MAPPED | 0xffff_ffff;
