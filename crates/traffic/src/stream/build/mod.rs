//! `Builder`: lays out the layers of a stream as bytes, with the fields that vary.
//!
//! Each layer extends the frame by its header ([`Builder::grow`]), sets its fields, and declares
//! what is derived later: the number of the next layer (`next`), and lengths and checksums
//! (`finish`), which depend on the frame's size. Protocols are not known here.
//!
//! Rule: each bit is set once; setting it again is an error that names both fields.

mod finish;
mod next;
mod slot;
mod sums;
mod vary;

use std::ops::Range;

use super::error::{Error, Reason};
use super::flows::Flows;
use super::number::Kind;
use super::range::fit;
use super::size::Sizes;
use super::value::Value;
use crate::limits::FRAME_MAX;
use crate::stamp::{Expect, Stamp};
use crate::template::{Draw, Field};
use next::Next;
pub(super) use next::{Follows, Names};
pub(super) use slot::Slot;
pub(super) use sums::{Cover, Network};

/// The properties of a stream's frames besides their layers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frames<'a> {
    pub name: &'a str,
    pub weight: u32,
    /// With a stamp, and the behavior that is expected of a device under test.
    pub stamp: Option<Expect>,
    pub size: Option<&'a Sizes>,
    pub flows: Option<&'a Flows>,
    /// At least one layer is a VLAN tag.
    pub is_tagged: bool,
}

impl Frames<'_> {
    const fn stamp_len(&self) -> usize {
        if self.stamp.is_some() { Stamp::LEN } else { 0 }
    }
}

/// A frame that is being laid out.
pub(super) struct Builder<'a> {
    frames: Frames<'a>,
    bytes: Vec<u8>,
    draws: Vec<Draw>,
    fields: Vec<Field>,
    flows: vary::FlowDraw,
    claims: Vec<Claim>,
    /// The current layer, as errors name it: `layer 3 (udp)`.
    layer: String,
    /// Offset of the current layer in the frame.
    start: usize,
    next: Next,
    /// Offset of the byte in the previous layer that names this one.
    carrier: Option<usize>,
    /// Whether that byte varies.
    carrier_varies: bool,
    /// Offset of the innermost Ethernet header.
    ethernet: usize,
    /// The innermost IP header so far, for the pseudo headers of the layers that it carries.
    network: Option<Network>,
    lengths: Vec<Length>,
    sums: Vec<sums::Sum>,
    filler: Option<Vec<u8>>,
    /// Offset of the end of the headers, if that is not the end of the last layer.
    headers: Option<usize>,
    /// Bytes after the layers are not part of the packet.
    is_padded: bool,
}

/// Bits of the frame that were set, and the field that set them.
struct Claim {
    bits: Range<usize>,
    by: String,
}

/// A 16-bit length field: the number of bytes from an offset to the end of the packet.
struct Length {
    at: usize,
    from: usize,
}

impl<'a> Builder<'a> {
    /// An empty frame.
    pub fn new(frames: Frames<'a>) -> Self {
        Self {
            frames,
            bytes: Vec::new(),
            draws: Vec::new(),
            fields: Vec::new(),
            flows: vary::FlowDraw::default(),
            claims: Vec::new(),
            layer: String::new(),
            start: 0,
            next: Next::start(),
            carrier: None,
            carrier_varies: false,
            ethernet: 0,
            network: None,
            lengths: Vec::new(),
            sums: Vec::new(),
            filler: None,
            headers: None,
            is_padded: false,
        }
    }

    /// Begins the next layer. `label` names it in errors; `follows` states whether it may follow
    /// the previous layer, and by which number.
    pub fn begin(&mut self, label: String, follows: Follows) -> Result<(), Error> {
        let previous = std::mem::replace(&mut self.layer, label);
        self.start = self.bytes.len();
        self.enter(follows, &previous)?;
        let previous = std::mem::replace(&mut self.next, Next::unnamed(Names::Data));
        (self.carrier, self.carrier_varies) = (previous.at(), previous.varies);
        Ok(())
    }

    /// Ends the layer that was begun.
    pub fn end_layer(&self) -> Result<(), Error> {
        match self.bytes.len() {
            len if len > FRAME_MAX => Err(self.error("", Reason::LayersTooLong)),
            _ => Ok(()),
        }
    }

    /// Appends this many zero bytes.
    pub fn grow(&mut self, bytes: usize) {
        self.bytes.resize(self.bytes.len() + bytes, 0);
    }

    /// Appends these bytes.
    pub fn append(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Number of bytes so far.
    pub fn end(&self) -> usize {
        self.bytes.len()
    }

    /// Declares this layer the Ethernet header of the layers that follow.
    pub const fn enter_ethernet(&mut self) {
        self.ethernet = self.start;
    }

    /// Offset of the innermost Ethernet header.
    pub const fn ethernet(&self) -> usize {
        self.ethernet
    }

    /// Declares this layer the IP header of the layers that follow.
    pub const fn enter_network(&mut self, network: Network) {
        self.network = Some(network);
    }

    /// Sets the final destination of the packet, from a routing header.
    pub const fn route_to(&mut self, last_hop: u128) {
        if let Some(network) = &mut self.network {
            network.last_hop = Some(last_hop);
        }
    }

    /// Offset of the current layer in the frame.
    pub const fn start(&self) -> usize {
        self.start
    }

    /// Sets a field to its value, or to `default` without one.
    pub fn set(&mut self, slot: Slot, value: &Option<Value>, default: u128) -> Result<(), Error> {
        match value {
            None => self.write(slot.bit, slot.bits, default),
            Some(value) => {
                self.claim(slot)?;
                self.give(slot, value).map_err(|reason| self.error(slot.name, reason))?;
            }
        }
        Ok(())
    }

    /// Sets a field that must have a value.
    pub fn require(&mut self, slot: Slot, value: &Option<Value>) -> Result<(), Error> {
        match value {
            None => Err(self.error(slot.name, Reason::Missing)),
            value => self.set(slot, value, 0),
        }
    }

    /// Sets a field from which other parts of the frame are derived: it cannot vary.
    pub fn fix(&mut self, slot: Slot, value: &Option<Value>, default: u128) -> Result<(), Error> {
        match value {
            Some(Value::Vary(_)) => Err(self.error(slot.name, Reason::CannotVary)),
            value => self.set(slot, value, default),
        }
    }

    /// Sets a 16-bit length field: bytes from an offset of the frame to the end of the packet,
    /// unless a value is given.
    pub fn length(&mut self, slot: Slot, value: &Option<Value>, from: usize) -> Result<(), Error> {
        if value.is_none() {
            self.lengths.push(Length { at: self.start + slot.bit / 8, from });
        }
        self.fix(slot, value, 0)
    }

    /// Bytes after the layers are padding: zero, and not part of the packet.
    pub const fn pad(&mut self) {
        self.is_padded = true;
    }

    /// Ends the headers at this offset; the payload repeats the bytes of `filler`.
    pub fn fill(&mut self, headers: usize, filler: Option<Vec<u8>>) {
        self.headers = self.headers.or(Some(headers));
        self.filler = filler;
    }

    /// An error that names the stream, the layer and, unless it is empty, the field.
    pub fn error(&self, field: &str, reason: impl Into<Reason>) -> Error {
        Error::new(self.place(&self.layer, field), reason)
    }

    fn place(&self, layer: &str, field: &str) -> String {
        let field = if field.is_empty() { "" } else { &format!(", field \"{field}\"") };
        format!("stream \"{}\", {layer}{field}", self.frames.name)
    }

    fn claim(&mut self, slot: Slot) -> Result<(), Error> {
        let at = self.start * 8 + slot.bit;
        let bits = at..at + slot.bits as usize;
        let other = |claim: &&Claim| claim.bits.start < bits.end && bits.start < claim.bits.end;
        if let Some(other) = self.claims.iter().find(other) {
            let field = other.by.clone();
            return Err(self.error(slot.name, Reason::Overlap { field }));
        }
        self.claims.push(Claim { bits, by: slot.name.to_owned() });
        Ok(())
    }

    fn give(&mut self, slot: Slot, value: &Value) -> Result<(), Reason> {
        match value {
            Value::Constant(atom) => {
                let number = fit(slot.kind.parse(atom)?, &atom.to_string(), slot.bits)?;
                self.write(slot.bit, slot.bits, number);
                Ok(())
            }
            Value::Vary(vary) => self.vary(slot, vary),
        }
    }

    /// The value as a number if it is a constant number, otherwise `default`.
    pub fn number(value: &Option<Value>, default: u128) -> u128 {
        match value {
            Some(Value::Constant(atom)) => Kind::Number.parse(atom).unwrap_or(default),
            _ => default,
        }
    }

    /// Whether a field is, or may be, other than zero.
    pub fn is_other_than_zero(value: &Option<Value>) -> bool {
        value.is_some() && Self::number(value, 1) != 0
    }

    /// Sets all bits of the slot to zero.
    pub fn clear(&mut self, slot: Slot) {
        let at = self.start * 8 + slot.bit;
        for bit in at..at + slot.bits as usize {
            self.bytes[bit / 8] &= !(0x80 >> (bit % 8));
        }
    }

    /// Writes the low bits of the number at a bit of the layer.
    fn write(&mut self, bit: usize, bits: u32, number: u128) {
        let at = self.start * 8 + bit;
        for bit in 0..bits as usize {
            let mask = 0x80u8 >> ((at + bit) % 8);
            if number >> (bits as usize - 1 - bit) & 1 == 1 {
                self.bytes[(at + bit) / 8] |= mask;
            }
        }
    }

    /// Copies other bits of the frame, with the fields that vary in them.
    pub fn copy(&mut self, slot: Slot, from_bit: usize) {
        let to_bit = self.start * 8 + slot.bit;
        for bit in 0..slot.bits as usize {
            let (from, to) = (from_bit + bit, to_bit + bit);
            if self.bytes[from / 8] & 0x80 >> (from % 8) != 0 {
                self.bytes[to / 8] |= 0x80 >> (to % 8);
            }
        }
        let inside =
            |field: &&Field| (from_bit..from_bit + slot.bits as usize).contains(&field.bit_at);
        let name = |field: &Field| Field {
            name: slot.name.to_owned(),
            bit_at: to_bit + field.bit_at - from_bit,
            ..field.clone()
        };
        let copies: Vec<_> = self.fields.iter().filter(inside).map(name).collect();
        self.fields.extend(copies);
    }
}
