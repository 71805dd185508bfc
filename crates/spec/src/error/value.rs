//! Why a global variable cannot be set to a value.

use thiserror::Error;

use crate::btf_kind::Kind;

/// Why a global variable cannot be set to a value. Values are never rounded or truncated.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ValueError {
    #[error("{given} bytes given, {wanted} required")]
    WrongLength { given: usize, wanted: u32 },
    /// The object is damaged.
    #[error("lies outside its section")]
    OutsideSection,
    #[error("has no type")]
    NoType,
    #[error("has no size")]
    NoSize,
    #[error("floating-point variables are not supported in BPF")]
    FloatingPoint,
    #[error("a {kind:?} cannot be set from text")]
    NotFromText { kind: Kind },
    #[error("invalid boolean `{text}`: expected true, yes, on, 1, false, no, off or 0")]
    NotBoolean { text: String },
    #[error("unknown enumerator `{text}`; expected {}", .known.join(", "))]
    UnknownEnumerator { text: String, known: Vec<String> },
    #[error("{length} characters are too many, at most {limit}")]
    TextTooLong { length: usize, limit: usize },
    #[error("{given} values are too many for {limit} elements")]
    TooManyElements { given: usize, limit: usize },
    #[error("`{text}` is not an address of {size} bytes; set the variable by bytes")]
    NotAddress { text: String, size: u64 },
    #[error("invalid number `{text}`")]
    NotNumber { text: String },
    #[error("an integer cannot have {size} bytes")]
    IntegerSize { size: usize },
    #[error("{value} is outside the range {least} to {most}")]
    OutOfRange { value: i128, least: i128, most: i128 },
}
