//! One relocation as a query of two BTFs, and the value that it yields.
//!
//! Rule: several target types may have one name; all that match must yield the same value.

use std::fmt;

use super::FieldKind;
use super::compatible::same_name;
use super::compatible::{Matcher, same_kind};
use super::path::{Path, Step};
use crate::btf::{Btf, EnumValue, Kind, Type};
use crate::error::{Missing, RelocationError};
use crate::model::FieldRelocation;

/// A relocation that was resolved in the object's own types.
pub(super) struct Question<'a> {
    local: &'a Btf,
    kind: FieldKind,
    root: Type<'a>,
    subject: Subject<'a>,
}

enum Subject<'a> {
    Type,
    Field(Path<'a>),
    Enumerator(EnumValue<'a>),
}

pub(super) enum Answer {
    Value(Patch),
    /// The target has no value, with the reason.
    Missing(Missing),
}

/// The value to write, and the one that the compiler wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Patch {
    /// The value to write.
    pub new: u64,
    /// `None` where compilers may differ: bit fields and type ids.
    pub old: Option<u64>,
    /// Sizes of the field in object and target, when an access may have to change its width.
    pub width: Option<Width>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Width {
    /// Size in the object, in bytes.
    pub old: u64,
    /// Size in the target, in bytes.
    pub new: u64,
    /// Whether the value survives an access of another width: pointers and unsigned integers.
    pub adjustable: bool,
}

/// The position of a field, and the bytes that a load of it reads.
struct Field<'a> {
    ty: Type<'a>,
    byte_offset: u64,
    byte_size: u64,
    bit_offset: u64,
    bit_size: u64,
    is_bit_field: bool,
}

impl<'a> Question<'a> {
    /// Resolves a relocation in the object's own types.
    pub fn new(local: &'a Btf, field: &FieldRelocation) -> Result<Self, RelocationError> {
        let kind = FieldKind::from_code(field.kind)
            .ok_or(RelocationError::UnknownKind { kind: field.kind })?;
        let root = local.ty(field.type_id).ok_or(RelocationError::NoRootType)?;
        let subject = if kind.is_type() {
            Subject::Type
        } else if kind.is_enum() {
            let number = *field.access.first().ok_or(RelocationError::EmptyPath)? as usize;
            let entry = local.resolve(root.id()).and_then(|ty| ty.values().nth(number));
            Subject::Enumerator(entry.ok_or(RelocationError::NoEnumerator)?)
        } else {
            Subject::Field(Path::follow(local, root.id(), &field.access)?)
        };
        Ok(Self { local, kind, root, subject })
    }

    /// Finds the value. Without a target, only the object's own type id is known.
    pub fn ask(&self, target: Option<&Btf>) -> Result<Answer, RelocationError> {
        if self.kind == FieldKind::TypeIdLocal {
            let id = u64::from(self.root.id());
            return Ok(Answer::Value(Patch { new: id, old: None, width: None }));
        }
        let Some(target) = target else { return Err(RelocationError::NoTarget) };
        let mut found: Option<Patch> = None;
        let mut candidates = 0;
        for candidate in self.candidates(target) {
            candidates += 1;
            let Some(patch) = self.patch_for(target, candidate)? else { continue };
            match found {
                Some(before) if before.new != patch.new => {
                    return Err(RelocationError::Ambiguous { relocation: self.to_string() });
                }
                _ => found = Some(patch),
            }
        }
        match found {
            Some(patch) => Ok(Answer::Value(patch)),
            None => self.missing(candidates),
        }
    }

    fn candidates<'t>(&self, target: &'t Btf) -> impl Iterator<Item = Type<'t>>
    where
        'a: 't,
    {
        let root = self.root;
        let named = (!root.name().is_empty()).then(|| target.find_all(root.name()));
        named.into_iter().flatten().filter(move |ty| same_kind(root, *ty))
    }

    fn missing(&self, candidates: usize) -> Result<Answer, RelocationError> {
        match self.kind {
            FieldKind::Exists | FieldKind::EnumExists => self.absent(),
            kind if kind.is_type() => self.absent(),
            _ if self.root.name().is_empty() => Ok(Answer::Missing(Missing::Name)),
            _ if candidates == 0 => Ok(Answer::Missing(Missing::Type)),
            _ => Ok(Answer::Missing(Missing::Field)),
        }
    }

    /// The value of these kinds is 0 if the target lacks the type or field.
    fn absent(&self) -> Result<Answer, RelocationError> {
        let old = self.own_value()?;
        Ok(Answer::Value(Patch { new: 0, old, width: None }))
    }

    fn patch_for(
        &self,
        target: &Btf,
        candidate: Type<'_>,
    ) -> Result<Option<Patch>, RelocationError> {
        let matcher = Matcher::new(self.local, target);
        match &self.subject {
            Subject::Type => self.type_patch(target, candidate, &matcher),
            Subject::Enumerator(wanted) => self.enum_patch(target, candidate, *wanted),
            Subject::Field(path) => {
                let there = path.same_in(target, candidate.id(), &matcher);
                there.map(|there| self.field_patch(path, &there)).transpose()
            }
        }
    }

    fn type_patch(
        &self,
        target: &Btf,
        candidate: Type<'_>,
        matcher: &Matcher<'_>,
    ) -> Result<Option<Patch>, RelocationError> {
        let (ours, theirs) = (self.root.id(), candidate.id());
        let fits = match self.kind {
            FieldKind::TypeMatches => matcher.matches(ours, theirs),
            _ => matcher.types(ours, theirs),
        };
        if !fits {
            return Ok(None);
        }
        let new = match self.kind {
            FieldKind::TypeIdTarget => u64::from(theirs),
            FieldKind::TypeSize => target.size_of(theirs).ok_or(RelocationError::UnsizedTarget)?,
            _ => 1,
        };
        Ok(Some(Patch { new, old: self.own_value()?, width: None }))
    }

    fn enum_patch(
        &self,
        target: &Btf,
        candidate: Type<'_>,
        wanted: EnumValue<'_>,
    ) -> Result<Option<Patch>, RelocationError> {
        let Some(ty) = target.resolve(candidate.id()) else { return Ok(None) };
        let Some(entry) = ty.values().find(|entry| same_name(entry.name, wanted.name)) else {
            return Ok(None);
        };
        let new = if self.kind == FieldKind::EnumExists { 1 } else { entry.value as u64 };
        Ok(Some(Patch { new, old: self.own_value()?, width: None }))
    }

    fn field_patch(&self, here: &Path<'_>, there: &Path<'_>) -> Result<Patch, RelocationError> {
        if self.kind == FieldKind::Exists {
            return Ok(Patch { new: 1, old: Some(1), width: None });
        }
        let (ours, theirs) = (Field::at(here)?, Field::at(there)?);
        let new = theirs.value(self.kind)?;
        // Which bytes a bit field is loaded from is the compiler's choice.
        let fixed = matches!(self.kind, FieldKind::Signed | FieldKind::RightShift);
        let old = ours.value(self.kind)?;
        let width = (self.kind == FieldKind::ByteOffset && !ours.is_bit_field)
            .then(|| Width::between((here.btf, &ours), (there.btf, &theirs)));
        Ok(Patch { new, old: (fixed || !ours.is_bit_field).then_some(old), width })
    }

    /// The value that the compiler wrote; `None` where compilers may differ.
    fn own_value(&self) -> Result<Option<u64>, RelocationError> {
        Ok(match (&self.subject, self.kind) {
            (_, FieldKind::TypeIdTarget) => None,
            (_, FieldKind::TypeSize) => self.local.size_of(self.root.id()),
            (Subject::Enumerator(entry), FieldKind::EnumValue) => Some(entry.value as u64),
            _ => Some(1),
        })
    }
}

impl<'a> Field<'a> {
    fn at(path: &Path<'a>) -> Result<Self, RelocationError> {
        let (type_id, bit_size) = match path.steps.last() {
            Some(Step::Member(member)) => (member.type_id, u64::from(member.bit_size)),
            Some(Step::Element { type_id, .. }) => (*type_id, 0),
            None => return Err(RelocationError::EmptyPath),
        };
        let ty = path.btf.resolve(type_id).ok_or(RelocationError::UnsizedField)?;
        let byte_size = path.btf.size_of(type_id).ok_or(RelocationError::UnsizedField)?;
        let whole = Self {
            ty,
            byte_offset: path.bit_offset / 8,
            byte_size,
            bit_offset: path.bit_offset,
            bit_size: byte_size.saturating_mul(8),
            is_bit_field: false,
        };
        if bit_size == 0 { Ok(whole) } else { whole.narrowed(bit_size) }
    }

    /// A bit field lies in an aligned window of its type's size, or a wider one.
    fn narrowed(mut self, bit_size: u64) -> Result<Self, RelocationError> {
        if !self.byte_size.is_power_of_two() || self.byte_size > 8 {
            return Err(RelocationError::BitFieldType { size: self.byte_size });
        }
        loop {
            self.byte_offset = self.bit_offset / 8 / self.byte_size * self.byte_size;
            if self.bit_offset + bit_size - self.byte_offset * 8 <= self.byte_size * 8 {
                return Ok(Self { bit_size, is_bit_field: true, ..self });
            }
            if self.byte_size >= 8 {
                return Err(RelocationError::BitFieldTooWide);
            }
            self.byte_size *= 2;
        }
    }

    fn value(&self, kind: FieldKind) -> Result<u64, RelocationError> {
        match kind {
            FieldKind::ByteOffset => Ok(self.byte_offset),
            FieldKind::ByteSize => Ok(self.byte_size),
            FieldKind::Signed => Ok(u64::from(self.ty.is_signed())),
            FieldKind::LeftShift => {
                let used = self.bit_offset + self.bit_size - self.byte_offset * 8;
                64u64.checked_sub(used).ok_or(RelocationError::ShiftTooWide)
            }
            FieldKind::RightShift => {
                64u64.checked_sub(self.bit_size).ok_or(RelocationError::ShiftTooWide)
            }
            _ => Ok(1),
        }
    }

    /// The type that a load of the field reads; for arrays, that of an element.
    fn loaded(&self, btf: &'a Btf) -> Type<'a> {
        let mut ty = self.ty;
        for _ in 0..8 {
            match ty.array().and_then(|array| btf.resolve(array.element)) {
                Some(element) => ty = element,
                None => break,
            }
        }
        ty
    }
}

impl Width {
    fn between<'a>(
        (local, ours): (&'a Btf, &Field<'a>),
        (target, theirs): (&'a Btf, &Field<'a>),
    ) -> Self {
        let (ours, theirs) = (ours.loaded(local), theirs.loaded(target));
        let pointers = ours.kind() == Kind::Ptr && theirs.kind() == Kind::Ptr;
        let integers = ours.kind() == Kind::Int && theirs.kind() == Kind::Int;
        Self {
            old: local.size_of(ours.id()).unwrap_or(0),
            new: target.size_of(theirs.id()).unwrap_or(0),
            adjustable: pointers || integers && !ours.is_signed() && !theirs.is_signed(),
        }
    }
}

/// `offset of struct flow.key.port`.
impl fmt::Display for Question<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.text(), self.local.type_text(self.root.id()))?;
        match &self.subject {
            Subject::Type => Ok(()),
            Subject::Enumerator(entry) => write!(f, " {}", entry.name),
            Subject::Field(path) => path.steps.iter().skip(1).try_for_each(|step| match step {
                Step::Element { index, .. } => write!(f, "[{index}]"),
                Step::Member(member) => write!(f, ".{}", member.name),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::btf::Builder;

    /// Offset and size of the load that reads a bit field of a 4-byte type.
    fn window(bit_offset: u64, bit_size: u64) -> (u64, u64) {
        let mut builder = Builder::new();
        let id = builder.int("unsigned int", 32, false);
        let btf = builder.build().unwrap();
        let field = Field {
            ty: btf.resolve(id).unwrap(),
            byte_offset: bit_offset / 8,
            byte_size: 4,
            bit_offset,
            bit_size: 32,
            is_bit_field: false,
        };
        let narrowed = field.narrowed(bit_size).unwrap();
        (narrowed.byte_offset, narrowed.byte_size)
    }

    #[test]
    fn a_bit_field_is_read_with_the_narrowest_aligned_load() {
        assert_eq!(window(0, 1), (0, 4));
        assert_eq!(window(24, 8), (0, 4), "up to the last bit of the type");
        assert_eq!(window(40, 3), (4, 4));
        assert_eq!(window(28, 8), (0, 8), "across two words");
    }
}
