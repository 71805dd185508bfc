//! Builds BTF: from nothing, or after an existing blob whose ids and strings remain valid.
//!
//! Rule: what was added keeps its id; nothing is ever renumbered. Types may refer to ids that
//! are added later. Not here: changing types in place (`kernel`).

use std::collections::HashMap;

use super::types::{KIND_FLAG, RECORD_LEN, Type, word};
use super::{Btf, HEADER_LEN, Kind, MAGIC};
use crate::Error;

/// How a function or variable is seen from other files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Linkage {
    Static = 0,
    Global = 1,
    Extern = 2,
}

/// What to add to the ids and string offsets of a blob that was appended to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Appended {
    types: u32,
    strings: u32,
}

impl Appended {
    /// The new id; `void` remains `void`.
    pub fn type_id(self, id: u32) -> u32 {
        if id == 0 { 0 } else { id.saturating_add(self.types) }
    }

    /// The new string offset; the empty string remains at 0.
    pub fn string(self, offset: u32) -> u32 {
        if offset == 0 { 0 } else { offset.saturating_add(self.strings) }
    }
}

/// Collects types and strings, then makes a [`Btf`].
#[derive(Clone, Debug)]
pub struct Builder {
    types: Vec<u8>,
    strings: Vec<u8>,
    known: HashMap<String, u32>,
    next: u32,
}

impl Default for Builder {
    fn default() -> Self {
        Self { types: Vec::new(), strings: vec![0], known: HashMap::new(), next: 1 }
    }
}

impl Builder {
    /// Creates an empty builder.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts from an existing blob; its ids and string offsets do not change.
    pub fn extend(base: &Btf) -> Self {
        let mut builder = Self::new();
        builder.append(base);
        builder
    }

    /// Adds all types and strings of another blob.
    pub fn append(&mut self, other: &Btf) -> Appended {
        if other.is_empty() && other.strings.0 == other.strings.1 {
            return Appended::default();
        }
        let moved = Appended { types: self.next - 1, strings: self.strings.len() as u32 - 1 };
        let table = &other.raw[other.strings.0..other.strings.1];
        // The other table's leading empty string falls on the end of the last one here.
        self.strings.extend_from_slice(table.get(1..).unwrap_or_default());
        if self.strings.last() != Some(&0) {
            self.strings.push(0);
        }
        for ty in other.types() {
            let start = self.types.len();
            self.types.extend_from_slice(ty.record());
            shift(&mut self.types[start..], ty, moved);
            self.next += 1;
        }
        moved
    }

    /// Offset of a string, added if it was not added before. NUL bytes end it.
    pub fn string(&mut self, text: &str) -> u32 {
        let text = text.split('\0').next().unwrap_or_default();
        if text.is_empty() {
            return 0;
        }
        if let Some(offset) = self.known.get(text) {
            return *offset;
        }
        let offset = self.strings.len() as u32;
        self.strings.extend_from_slice(text.as_bytes());
        self.strings.push(0);
        self.known.insert(text.to_owned(), offset);
        offset
    }

    /// An integer of `bits` width, a multiple of eight.
    pub fn int(&mut self, name: &str, bits: u32, signed: bool) -> u32 {
        let id = self.record(name, Kind::Int, 0, bits / 8);
        self.words(&[bits | u32::from(signed) << 24]);
        id
    }

    /// A `bool` of `bits` width.
    pub fn boolean(&mut self, name: &str, bits: u32) -> u32 {
        let id = self.record(name, Kind::Int, 0, bits / 8);
        self.words(&[bits | BOOL]);
        id
    }

    /// Adds a pointer.
    pub fn ptr(&mut self, to: u32) -> u32 {
        self.record("", Kind::Ptr, 0, to)
    }

    /// Adds a typedef.
    pub fn typedef(&mut self, name: &str, of: u32) -> u32 {
        self.record(name, Kind::Typedef, 0, of)
    }

    /// Adds a `const` modifier.
    pub fn constant(&mut self, of: u32) -> u32 {
        self.record("", Kind::Const, 0, of)
    }

    /// Adds an array of `count` elements.
    pub fn array(&mut self, element: u32, index: u32, count: u32) -> u32 {
        let id = self.record("", Kind::Array, 0, 0);
        self.words(&[element, index, count]);
        id
    }

    /// `fields`: name, type, offset in bits.
    pub fn structure(&mut self, name: &str, size: u32, fields: &[(&str, u32, u32)]) -> u32 {
        self.composite(Kind::Struct, name, size, fields)
    }

    /// `fields`: name, type, offset in bits.
    pub fn union(&mut self, name: &str, size: u32, fields: &[(&str, u32, u32)]) -> u32 {
        self.composite(Kind::Union, name, size, fields)
    }

    fn composite(&mut self, kind: Kind, name: &str, size: u32, fields: &[(&str, u32, u32)]) -> u32 {
        let id = self.record(name, kind, fields.len(), size);
        for (name, type_id, bit_offset) in fields {
            let name = self.string(name);
            self.words(&[name, *type_id, *bit_offset]);
        }
        id
    }

    /// A struct or union with bit fields. `fields`: name, type, offset in bits, width in bits or 0
    /// for a whole member. Offsets have 24 bits, widths 8.
    pub fn with_bit_fields(
        &mut self,
        kind: Kind,
        name: &str,
        size: u32,
        fields: &[(&str, u32, u32, u32)],
    ) -> u32 {
        let id = self.flagged(name, kind, fields.len(), size);
        for (name, type_id, bit_offset, bits) in fields {
            let name = self.string(name);
            self.words(&[name, *type_id, bits << 24 | bit_offset & 0x00ff_ffff]);
        }
        id
    }

    /// An enum of 1, 2, 4 or 8 bytes, signed if a value is negative.
    pub fn sized_enumeration(&mut self, name: &str, size: u32, values: &[(&str, i128)]) -> u32 {
        let kind = if size > 4 { Kind::Enum64 } else { Kind::Enum };
        let is_signed = values.iter().any(|(_, value)| *value < 0);
        let id = match is_signed {
            true => self.flagged(name, kind, values.len(), size),
            false => self.record(name, kind, values.len(), size),
        };
        for (name, value) in values {
            let name = self.string(name);
            let words = [name, *value as u32, (*value >> 32) as u32];
            self.words(&words[..if kind == Kind::Enum64 { 3 } else { 2 }]);
        }
        id
    }

    /// A four-byte enum.
    pub fn enumeration(&mut self, name: &str, values: &[(&str, u32)]) -> u32 {
        let id = self.record(name, Kind::Enum, values.len(), 4);
        for (name, value) in values {
            let name = self.string(name);
            self.words(&[name, *value]);
        }
        id
    }

    /// `params`: name, type.
    pub fn func_proto(&mut self, returns: u32, params: &[(&str, u32)]) -> u32 {
        let id = self.record("", Kind::FuncProto, params.len(), returns);
        for (name, type_id) in params {
            let name = self.string(name);
            self.words(&[name, *type_id]);
        }
        id
    }

    /// Adds a function with its prototype.
    pub fn func(&mut self, name: &str, proto: u32, linkage: Linkage) -> u32 {
        self.record(name, Kind::Func, linkage as usize, proto)
    }

    /// Adds a variable.
    pub fn var(&mut self, name: &str, type_id: u32, linkage: Linkage) -> u32 {
        let id = self.record(name, Kind::Var, 0, type_id);
        self.words(&[linkage as u32]);
        id
    }

    /// `vars`: `VAR`, offset, size, in the order of their offsets.
    pub fn datasec(&mut self, name: &str, size: u32, vars: &[(u32, u32, u32)]) -> u32 {
        let id = self.record(name, Kind::Datasec, vars.len(), size);
        for (var, offset, size) in vars {
            self.words(&[*var, *offset, *size]);
        }
        id
    }

    fn record(&mut self, name: &str, kind: Kind, vlen: usize, size_or_type: u32) -> u32 {
        assert!(vlen <= 0xffff, "BTF counts entries in 16 bits");
        let name = self.string(name);
        self.words(&[name, (kind as u32) << 24 | vlen as u32, size_or_type]);
        self.next += 1;
        self.next - 1
    }

    /// A record whose kind flag is set: bit fields, or signed values.
    fn flagged(&mut self, name: &str, kind: Kind, vlen: usize, size: u32) -> u32 {
        let start = self.types.len();
        let id = self.record(name, kind, vlen, size);
        put(&mut self.types[start..], 4, |info| info | KIND_FLAG);
        id
    }

    fn words(&mut self, words: &[u32]) {
        self.types.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    }

    /// Builds the blob and parses it.
    ///
    /// # Errors
    /// [`Error::Btf`] when the parts are together too big for 32-bit offsets.
    pub fn build(&self) -> Result<Btf, Error> {
        let mut raw = Vec::with_capacity(HEADER_LEN + self.types.len() + self.strings.len());
        raw.extend(MAGIC.to_le_bytes());
        raw.extend([1, 0]);
        let types = self.types.len() as u32;
        for word in [HEADER_LEN as u32, 0, types, types, self.strings.len() as u32] {
            raw.extend(word.to_le_bytes());
        }
        raw.extend(&self.types);
        raw.extend(&self.strings);
        Btf::parse(&raw)
    }
}

/// Renumbers the names and ids inside one copied record.
fn shift(record: &mut [u8], ty: Type<'_>, moved: Appended) {
    let mut name = |at| put(record, at, |old| moved.string(old));
    name(0);
    for at in name_places(ty) {
        name(at);
    }
    for at in type_places(ty) {
        put(record, at, |old| moved.type_id(old));
    }
}

fn put(record: &mut [u8], at: usize, change: impl Fn(u32) -> u32) {
    let new = change(word(record, at));
    record[at..at + 4].copy_from_slice(&new.to_le_bytes());
}

/// Offsets of names after the record's own.
fn name_places(ty: Type<'_>) -> impl Iterator<Item = usize> {
    let step = match ty.kind() {
        Kind::Struct | Kind::Union | Kind::Enum64 => 12,
        Kind::Enum | Kind::FuncProto => 8,
        _ => 0,
    };
    let count = if step == 0 { 0 } else { ty.vlen() };
    (0..count).map(move |entry| RECORD_LEN + entry * step)
}

/// Offsets of type ids in a record.
fn type_places(ty: Type<'_>) -> impl Iterator<Item = usize> {
    let (step, field) = match ty.kind() {
        Kind::Struct | Kind::Union => (12, 4),
        Kind::Datasec => (12, 0),
        Kind::FuncProto => (8, 4),
        _ => (0, 0),
    };
    let count = if step == 0 { 0 } else { ty.vlen() };
    let own = ty.kind().has_target().then_some(8);
    let array = (ty.kind() == Kind::Array).then_some([RECORD_LEN, RECORD_LEN + 4]);
    own.into_iter()
        .chain(array.into_iter().flatten())
        .chain((0..count).map(move |entry| RECORD_LEN + entry * step + field))
}

/// Encoding of an `INT` that is a boolean.
const BOOL: u32 = 4 << 24;
