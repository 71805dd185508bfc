//! IPv6's extension headers (RFC 8200 section 4).

use std::net::Ipv6Addr;

use serde::{Deserialize, Serialize};

use super::hex;
use crate::stream::build::{Builder, Names, Slot};
use crate::stream::error::{Error, Reason};
use crate::stream::value::Value;

/// Hop-by-hop or destination options.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Hexadecimal, with types and lengths; padded to a multiple of 8 bytes.
    pub options: Option<String>,
    /// Derived from the next layer unless given.
    pub next_header: Option<Value>,
}

/// A routing header.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Routing {
    /// Routing type, 4 unless given: segment routing (RFC 8754), which lists addresses last first.
    pub kind: Option<Value>,
    /// The number of addresses unless given; one less for segment routing, because the packet is
    /// already on its way to the last of them. Unless it is 0, checksums are for the final address.
    pub segments_left: Option<Value>,
    /// Addresses of the route, 1 to 100.
    pub addresses: Vec<Ipv6Addr>,
    /// Derived from the next layer unless given.
    pub next_header: Option<Value>,
}

/// A fragment header.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Fragment {
    /// In units of 8 bytes, 0 unless given. After another value only bytes may follow.
    pub offset: Option<Value>,
    /// The flag "more fragments", 0 unless given.
    pub more: Option<Value>,
    /// Identification, 0 unless given.
    pub id: Option<Value>,
    /// Derived from the next layer unless given.
    pub next_header: Option<Value>,
}

const NEXT_HEADER: Slot = Slot::number("next_header", 0, 8);

impl Options {
    pub(super) fn build(&self, b: &mut Builder) -> Result<(), Error> {
        let options = hex(self.options.as_deref().unwrap_or_default());
        let options = options.map_err(|reason| b.error("options", reason))?;
        let len = (options.len() + 2).next_multiple_of(8);
        if len > 8 * 256 {
            let (len, max) = (options.len(), 2046);
            return Err(b.error("options", Reason::OptionsTooLong { len, max }));
        }
        b.append(&[0, (len / 8 - 1) as u8]);
        b.append(&options);
        b.append(&padding(len - 2 - options.len()));
        b.named(Names::Extension, NEXT_HEADER, &self.next_header)
    }
}

/// Pad1, or PadN with zeros.
fn padding(len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    if let [first, second, ..] = &mut bytes[..] {
        (*first, *second) = (1, len as u8 - 2);
    }
    bytes
}

impl Routing {
    const SEGMENTS: u128 = 4;

    pub(super) fn build(&self, b: &mut Builder) -> Result<(), Error> {
        let count = self.addresses.len();
        if !(1..=100).contains(&count) {
            return Err(b.error("addresses", Reason::AddressCount { count }));
        }
        b.append(&[0, 2 * count as u8, 0, 0, 0, 0, 0, 0]);
        for address in &self.addresses {
            b.append(&address.octets());
        }
        let is_segment_routing = Builder::number(&self.kind, Self::SEGMENTS) == Self::SEGMENTS;
        let left = count as u128 - u128::from(is_segment_routing);
        b.fix(Slot::number("kind", 16, 8), &self.kind, Self::SEGMENTS)?;
        b.fix(Slot::number("segments_left", 24, 8), &self.segments_left, left)?;
        let mut last = self.addresses[count - 1];
        if is_segment_routing {
            b.set(Slot::number("last_entry", 32, 8), &None, count as u128 - 1)?;
            last = self.addresses[0];
        }
        if Builder::number(&self.segments_left, left) > 0 {
            b.route_to(last.to_bits());
        }
        b.named(Names::Extension, NEXT_HEADER, &self.next_header)
    }
}

impl Fragment {
    pub(super) fn build(&self, b: &mut Builder) -> Result<(), Error> {
        b.grow(8);
        b.set(Slot::number("offset", 16, 13), &self.offset, 0)?;
        b.set(Slot::number("more", 31, 1), &self.more, 0)?;
        b.set(Slot::number("id", 32, 32), &self.id, 0)?;
        b.named(Names::Extension, NEXT_HEADER, &self.next_header)?;
        if Builder::is_other_than_zero(&self.offset) {
            b.only_data();
        }
        Ok(())
    }
}
