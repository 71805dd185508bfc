//! `AddressMap`: addresses of one network for those of another.

use std::net::IpAddr;
use std::str::FromStr;

use super::{Side, read, read_map};

/// As text: `[src:|dst:]FROM[/LENGTH]=TO[/LENGTH]`. An address that FROM covers gets the first
/// LENGTH bits of TO, all of them without LENGTH; its other bits stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressMap {
    side: Side,
    from: Block,
    to: Block,
}

/// Addresses that have their first bits in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Block {
    is_ipv4: bool,
    /// An IPv4 address is in the low 32 bits.
    bits: u128,
    /// One where the bits count.
    mask: u128,
}

impl AddressMap {
    /// # Errors
    /// Two families, or a length that is longer than the address.
    pub fn new(side: Side, from: (IpAddr, u8), to: (IpAddr, u8)) -> Result<Self, String> {
        let (from, to) = (Block::new(from.0, from.1)?, Block::new(to.0, to.1)?);
        if from.is_ipv4 != to.is_ipv4 {
            return Err("an IPv4 address cannot become an IPv6 address, nor the reverse".into());
        }
        Ok(Self { side, from, to })
    }

    /// The new bytes of an address of 4 or 16.
    pub(super) fn map(&self, side: Side, address: &[u8]) -> Option<Vec<u8>> {
        let bits = address.iter().fold(0, |bits, byte| bits << 8 | u128::from(*byte));
        let is_ipv4 = address.len() == 4;
        let fits = self.side.covers(side)
            && is_ipv4 == self.from.is_ipv4
            && bits & self.from.mask == self.from.bits;
        let new = self.to.bits | (bits & !self.to.mask);
        fits.then(|| new.to_be_bytes()[16 - address.len()..].to_vec())
    }
}

impl Block {
    fn new(address: IpAddr, length: u8) -> Result<Self, String> {
        let (bits, longest) = match address {
            IpAddr::V4(v4) => (u128::from(v4.to_bits()), 32),
            IpAddr::V6(v6) => (v6.to_bits(), 128),
        };
        if length > longest {
            return Err(format!("{address}/{length} is longer than the address"));
        }
        // Within the width of the address.
        let all = u128::MAX >> (128 - u32::from(longest));
        let mask = all & !all.checked_shr(length.into()).unwrap_or(0);
        Ok(Self { is_ipv4: address.is_ipv4(), bits: bits & mask, mask })
    }
}

impl FromStr for AddressMap {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (side, from, to) = read_map(text, block, block)?;
        Self::new(side, from, to)
    }
}

fn block(text: &str) -> Result<(IpAddr, u8), String> {
    let (address, length) = match text.split_once('/') {
        Some((address, length)) => (address, Some(read(length, "length of a network")?)),
        None => (text, None),
    };
    let address: IpAddr = read(address, "IP address or network")?;
    Ok((address, length.unwrap_or(if address.is_ipv4() { 32 } else { 128 })))
}
