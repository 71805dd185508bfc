//! Why a field relocation cannot be applied, and why a target lacks what it refers to.

use thiserror::Error;

use crate::btf_kind::Kind;

/// Why a field relocation cannot be applied. The object and its types contradict each other, or the
/// target's types are ambiguous.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RelocationError {
    /// A relocation that this version cannot interpret.
    #[error("relocation kind {kind} is unknown; the object is newer than this program")]
    UnknownKind { kind: u32 },
    #[error("its root type does not exist")]
    NoRootType,
    #[error("its enumerator does not exist")]
    NoEnumerator,
    #[error("its access path is empty")]
    EmptyPath,
    #[error("its root type has no size")]
    UnsizedRoot,
    #[error("its root type is void")]
    VoidRoot,
    /// Steps count from 1.
    #[error("step {step} of its access path enters a type of kind {kind:?}")]
    NotAggregate { step: usize, kind: Kind },
    #[error("step {step} of its access path names a member or element that does not exist")]
    NoMember { step: usize },
    /// No target was given, and the relocation refers to more than the object's own types.
    #[error("the target's BTF is required")]
    NoTarget,
    /// Several types of the target match and yield different values.
    #[error("`{relocation}` is ambiguous: several types of the target match")]
    Ambiguous { relocation: String },
    #[error("the target's type has no size")]
    UnsizedTarget,
    #[error("a field has no size")]
    UnsizedField,
    #[error("a bit field has a type of {size} bytes; expected 1, 2, 4 or 8")]
    BitFieldType { size: u64 },
    #[error("a bit field does not fit in a 64-bit load")]
    BitFieldTooWide,
    #[error("the shift of a field that is wider than 64 bits was requested")]
    ShiftTooWide,
    #[error("no instruction exists at this offset")]
    NoInstruction,
    #[error("a 64-bit load lacks its second half")]
    TruncatedLoad,
    #[error("instruction `{insn}` cannot be relocated")]
    WrongInstruction { insn: String },
    #[error("instruction `{insn}` has no immediate")]
    NoImmediate { insn: String },
    /// The code does not belong to the types of the object.
    #[error("the code contains {found}, the object's types imply {expected}")]
    ValueMismatch { found: u64, expected: u64 },
    #[error("the access does not have the {size} bytes of its field")]
    AccessMismatch { size: u64 },
    #[error("no load or store has {size} bytes")]
    NoAccess { size: u64 },
}

/// Why the target has no value for a relocation: the instruction becomes one that the verifier
/// rejects.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub(crate) enum Missing {
    #[error("it has no name")]
    Name,
    #[error("the target has no such type")]
    Type,
    #[error("the target's type has no such field")]
    Field,
    #[error("offset {0} does not fit in an instruction")]
    Offset(u64),
    #[error("{local} bytes in the object, {target} in the target")]
    Width { local: u64, target: u64 },
}
