//! Fields of typed values, by path: `.flags`, `.addresses[2]`, `.peer.port`.
//!
//! Rule: the type decides how text is read, and a value that does not fit is refused, never
//! truncated. Not here: printing values (`btf`), and reading a single number (`global`).

use crate::btf::{Btf, Kind, Type};
use crate::error::{FieldError, ValueError};
use crate::global::{near, typed};

/// Deepest nesting of fields.
const MAX_DEPTH: usize = 32;

/// Reads a value of type `id` from text: `{field: value, …}` for a struct, else as
/// [`Spec::set_global_text`](crate::Spec::set_global_text) does.
///
/// # Errors
/// The text does not fit the type.
pub fn parse(btf: &Btf, id: u32, text: &str) -> Result<Vec<u8>, FieldError> {
    let size = btf.size_of(id).and_then(|size| usize::try_from(size).ok());
    let mut bytes = vec![0; size.filter(|size| *size <= MAX_BYTES).ok_or(FieldError::Damaged)?];
    set(btf, id, &mut bytes, "", text)?;
    Ok(bytes)
}

/// Sets the field at `path` of a value of type `id`; an empty path is the whole value.
///
/// # Errors
/// There is no such field, or the text does not fit its type.
pub fn set(btf: &Btf, id: u32, bytes: &mut [u8], path: &str, text: &str) -> Result<(), FieldError> {
    let place = Place::find(btf, id, path)?;
    let inner = text.trim();
    let ty = btf.resolve(place.type_id).ok_or(FieldError::Damaged)?;
    let fields = inner.strip_prefix('{').and_then(|inner| inner.strip_suffix('}'));
    let Some(fields) = fields.filter(|_| has_fields(ty)) else {
        return place.write(btf, bytes, (path, inner));
    };
    let place = place.bytes(btf, bytes).ok_or(FieldError::Damaged)?;
    let mut value = vec![0; place.len()];
    for field in split(fields) {
        let (name, text) = field.split_once(':').ok_or_else(|| FieldError::Syntax {
            text: field.to_owned(),
            expected: "FIELD: VALUE",
        })?;
        set(btf, ty.id(), &mut value, &format!(".{}", name.trim()), text)?;
    }
    place.copy_from_slice(&value);
    Ok(())
}

/// Where a field is.
#[derive(Clone, Copy, Debug)]
struct Place {
    type_id: u32,
    /// From the start of the value.
    bit_offset: u64,
    /// Width of a bit field; 0 for other fields.
    bit_size: u32,
}

impl Place {
    fn find(btf: &Btf, id: u32, path: &str) -> Result<Self, FieldError> {
        let mut place = Self { type_id: id, bit_offset: 0, bit_size: 0 };
        let mut rest = path;
        while !rest.is_empty() {
            let ty = btf.resolve(place.type_id).ok_or(FieldError::Damaged)?;
            let (step, after) = match rest.strip_prefix('[') {
                Some(inner) => place.index(btf, ty, inner)?,
                None => place.member(btf, ty, rest)?,
            };
            place = step;
            rest = after;
        }
        Ok(place)
    }

    /// The element `N` of `N]…`, and the rest of the path.
    fn index<'p>(
        self,
        btf: &Btf,
        ty: Type<'_>,
        inner: &'p str,
    ) -> Result<(Self, &'p str), FieldError> {
        let syntax = || FieldError::Syntax { text: format!("[{inner}"), expected: "[INDEX]" };
        let (digits, rest) = inner.split_once(']').ok_or_else(syntax)?;
        let index: u32 = digits.trim().parse().map_err(|_| syntax())?;
        let type_text = || btf.type_text(self.type_id);
        let array = ty.array().ok_or_else(|| FieldError::NoFields {
            rest: format!("[{inner}"),
            type_text: type_text(),
        })?;
        if index >= array.count {
            return Err(FieldError::Index { type_text: type_text(), count: array.count });
        }
        let size = btf.size_of(array.element).ok_or(FieldError::Damaged)?;
        let offset = size.checked_mul(u64::from(index) * 8).ok_or(FieldError::Damaged)?;
        Ok((self.step(array.element, offset, 0), rest))
    }

    /// The field `name` of `.name…`, and the rest of the path.
    fn member<'p>(
        self,
        btf: &Btf,
        ty: Type<'_>,
        path: &'p str,
    ) -> Result<(Self, &'p str), FieldError> {
        let name = path.strip_prefix('.').unwrap_or(path);
        let end = name.find(['.', '[']).unwrap_or(name.len());
        let (name, rest) = name.split_at(end);
        let type_text = || btf.type_text(self.type_id);
        if !has_fields(ty) {
            return Err(FieldError::NoFields { rest: path.to_owned(), type_text: type_text() });
        }
        let fields = fields(btf, ty);
        match fields.iter().find(|(known, _)| known == name) {
            Some((_, at)) => Ok((self.step(at.type_id, at.bit_offset, at.bit_size), rest)),
            None => Err(FieldError::UnknownField {
                field: name.to_owned(),
                type_text: type_text(),
                near: near(name, fields.iter().map(|(known, _)| known.as_str())),
            }),
        }
    }

    fn step(self, type_id: u32, offset: u64, bit_size: u32) -> Self {
        Self { type_id, bit_offset: self.bit_offset.saturating_add(offset), bit_size }
    }

    /// The bytes of a field that is not a bit field.
    fn bytes<'b>(self, btf: &Btf, bytes: &'b mut [u8]) -> Option<&'b mut [u8]> {
        let start = usize::try_from(self.bit_offset / 8).ok()?;
        let size = usize::try_from(btf.size_of(self.type_id)?).ok()?;
        bytes.get_mut(start..start.checked_add(size)?)
    }

    fn write(
        self,
        btf: &Btf,
        bytes: &mut [u8],
        (path, text): (&str, &str),
    ) -> Result<(), FieldError> {
        let refused = |cause| FieldError::Value {
            place: path.trim_start_matches('.').to_owned(),
            type_text: btf.type_text(self.type_id),
            cause,
        };
        let value = typed(btf, self.type_id, text).map_err(refused)?;
        if self.bit_size != 0 {
            return self.write_bits(btf, bytes, &value).map_err(refused);
        }
        let place = self.bytes(btf, bytes).filter(|place| place.len() == value.len());
        place.ok_or(FieldError::Damaged)?.copy_from_slice(&value);
        Ok(())
    }

    /// Writes a bit field, whose bits are numbered from the lowest of the first byte.
    fn write_bits(self, btf: &Btf, bytes: &mut [u8], value: &[u8]) -> Result<(), ValueError> {
        let is_signed = btf.resolve(self.type_id).is_some_and(Type::is_signed);
        let mut wide = [0; 16];
        wide[..value.len().min(16)].copy_from_slice(&value[..value.len().min(16)]);
        let unused = 128 - 8 * value.len().min(16) as u32;
        let number = i128::from_le_bytes(wide) << unused >> unused;
        let number = if is_signed { number } else { i128::from_le_bytes(wide) };
        let (least, most) = match is_signed {
            true => (-(1 << (self.bit_size - 1)), (1 << (self.bit_size - 1)) - 1),
            false => (0, (1_i128 << self.bit_size) - 1),
        };
        if !(least..=most).contains(&number) {
            return Err(ValueError::OutOfRange { value: number, least, most });
        }
        for bit in 0..u64::from(self.bit_size) {
            let at = self.bit_offset + bit;
            let byte = usize::try_from(at / 8).ok().and_then(|byte| bytes.get_mut(byte));
            let byte = byte.ok_or(ValueError::NoSize)?;
            let mask = 1 << (at % 8);
            *byte = if number >> bit & 1 != 0 { *byte | mask } else { *byte & !mask };
        }
        Ok(())
    }
}

fn has_fields(ty: Type<'_>) -> bool {
    matches!(ty.kind(), Kind::Struct | Kind::Union | Kind::Datasec)
}

/// Fields with their places; those of anonymous parts stand among them.
fn fields(btf: &Btf, ty: Type<'_>) -> Vec<(String, Place)> {
    let mut found = Vec::new();
    for place in ty.vars() {
        let name = btf.ty(place.type_id).map(|var| var.name().to_owned()).unwrap_or_default();
        let (type_id, bit_offset) = (place.type_id, u64::from(place.offset) * 8);
        found.push((name, Place { type_id, bit_offset, bit_size: 0 }));
    }
    collect(btf, ty, 0, MAX_DEPTH, &mut found);
    found
}

fn collect(btf: &Btf, ty: Type<'_>, base: u64, depth: usize, found: &mut Vec<(String, Place)>) {
    for member in ty.members() {
        let (type_id, bit_size) = (member.type_id, member.bit_size);
        let bit_offset = base + u64::from(member.bit_offset);
        if !member.name.is_empty() {
            found.push((member.name.to_owned(), Place { type_id, bit_offset, bit_size }));
        } else if let Some(inner) = btf.resolve(type_id).filter(|_| depth > 0 && found.len() < MOST)
        {
            collect(btf, inner, bit_offset, depth - 1, found);
        }
    }
}

/// Parts between commas that are not within braces.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (at, letter) in text.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts.retain(|part| !part.trim().is_empty());
    parts
}

/// Largest value that is made from text.
const MAX_BYTES: usize = 1 << 26;
/// Fields that are searched in one type.
const MOST: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use crate::btf::Builder;

    use super::*;

    /// `struct flow {__be32 address; __u16 port; enum state state; struct {int a; __u8 bits[3];};
    /// struct point points[2];}`, and bit fields apart.
    fn flow() -> (Btf, u32) {
        let mut builder = Builder::new();
        let u32_ = builder.int("unsigned int", 32, false);
        let u16_ = builder.int("unsigned short", 16, false);
        let u8_ = builder.int("unsigned char", 8, false);
        let int = builder.int("int", 32, true);
        let be32 = builder.typedef("__be32", u32_);
        let state = builder.enumeration("state", &[("IDLE", 0), ("BUSY", 7)]);
        let point = builder.structure("point", 8, &[("x", int, 0), ("y", int, 32)]);
        let points = builder.array(point, u32_, 2);
        let bits = builder.array(u8_, u32_, 3);
        let inner = builder.structure("", 8, &[("a", int, 0), ("bits", bits, 32)]);
        let fields = [
            ("address", be32, 0),
            ("port", u16_, 32),
            ("state", state, 64),
            ("", inner, 96),
            ("points", points, 160),
        ];
        let flow = builder.structure("flow", 36, &fields);
        (Btf::parse(builder.build().unwrap().raw()).unwrap(), flow)
    }

    #[test]
    fn fields_are_set_and_the_rest_is_kept() {
        let (btf, flow) = flow();
        let mut bytes = vec![0xee; 36];
        for (path, text, range, expected) in [
            (".address", "10.1.0.2", 0..4, vec![10, 1, 0, 2]),
            ("address", "1", 0..4, vec![0, 0, 0, 1]),
            (".port", "0x1234", 4..6, vec![0x34, 0x12]),
            (".state", "BUSY", 8..12, vec![7, 0, 0, 0]),
            (".a", "-2", 12..16, vec![0xfe, 0xff, 0xff, 0xff]),
            (".bits[2]", "9", 18..19, vec![9]),
            (".points[1].y", "5", 32..36, vec![5, 0, 0, 0]),
            (".points[0]", "{y: 3}", 20..28, vec![0, 0, 0, 0, 3, 0, 0, 0]),
        ] {
            let mut want = bytes.clone();
            want[range].copy_from_slice(&expected);
            set(&btf, flow, &mut bytes, path, text).unwrap();
            assert_eq!(bytes, want, "{path}={text}");
        }
        let whole = parse(&btf, flow, "{address: 1.2.3.4, port: 7,}").unwrap();
        assert_eq!((&whole[..6], whole.len()), (&[1, 2, 3, 4, 7, 0][..], 36));
    }

    #[test]
    fn what_does_not_fit_is_explained_and_changes_nothing() {
        let (btf, flow) = flow();
        for (path, text, words) in [
            (".adress", "1", "did you mean `address`"),
            (".port", "65536", "65536 is outside the range 0 to 65535"),
            (".state", "LAZY", "expected IDLE, BUSY"),
            (".port.low", "1", "has no fields"),
            (".points[2].x", "1", "the last index is 1"),
            (".points[x]", "1", "expected [INDEX]"),
            (".port[0]", "1", "has no fields"),
            (".points[0]", "{x}", "expected FIELD: VALUE"),
            (".points[0]", "{x: 1, z: 2}", "has no field `z`"),
        ] {
            let mut bytes = vec![0; 36];
            let error = set(&btf, flow, &mut bytes, path, text).unwrap_err().to_string();
            assert!(error.contains(words), "{path}={text}: {error}");
            assert_eq!(bytes, [0; 36]);
        }
        assert_eq!(set(&btf, flow, &mut [0; 4], ".port", "1"), Err(FieldError::Damaged));
    }

    #[test]
    fn bit_fields_keep_their_neighbors() {
        let place = |bit_offset, bit_size| Place { type_id: 1, bit_offset, bit_size };
        let mut builder = Builder::new();
        builder.int("unsigned int", 32, false);
        let btf = Btf::parse(builder.build().unwrap().raw()).unwrap();
        let mut bytes = [0xff; 4];
        place(3, 7).write(&btf, &mut bytes, ("x", "5")).unwrap();
        assert_eq!(u32::from_le_bytes(bytes) >> 3 & 0x7f, 5);
        assert_eq!(u32::from_le_bytes(bytes) | 0x7f << 3, u32::MAX, "the other bits");
        let error = place(3, 7).write(&btf, &mut bytes, ("x", "128")).unwrap_err();
        assert!(error.to_string().contains("0 to 127"), "{error}");
    }
}
