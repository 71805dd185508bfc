//! Checksums that are to be right, or wrong on purpose.

use super::{Builder, Slot};
use crate::stream::error::Error;
use crate::stream::value::{Atom, Value};

/// The addresses of a packet, for the sums of what it carries (RFC 1071, 8200 section 8.1).
#[derive(Clone, Copy, Debug)]
pub(in crate::stream) struct Network {
    pub is_v6: bool,
    /// Where source and destination start, and how many bytes each has.
    pub source: usize,
    pub destination: usize,
    pub len: usize,
    /// Where the packet finally goes, when its destination is only the next hop.
    pub last_hop: Option<u128>,
}

/// What a checksum covers, from its layer's first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::stream) enum Cover {
    /// The layer's header.
    Header,
    /// All that is behind, too.
    All,
    /// And the addresses of the packet that it is in.
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
    /// A checksum: right unless `value` says `"broken"`, or gives it as a number. `zero_is_none`
    /// allows `"none"`. Call it when the whole header is there.
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
                return Err(self.error(slot.name, "is needed over IPv6; 0 sends none anyway"));
            }
            "none" if zero_is_none => return self.set(slot, &Some(Value::from(0)), 0),
            "right" | "broken" => {}
            _ if zero_is_none => {
                return Err(self.error(slot.name, "is \"right\", \"broken\", \"none\" or a number"));
            }
            _ => return Err(self.error(slot.name, "is \"right\", \"broken\" or a number")),
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
            _ => Err(self.error(slot.name, "covers the protocol's number, which varies: give it")),
        }
    }
}
