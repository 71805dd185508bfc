//! `Builder`: a stream's layers as bytes, with what varies in them and what follows from what.
//!
//! Each layer grows the frame by its header ([`Builder::grow`]), sets its fields, and says what is
//! derived later: the number of what follows (`next`), lengths and checksums (`finish`), which
//! depend on the frame's size.
//!
//! Rule: each bit is given once; a second time is an error that names both.

mod finish;
mod next;
mod slot;
mod sums;
mod vary;

use std::ops::Range;

use super::error::Error;
use super::file::Stream;
use super::layer::Layer;
use super::number::Kind;
use super::range::fit;
use super::value::Value;
use crate::limits::FRAME_MAX;
use crate::template::{Draw, Field};
use next::Next;
pub(super) use next::{Follows, Names};
pub(super) use slot::Slot;
pub(super) use sums::{Cover, Network};

/// A frame that is being laid out.
pub(super) struct Builder<'a> {
    stream: &'a Stream,
    bytes: Vec<u8>,
    draws: Vec<Draw>,
    fields: Vec<Field>,
    flows: vary::FlowDraw,
    claims: Vec<Claim>,
    /// `layer 3 (udp)`, and where it starts.
    layer: String,
    index: usize,
    start: usize,
    next: Next,
    /// Where the layer before says what this one is, and whether that varies.
    carrier: Option<usize>,
    carrier_varies: bool,
    /// Where the innermost Ethernet header starts.
    ethernet: usize,
    /// The innermost IP header so far, whose addresses checksums of what it carries cover.
    network: Option<Network>,
    lengths: Vec<Length>,
    sums: Vec<sums::Sum>,
    filler: Option<Vec<u8>>,
    /// Where headers end, if that is not the end of the last layer.
    headers: Option<usize>,
    /// What is behind the layers is no part of the packet.
    is_padded: bool,
}

/// Bits that were given, and by which field.
struct Claim {
    bits: Range<usize>,
    by: String,
}

/// A 16-bit word that says how many bytes there are from an offset to the packet's end.
struct Length {
    at: usize,
    from: usize,
}

impl<'a> Builder<'a> {
    pub fn new(stream: &'a Stream) -> Self {
        Self {
            stream,
            bytes: Vec::new(),
            draws: Vec::new(),
            fields: Vec::new(),
            flows: vary::FlowDraw::default(),
            claims: Vec::new(),
            layer: String::new(),
            index: 0,
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

    /// Adds the layer with this index.
    pub fn layer(&mut self, index: usize) -> Result<(), Error> {
        let layer = &self.stream.layers[index];
        let before = std::mem::replace(&mut self.layer, layer.label(index));
        self.start = self.bytes.len();
        self.index = index;
        self.enter(layer, &before, self.stream.layers.get(index + 1))?;
        let before = std::mem::replace(&mut self.next, Next::unnamed(Names::Data));
        (self.carrier, self.carrier_varies) = (before.at(), before.varies);
        layer.build(self)?;
        match self.bytes.len() {
            len if len > FRAME_MAX => Err(self.error("", format!("ends behind {FRAME_MAX} bytes"))),
            _ => Ok(()),
        }
    }

    /// The layer's next bytes, as zeros.
    pub fn grow(&mut self, bytes: usize) {
        self.bytes.resize(self.bytes.len() + bytes, 0);
    }

    pub fn append(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Where the bytes so far end.
    pub fn end(&self) -> usize {
        self.bytes.len()
    }

    /// This layer is the Ethernet header of those that follow.
    pub const fn enter_ethernet(&mut self) {
        self.ethernet = self.start;
    }

    pub const fn ethernet(&self) -> usize {
        self.ethernet
    }

    pub const fn enter_network(&mut self, network: Network) {
        self.network = Some(network);
    }

    /// Where the packet finally goes, behind a routing header.
    pub const fn route_to(&mut self, last_hop: u128) {
        if let Some(network) = &mut self.network {
            network.last_hop = Some(last_hop);
        }
    }

    /// From the frame's beginning to the layer's.
    pub const fn start(&self) -> usize {
        self.start
    }

    /// Sets a field, or gives it what it has when nothing is said.
    pub fn set(&mut self, slot: Slot, value: &Option<Value>, default: u128) -> Result<(), Error> {
        match value {
            None => self.write(slot.bit, slot.bits, default),
            Some(value) => {
                self.claim(slot)?;
                self.give(slot, value).map_err(|why| self.error(slot.name, why))?;
            }
        }
        Ok(())
    }

    /// Sets a field that has to be given.
    pub fn require(&mut self, slot: Slot, value: &Option<Value>) -> Result<(), Error> {
        match value {
            None => Err(self.error(slot.name, "is not given, and nothing else says what it is")),
            value => self.set(slot, value, 0),
        }
    }

    /// Sets a field that other parts of the frame follow from: nothing that varies.
    pub fn fix(&mut self, slot: Slot, value: &Option<Value>, default: u128) -> Result<(), Error> {
        match value {
            Some(Value::Vary(_)) => Err(self.error(slot.name, "cannot vary")),
            value => self.set(slot, value, default),
        }
    }

    /// A 16-bit length from an offset of the frame to the packet's end, unless it is given.
    pub fn length(&mut self, slot: Slot, value: &Option<Value>, from: usize) -> Result<(), Error> {
        if value.is_none() {
            self.lengths.push(Length { at: self.start + slot.bit / 8, from });
        }
        self.fix(slot, value, 0)
    }

    /// What is behind the layers belongs to no packet, and is zero.
    pub const fn pad(&mut self) {
        self.is_padded = true;
    }

    /// Headers end here, and these bytes, again and again, are what is behind.
    pub fn fill(&mut self, headers: usize, filler: Option<Vec<u8>>) {
        self.headers = self.headers.or(Some(headers));
        self.filler = filler;
    }

    /// Whether the next layer is one of these.
    pub fn is_before(&self, these: impl Fn(&Layer) -> bool) -> bool {
        self.stream.layers.get(self.index + 1).is_some_and(these)
    }

    /// One that names the stream, the layer and, unless it is empty, the field.
    pub fn error(&self, field: &str, why: impl Into<String>) -> Error {
        Error::new(self.place(&self.layer, field), why)
    }

    fn place(&self, layer: &str, field: &str) -> String {
        let field = if field.is_empty() { "" } else { &format!(", field \"{field}\"") };
        format!("stream \"{}\", {layer}{field}", self.stream.name)
    }

    fn claim(&mut self, slot: Slot) -> Result<(), Error> {
        let at = self.start * 8 + slot.bit;
        let bits = at..at + slot.bits as usize;
        let other = |claim: &&Claim| claim.bits.start < bits.end && bits.start < claim.bits.end;
        if let Some(other) = self.claims.iter().find(other) {
            return Err(self.error(slot.name, format!("overlaps field \"{}\"", other.by)));
        }
        self.claims.push(Claim { bits, by: slot.name.to_owned() });
        Ok(())
    }

    fn give(&mut self, slot: Slot, value: &Value) -> Result<(), String> {
        match value {
            Value::Constant(atom) => {
                let number = fit(slot.kind.parse(atom)?, &atom.to_string(), slot.bits)?;
                self.write(slot.bit, slot.bits, number);
                Ok(())
            }
            Value::Vary(vary) => self.vary(slot, vary),
        }
    }

    /// A number that is given, as far as it is one, or else this.
    pub fn number(value: &Option<Value>, default: u128) -> u128 {
        match value {
            Some(Value::Constant(atom)) => Kind::Number.parse(atom).unwrap_or(default),
            _ => default,
        }
    }

    /// Whether a field is or may be something other than zero.
    pub fn is_other_than_zero(value: &Option<Value>) -> bool {
        value.is_some() && Self::number(value, 1) != 0
    }

    /// Makes room for another value than the one that is there.
    pub fn clear(&mut self, slot: Slot) {
        let at = self.start * 8 + slot.bit;
        for bit in at..at + slot.bits as usize {
            self.bytes[bit / 8] &= !(0x80 >> (bit % 8));
        }
    }

    /// Bits of the layer; those of the number above them are cut off.
    fn write(&mut self, bit: usize, bits: u32, number: u128) {
        let at = self.start * 8 + bit;
        for bit in 0..bits as usize {
            let mask = 0x80u8 >> ((at + bit) % 8);
            if number >> (bits as usize - 1 - bit) & 1 == 1 {
                self.bytes[(at + bit) / 8] |= mask;
            }
        }
    }

    /// Gives the slot what other bits of the frame have, varying with them.
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
