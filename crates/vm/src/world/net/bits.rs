//! Addresses of both families as left-aligned bits, so that one table serves both.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The address as left-aligned bits; IPv4 takes the upper 32.
pub fn of(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => u128::from(v4.to_bits()) << 96,
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

/// The address of those bits.
pub fn address(bits: u128, ipv4: bool) -> IpAddr {
    if ipv4 {
        Ipv4Addr::from_bits((bits >> 96) as u32).into()
    } else {
        Ipv6Addr::from_bits(bits).into()
    }
}

/// The first `length` bits, the others zero.
pub fn cut(bits: u128, length: u8) -> u128 {
    bits & u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0)
}

/// Number of leading bits that two addresses share.
pub fn common(one: u128, other: u128) -> u32 {
    (one ^ other).leading_zeros()
}
