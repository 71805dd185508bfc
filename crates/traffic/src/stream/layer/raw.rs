//! Bytes of any protocol, with fields at given places.

use serde::{Deserialize, Serialize};

use super::hex;
use crate::stream::build::{Builder, Names, Slot};
use crate::stream::error::{Error, Reason};
use crate::stream::number::Kind;
use crate::stream::value::Value;

/// Bytes as given. As the first layer they are all headers of the frame.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Raw {
    /// The bytes in hexadecimal.
    pub hex: Option<String>,
    /// The bytes as text.
    pub text: Option<String>,
    /// Parts of these bytes with values of their own.
    pub fields: Vec<RawField>,
}

/// A part of raw bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawField {
    /// Byte in which it starts, counted from the first byte of the layer.
    pub at: usize,
    /// Bit of that byte in which it starts, counted from the most significant bit.
    #[serde(default)]
    pub bit: usize,
    /// Width of a number, 1 to 64; addresses have a width of their own.
    #[serde(default)]
    pub bits: Option<u32>,
    #[serde(default)]
    /// Format of the value.
    pub kind: RawKind,
    /// The value, constant or varying.
    pub value: Value,
}

/// The format of a raw field's value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RawKind {
    #[default]
    Number,
    Mac,
    Ipv4,
    Ipv6,
}

/// Bytes at the beginning of a frame that may be headers which receivers change.
const HEADERS: usize = 128;

impl Raw {
    pub(super) fn build(&self, b: &mut Builder) -> Result<(), Error> {
        let bytes = match (&self.hex, &self.text) {
            (Some(digits), None) => hex(digits).map_err(|reason| b.error("hex", reason))?,
            (None, Some(text)) => text.as_bytes().to_vec(),
            _ => return Err(b.error("", Reason::OneOf { keys: "`hex` and `text`" })),
        };
        if bytes.is_empty() {
            return Err(b.error("", Reason::NoBytes));
        }
        b.append(&bytes);
        for field in &self.fields {
            field.build(b, bytes.len())?;
        }
        if b.start() + bytes.len() > HEADERS {
            b.fill(b.start().max(HEADERS), None);
        }
        b.unnamed(Names::Data);
        Ok(())
    }
}

impl RawField {
    fn build(&self, b: &mut Builder, len: usize) -> Result<(), Error> {
        let (kind, width) = match self.kind {
            RawKind::Number => (Kind::Number, None),
            RawKind::Mac => (Kind::Mac, Some(48)),
            RawKind::Ipv4 => (Kind::V4, Some(32)),
            RawKind::Ipv6 => (Kind::V6, Some(128)),
        };
        let bits = match (self.bits, width) {
            (Some(bits @ 1..=64), None) => bits,
            (None, Some(bits)) => bits,
            (_, Some(_)) => return Err(b.error("fields", Reason::AddressBits)),
            _ => return Err(b.error("fields", Reason::NumberBits)),
        };
        let slot =
            Slot::new("fields", self.at.saturating_mul(8).saturating_add(self.bit), bits, kind);
        if self.bit > 7 || slot.bit.saturating_add(bits as usize) > len * 8 {
            return Err(b.error("fields", Reason::FieldOutside { at: self.at }));
        }
        b.clear(slot);
        b.set(slot, &Some(self.value.clone()), 0)
    }
}
