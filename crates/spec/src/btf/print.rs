//! Values by their BTF type: bytes in, a tree out that `map dump` turns into JSON.
//!
//! Rule: bytes that the type does not cover, or a type that is unknown, come out as bytes;
//! nothing is guessed. Not here: JSON itself.

use super::resolve::MAX_DEPTH;
use super::{Btf, Kind, Member, Type};

/// A value as a tree.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Int(i128),
    Uint(u128),
    Bool(bool),
    Float(f64),
    /// Name of the enumerator, and its number.
    Enum(String, i128),
    /// A character array up to its first NUL, when it is printable text.
    Text(String),
    Pointer(u64),
    /// What has no usable type.
    Bytes(Vec<u8>),
    Array(Vec<Value>),
    /// Fields in order; members of anonymous parts stand among their parent's.
    Struct(Vec<(String, Value)>),
}

/// A damaged blob may describe a struct that holds itself: a tree stops growing here.
const MAX_NODES: usize = 1 << 20;

impl Btf {
    /// Reads `bytes` as a value of type `id`; what does not fit comes out as [`Value::Bytes`].
    pub fn value(&self, id: u32, bytes: &[u8]) -> Value {
        let mut reader = Reader { btf: self, left: MAX_NODES };
        reader.value(id, bytes, MAX_DEPTH).unwrap_or_else(|| Value::Bytes(bytes.to_vec()))
    }
}

struct Reader<'a> {
    btf: &'a Btf,
    left: usize,
}

impl Reader<'_> {
    fn value(&mut self, id: u32, bytes: &[u8], depth: usize) -> Option<Value> {
        self.left = self.left.checked_sub(1)?;
        let depth = depth.checked_sub(1)?;
        let ty = self.btf.resolve(id)?;
        let size = usize::try_from(self.btf.size_of(id)?).ok()?;
        let bytes = bytes.get(..size)?;
        match ty.kind() {
            Kind::Int => int(ty, bytes),
            Kind::Enum | Kind::Enum64 => Some(enumerator(ty, scalar(bytes, ty.flag())?)),
            Kind::Ptr => Some(Value::Pointer(scalar(bytes, false)? as u64)),
            Kind::Float => float(bytes),
            Kind::Array => self.array(ty, bytes, depth),
            Kind::Struct | Kind::Union => {
                let mut fields = Vec::new();
                self.fields(ty, bytes, depth, &mut fields)?;
                Some(Value::Struct(fields))
            }
            Kind::Datasec => self.variables(ty, bytes, depth),
            _ => None,
        }
    }

    fn array(&mut self, ty: Type<'_>, bytes: &[u8], depth: usize) -> Option<Value> {
        let array = ty.array()?;
        let size = usize::try_from(self.btf.size_of(array.element)?).ok()?;
        let chars = self.btf.resolve(array.element)?.is_char() || self.is_plain_char(array.element);
        if let Some(text) = text(bytes).filter(|_| chars) {
            return Some(Value::Text(text));
        }
        if size == 0 {
            return Some(Value::Array(Vec::new()));
        }
        let elements = bytes.chunks_exact(size);
        elements
            .map(|bytes| self.value(array.element, bytes, depth))
            .collect::<Option<_>>()
            .map(Value::Array)
    }

    /// clang marks `char` by its name only; `__u8` is another typedef and remains a number.
    fn is_plain_char(&self, id: u32) -> bool {
        let ty = self.btf.ty(id);
        ty.is_some_and(|ty| ty.kind() == Kind::Int && ty.name() == "char")
    }

    fn fields(
        &mut self,
        ty: Type<'_>,
        bytes: &[u8],
        depth: usize,
        out: &mut Vec<(String, Value)>,
    ) -> Option<()> {
        for member in ty.members() {
            if member.name.is_empty() && member.bit_size == 0 {
                self.anonymous(member, bytes, depth, out)?;
                continue;
            }
            let value = self.field(member, bytes, depth)?;
            out.push((member.name.to_owned(), value));
        }
        Some(())
    }

    fn anonymous(
        &mut self,
        member: Member<'_>,
        bytes: &[u8],
        depth: usize,
        out: &mut Vec<(String, Value)>,
    ) -> Option<()> {
        self.left = self.left.checked_sub(1)?;
        let inner = self.btf.resolve(member.type_id)?;
        let bytes = bytes.get(member.bit_offset as usize / 8..)?;
        self.fields(inner, bytes, depth.checked_sub(1)?, out)
    }

    fn field(&mut self, member: Member<'_>, bytes: &[u8], depth: usize) -> Option<Value> {
        if member.bit_size == 0 {
            return self.value(member.type_id, bytes.get(member.bit_offset as usize / 8..)?, depth);
        }
        self.left = self.left.checked_sub(1)?;
        let ty = self.btf.resolve(member.type_id)?;
        let bits = bit_field(bytes, member.bit_offset, member.bit_size)?;
        let value = if ty.is_signed() { sign_extend(bits, member.bit_size) } else { bits as i128 };
        Some(match ty.kind() {
            Kind::Enum | Kind::Enum64 => enumerator(ty, value),
            _ if ty.is_bool() => Value::Bool(value != 0),
            _ if ty.is_signed() => Value::Int(value),
            _ => Value::Uint(bits),
        })
    }

    fn variables(&mut self, ty: Type<'_>, bytes: &[u8], depth: usize) -> Option<Value> {
        let mut fields = Vec::new();
        for place in ty.vars() {
            let name = self.btf.ty(place.type_id)?.name().to_owned();
            let bytes = bytes.get(place.offset as usize..)?;
            fields.push((name, self.value(place.type_id, bytes, depth)?));
        }
        Some(Value::Struct(fields))
    }
}

fn int(ty: Type<'_>, bytes: &[u8]) -> Option<Value> {
    let value = scalar(bytes, ty.is_signed())?;
    Some(match ty.is_signed() {
        _ if ty.is_bool() => Value::Bool(value != 0),
        true => Value::Int(value),
        false => Value::Uint(value.cast_unsigned()),
    })
}

fn enumerator(ty: Type<'_>, value: i128) -> Value {
    match ty.values().find(|entry| entry.value == value) {
        Some(entry) => Value::Enum(entry.name.to_owned(), value),
        None => Value::Int(value),
    }
}

fn float(bytes: &[u8]) -> Option<Value> {
    match bytes.len() {
        4 => Some(Value::Float(f64::from(f32::from_le_bytes(bytes.try_into().ok()?)))),
        8 => Some(Value::Float(f64::from_le_bytes(bytes.try_into().ok()?))),
        _ => None,
    }
}

/// A little-endian integer of up to 16 bytes.
fn scalar(bytes: &[u8], signed: bool) -> Option<i128> {
    if bytes.is_empty() || bytes.len() > 16 {
        return None;
    }
    let bits = bytes.iter().rev().fold(0u128, |bits, byte| bits << 8 | u128::from(*byte));
    let width = bytes.len() as u32 * 8;
    Some(if signed { sign_extend(bits, width) } else { bits.cast_signed() })
}

fn bit_field(bytes: &[u8], offset: u32, size: u32) -> Option<u128> {
    if size > 64 {
        return None;
    }
    let first = offset as usize / 8;
    let last = (offset + size).div_ceil(8) as usize;
    let bytes = bytes.get(first..last)?;
    let bits = bytes.iter().rev().fold(0u128, |bits, byte| bits << 8 | u128::from(*byte));
    Some(bits >> (offset % 8) & ((1u128 << size) - 1))
}

fn sign_extend(bits: u128, width: u32) -> i128 {
    let unused = 128 - width.clamp(1, 128);
    (bits << unused).cast_signed() >> unused
}

/// Printable text up to the first NUL, which must be there, followed only by NULs.
fn text(bytes: &[u8]) -> Option<String> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    let (text, rest) = bytes.split_at(end);
    let printable = text.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ');
    (printable && rest.iter().all(|byte| *byte == 0))
        .then(|| String::from_utf8_lossy(text).into_owned())
}
