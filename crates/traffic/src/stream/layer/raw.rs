//! Bytes of any protocol, with fields that its author says.

use serde::{Deserialize, Serialize};

use super::hex;
use crate::stream::build::{Builder, Names, Slot};
use crate::stream::error::Error;
use crate::stream::number::Kind;
use crate::stream::value::Value;

/// Bytes as they are. First in a frame, they are all of its headers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Raw {
    /// In hexadecimal.
    pub hex: Option<String>,
    pub text: Option<String>,
    /// Parts of these bytes that have other values.
    pub fields: Vec<RawField>,
}

/// A part of raw bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawField {
    /// The byte in which it starts, from the layer's first.
    pub at: usize,
    /// The bit of that byte in which it starts, from the most significant one.
    #[serde(default)]
    pub bit: usize,
    /// Of a number; addresses have their own.
    #[serde(default)]
    pub bits: Option<u32>,
    #[serde(default)]
    pub kind: RawKind,
    pub value: Value,
}

/// What the text of a value means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RawKind {
    #[default]
    Number,
    Mac,
    Ipv4,
    Ipv6,
}

/// So many bytes of a frame's beginning may be headers that receivers change.
const HEADERS: usize = 128;

impl Raw {
    pub(super) fn build(&self, b: &mut Builder) -> Result<(), Error> {
        let bytes = match (&self.hex, &self.text) {
            (Some(digits), None) => hex(digits).map_err(|why| b.error("hex", why))?,
            (None, Some(text)) => text.as_bytes().to_vec(),
            _ => return Err(b.error("", "has one of `hex` and `text`")),
        };
        if bytes.is_empty() {
            return Err(b.error("", "has no bytes"));
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
            (_, Some(_)) => return Err(b.error("fields", "an address has no `bits`")),
            _ => return Err(b.error("fields", "a number has 1 to 64 `bits`")),
        };
        let slot =
            Slot::new("fields", self.at.saturating_mul(8).saturating_add(self.bit), bits, kind);
        if self.bit > 7 || slot.bit.saturating_add(bits as usize) > len * 8 {
            return Err(b.error("fields", format!("the one at {} ends outside", self.at)));
        }
        b.clear(slot);
        b.set(slot, &Some(self.value.clone()), 0)
    }
}
