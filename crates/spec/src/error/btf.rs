//! Why bytes are not valid BTF.

use std::fmt;

use thiserror::Error;

use crate::btf_kind::Kind;

/// Why bytes are not valid BTF.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum InvalidBtf {
    #[error("ends inside the header")]
    TruncatedHeader,
    #[error("is big-endian")]
    BigEndian,
    #[error("starts with {magic:#06x}, not BTF")]
    WrongMagic { magic: u16 },
    #[error("{section} lie outside the blob")]
    OutsideBlob { section: BtfSection },
    #[error("ends inside a type")]
    TruncatedType,
    #[error("type of unknown kind {kind}")]
    UnknownKind { kind: u32 },
    #[error("{kind:?} ends outside the types")]
    TruncatedKind { kind: Kind },
    /// All names together would be much longer than the blob.
    #[error("shares a long name with too many types")]
    SharedName,
}

/// One of the two sections of a BTF blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BtfSection {
    /// The records of the types.
    Types,
    /// The names that the records refer to.
    Strings,
}

impl fmt::Display for BtfSection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Types => "types",
            Self::Strings => "strings",
        })
    }
}
