//! Access paths: from `0:1:2` to named steps in one BTF, and the same steps in another.
//!
//! Anonymous structs do not count as steps, since their position may differ; array elements keep
//! their index. Rule: offsets are bits from the start of the root type.

use super::compatible::Matcher;
use crate::btf::{Btf, Kind, Member, Type};
use crate::error::RelocationError;

/// A walk from a root type to a field, array element or enumerator.
#[derive(Clone, Debug)]
pub(super) struct Path<'a> {
    /// The types that contain the path.
    pub btf: &'a Btf,
    /// Id of the root type.
    pub root: u32,
    /// The named steps and array elements.
    pub steps: Vec<Step<'a>>,
    /// Offset of the last step from the start of the root type.
    pub bit_offset: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Step<'a> {
    /// An array element. The root itself counts as an element of an array.
    Element {
        type_id: u32,
        index: u32,
    },
    Member(Member<'a>),
}

impl<'a> Path<'a> {
    /// Follows an access string in the object's own types.
    pub fn follow(btf: &'a Btf, root: u32, access: &[u32]) -> Result<Self, RelocationError> {
        let (first, rest) = access.split_first().ok_or(RelocationError::EmptyPath)?;
        let mut path = Self { btf, root, steps: Vec::new(), bit_offset: 0 };
        path.start(*first).ok_or(RelocationError::UnsizedRoot)?;
        let mut ty = btf.resolve(root).ok_or(RelocationError::VoidRoot)?;
        for (step, index) in (1..).zip(rest) {
            ty = match ty.kind() {
                Kind::Struct | Kind::Union => path.member(ty, *index as usize),
                Kind::Array => path.element(ty, *index),
                kind => return Err(RelocationError::NotAggregate { step, kind }),
            }
            .ok_or(RelocationError::NoMember { step })?;
        }
        Ok(path)
    }

    fn start(&mut self, index: u32) -> Option<()> {
        self.steps.push(Step::Element { type_id: self.root, index });
        if index > 0 {
            self.forward(self.btf.size_of(self.root)?.checked_mul(u64::from(index))?)?;
        }
        Some(())
    }

    fn member(&mut self, ty: Type<'a>, number: usize) -> Option<Type<'a>> {
        let member = ty.members().nth(number)?;
        self.bit_offset = self.bit_offset.checked_add(u64::from(member.bit_offset))?;
        if !member.name.is_empty() {
            self.steps.push(Step::Member(member));
        }
        self.btf.resolve(member.type_id)
    }

    fn element(&mut self, ty: Type<'a>, index: u32) -> Option<Type<'a>> {
        let array = ty.array()?;
        if index >= array.count && !self.is_flexible(array.count) {
            return None;
        }
        let element = self.btf.resolve(array.element)?;
        self.steps.push(Step::Element { type_id: element.id(), index });
        self.forward(self.btf.size_of(element.id())?.checked_mul(u64::from(index))?)?;
        Some(element)
    }

    /// Old flexible arrays have length 0 or 1 and end their struct.
    fn is_flexible(&self, count: u32) -> bool {
        matches!(self.steps.last(), Some(Step::Member(_))) && count <= 1
    }

    fn forward(&mut self, bytes: u64) -> Option<()> {
        self.bit_offset = self.bit_offset.checked_add(bytes.checked_mul(8)?)?;
        Some(())
    }

    /// Follows the path from a type of another BTF; `None` if that type has no such path.
    pub fn same_in(&self, target: &'a Btf, root: u32, matcher: &Matcher<'_>) -> Option<Self> {
        let mut path = Self { btf: target, root, steps: Vec::new(), bit_offset: 0 };
        let (first, rest) = self.steps.split_first()?;
        let Step::Element { index, .. } = first else { return None };
        path.start(*index)?;
        let mut ty = target.resolve(root)?;
        for step in rest {
            ty = match step {
                Step::Element { index, .. } => path.element(ty, *index)?,
                Step::Member(local) => path.named(ty, *local, matcher)?,
            };
        }
        Some(path)
    }

    /// Finds a field by name, also within anonymous structs and unions.
    fn named(
        &mut self,
        ty: Type<'a>,
        local: Member<'_>,
        matcher: &Matcher<'_>,
    ) -> Option<Type<'a>> {
        for member in ty.members() {
            matcher.spend()?;
            let before = self.bit_offset;
            self.bit_offset = before.checked_add(u64::from(member.bit_offset))?;
            if member.name.is_empty() {
                let inner = self.btf.resolve(member.type_id)?;
                if inner.kind().is_composite()
                    && let Some(found) = self.named(inner, local, matcher)
                {
                    return Some(found);
                }
            } else if member.name == local.name {
                if !matcher.fields(local.type_id, member.type_id) {
                    return None;
                }
                self.steps.push(Step::Member(member));
                return self.btf.resolve(member.type_id);
            }
            self.bit_offset = before;
        }
        None
    }
}
