//! One type of a BTF blob: its kind, name and what follows its record.
//!
//! A [`Type`] is a view into the blob. Layouts are those of the kernel's
//! `include/uapi/linux/btf.h`. Not here: what needs several types (`resolve`).

use super::{Btf, InvalidBtf, Kind};

/// One type; its record is complete.
#[derive(Clone, Copy)]
pub struct Type<'a> {
    btf: &'a Btf,
    id: u32,
    kind: Kind,
    record: &'a [u8],
}

/// A field of a struct or union.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member<'a> {
    /// Empty for an anonymous struct or union.
    pub name: &'a str,
    /// Type of the field.
    pub type_id: u32,
    /// Offset from the start of the struct, in bits.
    pub bit_offset: u32,
    /// Width of a bit field in bits; 0 for other fields.
    pub bit_size: u32,
}

/// A named value of an enum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnumValue<'a> {
    /// Name of the value.
    pub name: &'a str,
    /// The value, signed or unsigned as the enum is.
    pub value: i128,
}

/// The parts of an array type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Array {
    /// Type id of an element.
    pub element: u32,
    /// Type id of the index.
    pub index: u32,
    /// Number of elements.
    pub count: u32,
}

/// A parameter of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param<'a> {
    /// Name of the parameter; may be empty.
    pub name: &'a str,
    /// Type of the parameter; 0 with an empty name means `...`.
    pub type_id: u32,
}

/// A variable of a `DATASEC`, in bytes from the section's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VarPlace {
    /// A `VAR`, or a `FUNC` in `.ksyms`.
    pub type_id: u32,
    /// Offset in the section.
    pub offset: u32,
    /// Size of the variable.
    pub size: u32,
}

/// Name, info, size or type.
pub(super) const RECORD_LEN: usize = 12;

pub const KIND_FLAG: u32 = 1 << 31;

impl<'a> Type<'a> {
    pub(super) fn at(btf: &'a Btf, id: u32, start: usize) -> Option<Self> {
        let rest = btf.raw.get(start..)?;
        let kind = kind_of(rest)?;
        let record = rest.get(..record_len(rest).ok()?)?;
        Some(Self { btf, id, kind, record })
    }

    /// Id of the type in its blob.
    pub fn id(self) -> u32 {
        self.id
    }

    /// Kind of the type.
    pub fn kind(self) -> Kind {
        self.kind
    }

    /// Empty when anonymous or unreadable.
    pub fn name(self) -> &'a str {
        self.string(0)
    }

    /// Number of members, values, parameters or variables.
    pub fn vlen(self) -> usize {
        (word(self.record, 4) & 0xffff) as usize
    }

    /// Bit-field layout of a struct, signedness of an enum, union rather than struct of a `FWD`.
    pub fn flag(self) -> bool {
        word(self.record, 4) & KIND_FLAG != 0
    }

    /// Size in bytes, for kinds that have one; see [`Btf::size_of`] for the others.
    pub fn size(self) -> u32 {
        if self.kind.has_target() { 0 } else { word(self.record, 8) }
    }

    /// The type that this one refers to: pointed to, renamed, qualified, returned; else 0.
    pub fn target(self) -> u32 {
        if self.kind.has_target() { word(self.record, 8) } else { 0 }
    }

    /// Width of an `INT` in bits.
    pub fn int_bits(self) -> u32 {
        self.int_word() & 0xff
    }

    /// Offset of an `INT` in bits, nonzero only in bit fields of old compilers.
    pub fn int_offset(self) -> u32 {
        self.int_word() >> 16 & 0xff
    }

    /// Whether an `INT` or enum is signed.
    pub fn is_signed(self) -> bool {
        match self.kind {
            Kind::Int => self.int_word() >> 24 & 1 != 0,
            Kind::Enum | Kind::Enum64 => self.flag(),
            _ => false,
        }
    }

    /// Whether an `INT` is marked as a character.
    pub fn is_char(self) -> bool {
        self.kind == Kind::Int && self.int_word() >> 24 & 2 != 0
    }

    /// Whether an `INT` is marked as a boolean.
    pub fn is_bool(self) -> bool {
        self.kind == Kind::Int && self.int_word() >> 24 & 4 != 0
    }

    fn int_word(self) -> u32 {
        if self.kind == Kind::Int { word(self.record, RECORD_LEN) } else { 0 }
    }

    /// The parts of an array; `None` for other kinds.
    pub fn array(self) -> Option<Array> {
        (self.kind == Kind::Array).then(|| Array {
            element: word(self.record, RECORD_LEN),
            index: word(self.record, RECORD_LEN + 4),
            count: word(self.record, RECORD_LEN + 8),
        })
    }

    /// Fields of a struct or union; empty for other kinds.
    pub fn members(self) -> impl Iterator<Item = Member<'a>> {
        let bit_fields = self.flag();
        self.entries(self.kind.is_composite(), 12).map(move |entry| {
            let offset = word(entry, 8);
            let (bit_offset, bit_size) =
                if bit_fields { (offset & 0x00ff_ffff, offset >> 24) } else { (offset, 0) };
            Member {
                name: self.text(word(entry, 0)),
                type_id: word(entry, 4),
                bit_offset,
                bit_size,
            }
        })
    }

    /// Values of an enum of either width; empty for other kinds.
    pub fn values(self) -> impl Iterator<Item = EnumValue<'a>> {
        let wide = self.kind == Kind::Enum64;
        let signed = self.flag();
        self.entries(self.kind.is_enum(), if wide { 12 } else { 8 }).map(move |entry| {
            let low = word(entry, 4);
            let value = match (wide, signed) {
                (false, false) => i128::from(low),
                (false, true) => i128::from(low.cast_signed()),
                (true, signed) => {
                    let bits = u64::from(word(entry, 8)) << 32 | u64::from(low);
                    if signed { i128::from(bits.cast_signed()) } else { i128::from(bits) }
                }
            };
            EnumValue { name: self.text(word(entry, 0)), value }
        })
    }

    /// Parameters of a `FUNC_PROTO`; empty for other kinds.
    pub fn params(self) -> impl Iterator<Item = Param<'a>> {
        self.entries(self.kind == Kind::FuncProto, 8)
            .map(move |entry| Param { name: self.text(word(entry, 0)), type_id: word(entry, 4) })
    }

    /// Variables of a `DATASEC`; empty for other kinds.
    pub fn vars(self) -> impl Iterator<Item = VarPlace> {
        self.entries(self.kind == Kind::Datasec, 12).map(|entry| VarPlace {
            type_id: word(entry, 0),
            offset: word(entry, 4),
            size: word(entry, 8),
        })
    }

    /// Linkage of a `FUNC` or `VAR`: 0 static, 1 global, 2 extern.
    pub fn linkage(self) -> u32 {
        match self.kind {
            Kind::Func => self.vlen() as u32,
            Kind::Var => word(self.record, RECORD_LEN),
            _ => 0,
        }
    }

    /// Number of the member or parameter that a `DECL_TAG` marks, -1 for the whole type.
    pub fn component(self) -> Option<i32> {
        (self.kind == Kind::DeclTag).then(|| word(self.record, RECORD_LEN).cast_signed())
    }

    /// The record and what follows it, as in the blob.
    pub(super) fn record(self) -> &'a [u8] {
        self.record
    }

    fn entries(self, applies: bool, len: usize) -> impl Iterator<Item = &'a [u8]> {
        let bytes = if applies { &self.record[RECORD_LEN..] } else { &[] };
        bytes.chunks_exact(len)
    }

    fn string(self, at: usize) -> &'a str {
        self.text(word(self.record, at))
    }

    fn text(self, offset: u32) -> &'a str {
        self.btf.string(offset).unwrap_or_default()
    }
}

impl std::fmt::Debug for Type<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "[{}] {:?} {:?}", self.id, self.kind, self.name())
    }
}

fn kind_of(record: &[u8]) -> Option<Kind> {
    if record.len() < RECORD_LEN {
        return None;
    }
    Kind::from_code(word(record, 4) >> 24 & 0x1f)
}

/// Length in bytes of the record that `bytes` starts with.
pub(super) fn record_len(bytes: &[u8]) -> Result<usize, InvalidBtf> {
    if bytes.len() < RECORD_LEN {
        return Err(InvalidBtf::TruncatedType);
    }
    let info = word(bytes, 4);
    let unknown = InvalidBtf::UnknownKind { kind: info >> 24 & 0x1f };
    let kind = kind_of(bytes).ok_or(unknown)?;
    let (once, each) = kind.extra();
    let len = RECORD_LEN + once + each * (info & 0xffff) as usize;
    if len > bytes.len() { Err(InvalidBtf::TruncatedKind { kind }) } else { Ok(len) }
}

/// Reads a little-endian word at an offset that is within the bytes.
pub(super) fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

pub(super) fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}
