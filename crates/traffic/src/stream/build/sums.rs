//! Checksums: correct, or wrong on purpose.

use super::{Builder, Slot};
use crate::stream::error::{Error, Reason};
use crate::stream::value::{Atom, Value};

/// Where a packet's addresses are, for pseudo headers (RFC 1071; RFC 8200 section 8.1).
#[derive(Clone, Copy, Debug)]
pub(in crate::stream) struct Network {
    pub is_v6: bool,
    /// Offset of the source address in the frame.
    pub source: usize,
    /// Offset of the destination address in the frame.
    pub destination: usize,
    /// Bytes of an address.
    pub len: usize,
    /// The final destination, when the destination address is only the next hop.
    pub last_hop: Option<u128>,
}

/// The bytes that a checksum covers, from the first byte of its layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::stream) enum Cover {
    /// The layer's header.
    Header,
    /// The header and everything after it.
    All,
    /// As [`Cover::All`], with a pseudo header of the packet's addresses.
    Addressed,
}

/// A checksum of the frame.
#[derive(Clone, Debug)]
pub(super) struct Sum {
    pub at: usize,
    pub from: usize,
    pub to: Option<usize>,
    pub pseudo: Option<(Network, u8)>,
    pub never_zero: bool,
    pub broken: bool,
}

impl Builder<'_> {
    /// Sets a checksum: correct unless `value` is `"broken"` or a number. `zero_is_none` permits
    /// `"none"`. Must be called when the whole header is laid out.
    pub fn checksum(
        &mut self,
        slot: Slot,
        value: &Option<Value>,
        cover: Cover,
        zero_is_none: bool,
    ) -> Result<(), Error> {
        let word = match value {
            Some(Value::Constant(Atom::Text(word))) => word.as_str(),
            None => "right",
            value => return self.set(slot, value, 0),
        };
        match word {
            "none" if zero_is_none && self.network.is_some_and(|network| network.is_v6) => {
                return Err(self.error(slot.name, Reason::ChecksumRequired));
            }
            "none" if zero_is_none => return self.set(slot, &Some(Value::from(0)), 0),
            "right" | "broken" => {}
            _ => {
                let expected = match zero_is_none {
                    true => "\"right\", \"broken\", \"none\"",
                    false => "\"right\", \"broken\"",
                };
                return Err(self.error(slot.name, Reason::ChecksumWord { expected }));
            }
        }
        let pseudo = match cover {
            Cover::Addressed => Some(self.pseudo(slot)?),
            Cover::Header | Cover::All => None,
        };
        self.sums.push(Sum {
            at: self.start + slot.bit / 8,
            from: self.start,
            to: (cover == Cover::Header).then_some(self.bytes.len()),
            never_zero: zero_is_none,
            pseudo,
            broken: word == "broken",
        });
        Ok(())
    }

    fn pseudo(&self, slot: Slot) -> Result<(Network, u8), Error> {
        let network = self.network.filter(|_| !self.carrier_varies);
        match (network, self.carrier) {
            (Some(network), Some(at)) => Ok((network, self.bytes[at])),
            _ => Err(self.error(slot.name, Reason::ChecksumVaries)),
        }
    }
}
