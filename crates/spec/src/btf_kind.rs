//! Kinds of BTF types (`BTF_KIND_*` in the kernel's `include/uapi/linux/btf.h`).

/// Kind of a BTF type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    Int = 1,
    Ptr,
    Array,
    Struct,
    Union,
    Enum,
    Fwd,
    Typedef,
    Volatile,
    Const,
    Restrict,
    Func,
    FuncProto,
    Var,
    Datasec,
    Float,
    DeclTag,
    TypeTag,
    Enum64,
}

impl Kind {
    const ALL: [Self; 19] = [
        Self::Int,
        Self::Ptr,
        Self::Array,
        Self::Struct,
        Self::Union,
        Self::Enum,
        Self::Fwd,
        Self::Typedef,
        Self::Volatile,
        Self::Const,
        Self::Restrict,
        Self::Func,
        Self::FuncProto,
        Self::Var,
        Self::Datasec,
        Self::Float,
        Self::DeclTag,
        Self::TypeTag,
        Self::Enum64,
    ];

    /// The kind of a `BTF_KIND_*` number; `None` if it is unknown.
    pub fn from_code(code: u32) -> Option<Self> {
        Self::ALL.get((code as usize).checked_sub(1)?).copied()
    }

    /// `const`, `volatile`, `restrict`, type tags: modifiers that do not change the layout and have
    /// no name.
    pub fn is_modifier(self) -> bool {
        matches!(self, Self::Volatile | Self::Const | Self::Restrict | Self::TypeTag)
    }

    /// Whether it is a struct or union.
    pub fn is_composite(self) -> bool {
        matches!(self, Self::Struct | Self::Union)
    }

    /// Whether it is an enum of either width.
    pub fn is_enum(self) -> bool {
        matches!(self, Self::Enum | Self::Enum64)
    }

    /// Whether the third word of the record is a type id, and not a size.
    pub(crate) fn has_target(self) -> bool {
        self.is_modifier()
            || matches!(
                self,
                Self::Ptr
                    | Self::Typedef
                    | Self::Func
                    | Self::FuncProto
                    | Self::Var
                    | Self::DeclTag
            )
    }

    /// Number of bytes after the record: once, and for each of `vlen` entries.
    pub(crate) fn extra(self) -> (usize, usize) {
        match self {
            Self::Int | Self::Var | Self::DeclTag => (4, 0),
            Self::Array => (12, 0),
            Self::Struct | Self::Union | Self::Datasec | Self::Enum64 => (0, 12),
            Self::Enum | Self::FuncProto => (0, 8),
            _ => (0, 0),
        }
    }
}
