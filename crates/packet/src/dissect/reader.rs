//! Walks over a packet and notes each field with its bytes.
//!
//! Rule: a field that does not fit takes the bytes that are left and ends the walk (`None`), so
//! that a header's function is a list of fields, each followed by `?`.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::{IpProtocol, hex};

use super::{Dissection, Field, Layer, Next};

pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// End of the contents, by the length in the innermost header.
    end: usize,
    layers: Vec<Layer>,
    summary: String,
    truncated: bool,
    /// The packet may end anywhere: a first fragment, or a packet quoted by an ICMP error.
    partial: bool,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            at: 0,
            end: bytes.len(),
            layers: Vec::new(),
            summary: String::new(),
            truncated: false,
            partial: false,
        }
    }

    /// Begins a header with a name.
    pub fn open(&mut self, name: &str) {
        let again = |layer: &&Layer| layer.name.split('#').next() == Some(name);
        let name = match self.layers.iter().filter(again).count() {
            0 => name.to_owned(),
            before => format!("{name}#{}", before + 1),
        };
        self.layers.push(Layer { name, range: self.at..self.at, fields: Vec::new() });
    }

    /// The next `len` bytes, shown in hex.
    pub fn bytes(&mut self, name: &'static str, len: usize) -> Option<&'a [u8]> {
        let left = self.end - self.at;
        let taken = &self.bytes[self.at..self.at + len.min(left)];
        if !taken.is_empty() {
            self.add(name, taken.len(), hex(taken));
        }
        if taken.len() < len {
            self.cut();
            return None;
        }
        Some(taken)
    }

    /// A number of up to eight bytes in network order, shown in decimal.
    pub fn number(&mut self, name: &'static str, len: usize) -> Option<u64> {
        let raw = self.bytes(name, len)?;
        let number = raw.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
        self.say(number.to_string());
        Some(number)
    }

    pub fn byte(&mut self, name: &'static str) -> Option<u8> {
        let byte = *self.bytes(name, 1)?.first()?;
        self.say(byte.to_string());
        Some(byte)
    }

    pub fn half(&mut self, name: &'static str) -> Option<u16> {
        self.number(name, 2).map(|number| number as u16)
    }

    /// Two bytes in hex: types, checksums.
    pub fn code(&mut self, name: &'static str) -> Option<u16> {
        let code = self.half(name)?;
        self.say(format!("{code:#06x}"));
        Some(code)
    }

    pub fn mac(&mut self, name: &'static str) -> Option<String> {
        let raw = self.bytes(name, 6)?;
        let text = raw.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":");
        self.say(text.clone());
        Some(text)
    }

    pub fn ipv4(&mut self, name: &'static str) -> Option<Ipv4Addr> {
        let raw: [u8; 4] = self.bytes(name, 4)?.try_into().ok()?;
        let address = Ipv4Addr::from(raw);
        self.say(address.to_string());
        Some(address)
    }

    pub fn ipv6(&mut self, name: &'static str) -> Option<Ipv6Addr> {
        let raw: [u8; 16] = self.bytes(name, 16)?.try_into().ok()?;
        let address = Ipv6Addr::from(raw);
        self.say(address.to_string());
        Some(address)
    }

    /// Replaces the value of the last field.
    pub fn say(&mut self, value: String) {
        let field = self.layers.last_mut().and_then(|layer| layer.fields.last_mut());
        if let Some(field) = field {
            field.value = value;
        }
    }

    /// Appends to the summary of the packet.
    pub fn sum(&mut self, words: &str) {
        if !self.summary.is_empty() {
            self.summary.push(' ');
        }
        self.summary.push_str(words);
    }

    /// The remaining bytes of the innermost contents.
    pub fn left(&self) -> usize {
        self.end - self.at
    }

    /// A byte that is not read yet, counted from here.
    pub fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes[self.at..self.end].get(ahead).copied()
    }

    /// From here the packet may end anywhere without being truncated.
    pub fn partial(&mut self) {
        self.partial = true;
    }

    /// The contents end `len` bytes from here, if the packet is that long; the bytes after them are
    /// padding.
    pub fn limit(&mut self, len: usize) {
        if len > self.left() {
            self.cut();
        }
        self.end = self.end.min(self.at + len);
    }

    /// Marks the protocol as unknown.
    pub fn other_protocol(&mut self, number: IpProtocol) -> Option<Next> {
        self.sum(&format!("protocol {} len {}", number.0, self.left()));
        None
    }

    /// The rest is payload up to the contents' end, then padding.
    pub fn finish(mut self) -> Dissection {
        self.rest("payload", self.end);
        self.rest("padding", self.bytes.len());
        if self.truncated {
            self.sum("(cut short)");
        }
        let Self { mut layers, summary, truncated, .. } = self;
        layers.retain(|layer| !layer.fields.is_empty());
        Dissection { layers, summary, truncated }
    }

    fn cut(&mut self) {
        self.truncated |= !self.partial;
    }

    fn rest(&mut self, name: &'static str, end: usize) {
        if self.at < end {
            self.end = end;
            self.open(name);
            let len = end - self.at;
            self.add("data", len, shown(&self.bytes[self.at..end]));
        }
    }

    fn add(&mut self, name: &'static str, len: usize, value: String) {
        let range = self.at..self.at + len;
        self.at = range.end;
        if let Some(layer) = self.layers.last_mut() {
            layer.range.end = range.end;
            layer.fields.push(Field { name, range, value });
        }
    }
}

/// Bytes of a payload that are shown.
fn shown(bytes: &[u8]) -> String {
    let more = if bytes.len() > SHOWN { "…" } else { "" };
    format!("{}{more} ({} bytes)", hex(&bytes[..bytes.len().min(SHOWN)]), bytes.len())
}

const SHOWN: usize = 16;
