//! `AddressMap`: replaces addresses of one network with addresses of another.

use std::net::IpAddr;
use std::str::FromStr;

use super::{EditError, Side, read, read_map};

/// As text: `[src:|dst:]FROM[/LENGTH]=TO[/LENGTH]`. The first LENGTH bits of an address in FROM are
/// replaced with those of TO, all of them without LENGTH; its other bits remain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressMap {
    side: Side,
    from: Block,
    to: Block,
}

/// Addresses with a common prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Block {
    is_ipv4: bool,
    /// The prefix; an IPv4 address is in the low 32 bits.
    bits: u128,
    /// One for each bit of the prefix.
    mask: u128,
}

impl AddressMap {
    /// Replaces addresses of `from` with addresses of `to`, each with a prefix length.
    ///
    /// # Errors
    /// [`EditError::Families`], or [`EditError::PrefixLength`].
    pub fn new(side: Side, from: (IpAddr, u8), to: (IpAddr, u8)) -> Result<Self, EditError> {
        let (from, to) = (Block::new(from.0, from.1)?, Block::new(to.0, to.1)?);
        if from.is_ipv4 != to.is_ipv4 {
            return Err(EditError::Families);
        }
        Ok(Self { side, from, to })
    }

    /// The new bytes of an address of 4 or 16 bytes; `None` when it does not match.
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
    fn new(address: IpAddr, length: u8) -> Result<Self, EditError> {
        let (bits, longest) = match address {
            IpAddr::V4(v4) => (u128::from(v4.to_bits()), 32),
            IpAddr::V6(v6) => (v6.to_bits(), 128),
        };
        if length > longest {
            return Err(EditError::PrefixLength { address, length });
        }
        // Within the width of the address.
        let all = u128::MAX >> (128 - u32::from(longest));
        let mask = all & !all.checked_shr(length.into()).unwrap_or(0);
        Ok(Self { is_ipv4: address.is_ipv4(), bits: bits & mask, mask })
    }
}

impl FromStr for AddressMap {
    type Err = EditError;

    fn from_str(text: &str) -> Result<Self, EditError> {
        let (side, from, to) = read_map(text, block, block)?;
        Self::new(side, from, to)
    }
}

fn block(text: &str) -> Result<(IpAddr, u8), EditError> {
    let (address, length) = match text.split_once('/') {
        Some((address, length)) => (address, Some(read(length, "prefix length")?)),
        None => (text, None),
    };
    let address: IpAddr = read(address, "IP address or network")?;
    Ok((address, length.unwrap_or(if address.is_ipv4() { 32 } else { 128 })))
}
