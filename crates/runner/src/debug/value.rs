//! Values of expressions and variables.

use std::sync::Arc;

use spec::btf::{Btf, Kind};

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
            _ => Self::Typed { raw, types, type_id },
        }
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
            Self::Typed { raw, types, type_id } => integer(raw, types, *type_id),
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
