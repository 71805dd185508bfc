//! Values of expressions and variables.

use std::ops::Range;
use std::sync::Arc;

use spec::btf::{Btf, Kind};
use spec::dwarf::Content;

/// The value of an expression.
#[derive(Clone, Debug)]
pub enum Value {
    Number(i128),
    /// What a register holds.
    Word(u64),
    /// Bytes in network order, with the notation of a field of the packet.
    Bytes {
        raw: Vec<u8>,
        shown: Option<String>,
    },
    /// A value by its type in C.
    Typed {
        raw: Vec<u8>,
        types: Arc<Btf>,
        type_id: u32,
        /// Bytes that the compiler keeps nowhere.
        missing: Vec<Range<usize>>,
    },
    /// An address of a value.
    Pointer {
        address: u64,
        types: Arc<Btf>,
        target: u32,
    },
}

impl Value {
    /// A value of a type; a pointer becomes an address.
    pub fn typed(raw: Vec<u8>, types: &Arc<Btf>, type_id: u32) -> Self {
        let types = Arc::clone(types);
        let pointer = types.resolve(type_id).filter(|ty| ty.kind() == Kind::Ptr);
        match (pointer.map(|ty| ty.target()), raw.as_slice().try_into()) {
            (Some(target), Ok(raw)) => {
                Self::Pointer { address: u64::from_le_bytes(raw), types, target }
            }
            _ => Self::Typed { raw, types, type_id, missing: Vec::new() },
        }
    }

    /// The value of a variable, of which parts may be missing.
    pub fn partial(content: Content, types: &Arc<Btf>, type_id: u32) -> Self {
        match content.missing.is_empty() {
            true => Self::typed(content.bytes, types, type_id),
            false => Self::Typed {
                raw: content.bytes,
                types: Arc::clone(types),
                type_id,
                missing: content.missing,
            },
        }
    }

    /// A part of a value: its bytes as a value of another type. `None` if it has not these bytes.
    pub fn part(&self, range: Range<usize>, type_id: u32) -> Option<Self> {
        let Self::Typed { raw, types, missing, .. } = self else { return None };
        let bytes = raw.get(range.clone())?.to_vec();
        let inside = |gap: &Range<usize>| {
            let start = gap.start.max(range.start);
            let end = gap.end.min(range.end);
            (start < end).then(|| start - range.start..end - range.start)
        };
        let missing = missing.iter().filter_map(inside).collect();
        Some(Self::partial(Content { bytes, missing }, types, type_id))
    }

    /// A bit field of a struct, as a value of its whole type.
    pub fn bit_field(&self, start: u32, bits: u32, type_id: u32) -> Option<Self> {
        let Self::Typed { types, .. } = self else { return None };
        let (first, end) = (start / 8, start.checked_add(bits)?.div_ceil(8));
        let part = self.part(first as usize..end as usize, type_id).filter(|_| bits <= 64)?;
        let Self::Typed { raw, missing, .. } = part else { return None };
        let size = usize::try_from(types.size_of(type_id)?).ok()?;
        if !missing.is_empty() {
            return Some(Self::partial(Content::missing(size), types, type_id));
        }
        let word = raw.iter().rev().fold(0_i128, |word, byte| word << 8 | i128::from(*byte));
        let word = word >> (start % 8) & ((1 << bits) - 1);
        let is_negative = types.resolve(type_id)?.is_signed() && word >> (bits - 1) & 1 == 1;
        let word = if is_negative { word - (1 << bits) } else { word };
        let bytes = word.to_le_bytes().get(..size)?.to_vec();
        Some(Self::typed(bytes, types, type_id))
    }

    /// Whether no byte of the value is known.
    pub fn is_missing(&self) -> bool {
        let Self::Typed { raw, missing, .. } = self else { return false };
        let len: usize = missing.iter().map(Range::len).sum();
        len > 0 && len == raw.len()
    }

    /// The value as an integer, if it is one.
    pub fn number(&self) -> Option<i128> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Word(word) => Some(i128::from(*word)),
            Self::Pointer { address, .. } => Some(i128::from(*address)),
            Self::Bytes { raw, .. } if raw.len() <= 8 => {
                Some(raw.iter().fold(0, |number, byte| number << 8 | i128::from(*byte)))
            }
            Self::Bytes { .. } => None,
            Self::Typed { missing, .. } if !missing.is_empty() => None,
            Self::Typed { raw, types, type_id, .. } => integer(raw, types, *type_id),
        }
    }

    /// The bytes in memory, if it has any.
    pub fn raw(&self) -> Option<&[u8]> {
        match self {
            Self::Bytes { raw, .. } | Self::Typed { raw, .. } => Some(raw),
            Self::Number(_) | Self::Word(_) | Self::Pointer { .. } => None,
        }
    }

    /// Whether a condition with this value holds: it is not zero.
    pub fn is_true(&self) -> bool {
        match (self.number(), self.raw()) {
            (Some(number), _) => number != 0,
            (None, raw) => raw.is_some_and(|raw| raw.iter().any(|byte| *byte != 0)),
        }
    }

    pub fn type_text(&self) -> Option<String> {
        match self {
            Self::Typed { types, type_id, .. } => Some(types.type_text(*type_id)),
            Self::Pointer { types, target, .. } => Some(format!("{} *", types.type_text(*target))),
            Self::Number(_) | Self::Word(_) | Self::Bytes { .. } => None,
        }
    }
}

fn integer(raw: &[u8], types: &Btf, type_id: u32) -> Option<i128> {
    let ty = types.resolve(type_id)?;
    let is_integer = ty.kind().is_enum() || ty.kind() == Kind::Int;
    if !is_integer || raw.is_empty() || raw.len() > 8 {
        return None;
    }
    let number = raw.iter().rev().fold(0_i128, |number, byte| number << 8 | i128::from(*byte));
    let width = raw.len() * 8;
    let is_negative = ty.is_signed() && number >> (width - 1) & 1 == 1;
    Some(if is_negative { number - (1 << width) } else { number })
}

/// Whether two values are the same, for watchpoints.
impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self.raw(), other.raw()) {
            (Some(one), Some(other)) => one == other,
            _ => self.number() == other.number(),
        }
    }
}
