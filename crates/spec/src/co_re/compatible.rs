//! Which types of two BTFs are the same for our purposes.
//!
//! Three relations, from loose to strict: fields (may this access be moved there), types (does
//! this type exist there), matches (does it have the same shape). Rule: the walk spends from a
//! budget, since damaged types may hold themselves many times over.

use std::cell::Cell;

use crate::btf::{Btf, Kind, Type, essential};

pub(super) struct Matcher<'a> {
    local: &'a Btf,
    target: &'a Btf,
    budget: Cell<u32>,
}

/// Steps of one relocation: the largest kernel structs take a few thousand.
const BUDGET: u32 = 1 << 16;
const DEPTH: usize = 32;

impl<'a> Matcher<'a> {
    /// Creates a matcher of the object's types against the target's.
    pub fn new(local: &'a Btf, target: &'a Btf) -> Self {
        Self { local, target, budget: Cell::new(BUDGET) }
    }

    /// One step; `None` when the budget is used up.
    pub fn spend(&self) -> Option<()> {
        self.budget.set(self.budget.get().checked_sub(1)?);
        Some(())
    }

    fn resolved(&self, local: u32, target: u32) -> Option<(Type<'a>, Type<'a>)> {
        self.spend()?;
        Some((self.local.resolve(local)?, self.target.resolve(target)?))
    }

    /// Whether an access to a field of type `local` may go to one of type `target`.
    pub fn fields(&self, local: u32, target: u32) -> bool {
        let (mut local, mut target) = (local, target);
        for _ in 0..DEPTH {
            let Some((ours, theirs)) = self.resolved(local, target) else { return false };
            if ours.kind().is_composite() && theirs.kind().is_composite() {
                return true;
            }
            if !same_kind(ours, theirs) {
                return false;
            }
            match (ours.array(), theirs.array()) {
                (Some(a), Some(b)) => (local, target) = (a.element, b.element),
                _ => return scalars(ours, theirs),
            }
        }
        false
    }

    /// Whether `target` is the counterpart of `local`, regardless of contents.
    pub fn types(&self, local: u32, target: u32) -> bool {
        let roots = self.local.ty(local).zip(self.target.ty(target));
        roots.is_some_and(|(ours, theirs)| same_kind(ours, theirs))
            && self.types_within(local, target, DEPTH)
    }

    fn types_within(&self, local: u32, target: u32, depth: usize) -> bool {
        let Some(depth) = depth.checked_sub(1) else { return false };
        let (ours, theirs) = match self.ends(local, target) {
            Ends::Both(ours, theirs) => (ours, theirs),
            Ends::Void => return true,
            Ends::Different => return false,
        };
        if !same_kind(ours, theirs) {
            return false;
        }
        match ours.kind() {
            Kind::Struct | Kind::Union | Kind::Enum | Kind::Enum64 | Kind::Fwd => true,
            Kind::Int => ours.int_offset() == 0 && theirs.int_offset() == 0,
            Kind::Ptr => self.types_within(ours.target(), theirs.target(), depth),
            Kind::Array => elements(ours, theirs)
                .is_some_and(|(ours, theirs)| self.types_within(ours, theirs, depth)),
            Kind::FuncProto => {
                ours.vlen() == theirs.vlen()
                    && ours
                        .params()
                        .zip(theirs.params())
                        .all(|(a, b)| self.types_within(a.type_id, b.type_id, depth))
                    && self.types_within(ours.target(), theirs.target(), depth)
            }
            _ => false,
        }
    }

    /// Whether `target` has all that `local` has, by name and shape.
    pub fn matches(&self, local: u32, target: u32) -> bool {
        self.matches_within(local, target, false, DEPTH)
    }

    fn matches_within(&self, local: u32, target: u32, behind: bool, depth: usize) -> bool {
        let Some(depth) = depth.checked_sub(1) else { return false };
        let (ours, theirs) = match self.ends(local, target) {
            Ends::Both(ours, theirs) => (ours, theirs),
            Ends::Void => return true,
            Ends::Different => return false,
        };
        if !same_name(ours.name(), theirs.name()) {
            return false;
        }
        let same = ours.kind() == theirs.kind();
        match ours.kind() {
            Kind::Fwd => forward(ours, theirs),
            Kind::Enum | Kind::Enum64 => enums(ours, theirs),
            Kind::Struct | Kind::Union if behind => same || forward(theirs, ours),
            Kind::Struct | Kind::Union => same && self.members(ours, theirs, depth),
            Kind::Int => same && ours.is_signed() == theirs.is_signed(),
            Kind::Ptr => same && self.matches_within(ours.target(), theirs.target(), true, depth),
            Kind::Array => {
                let counts = ours.array().map(|a| a.count) == theirs.array().map(|a| a.count);
                counts
                    && elements(ours, theirs)
                        .is_some_and(|(a, b)| self.matches_within(a, b, behind, depth))
            }
            Kind::FuncProto => {
                same && ours.vlen() == theirs.vlen()
                    && ours
                        .params()
                        .zip(theirs.params())
                        .all(|(a, b)| self.matches_within(a.type_id, b.type_id, behind, depth))
                    && self.matches_within(ours.target(), theirs.target(), behind, depth)
            }
            _ => false,
        }
    }

    fn members(&self, ours: Type<'_>, theirs: Type<'_>, depth: usize) -> bool {
        ours.vlen() <= theirs.vlen()
            && ours.members().all(|wanted| {
                theirs.members().any(|member| {
                    self.spend().is_some()
                        && same_name(wanted.name, member.name)
                        && self.matches_within(wanted.type_id, member.type_id, false, depth)
                })
            })
    }

    fn ends(&self, local: u32, target: u32) -> Ends<'a> {
        if self.spend().is_none() {
            return Ends::Different;
        }
        match (self.local.resolve(local), self.target.resolve(target)) {
            (Some(ours), Some(theirs)) => Ends::Both(ours, theirs),
            (None, None) => Ends::Void,
            _ => Ends::Different,
        }
    }
}

/// Two types without their typedefs and modifiers.
enum Ends<'a> {
    Both(Type<'a>, Type<'a>),
    Void,
    Different,
}

/// Enums of both widths count as one kind.
pub(super) fn same_kind(ours: Type<'_>, theirs: Type<'_>) -> bool {
    ours.kind() == theirs.kind() || ours.kind().is_enum() && theirs.kind().is_enum()
}

fn scalars(ours: Type<'_>, theirs: Type<'_>) -> bool {
    match ours.kind() {
        Kind::Ptr | Kind::Float => true,
        Kind::Fwd | Kind::Enum | Kind::Enum64 => {
            ours.name().is_empty()
                || theirs.name().is_empty()
                || same_name(ours.name(), theirs.name())
        }
        Kind::Int => ours.int_offset() == 0 && theirs.int_offset() == 0,
        _ => false,
    }
}

fn elements(ours: Type<'_>, theirs: Type<'_>) -> Option<(u32, u32)> {
    Some((ours.array()?.element, theirs.array()?.element))
}

/// A forward declaration represents its struct or, if flagged, its union.
fn forward(declared: Type<'_>, other: Type<'_>) -> bool {
    match other.kind() {
        _ if declared.kind() != Kind::Fwd => false,
        Kind::Fwd => declared.flag() == other.flag(),
        Kind::Struct => !declared.flag(),
        Kind::Union => declared.flag(),
        _ => false,
    }
}

fn enums(ours: Type<'_>, theirs: Type<'_>) -> bool {
    theirs.kind().is_enum()
        && ours.size() == theirs.size()
        && ours.vlen() <= theirs.vlen()
        && ours
            .values()
            .all(|wanted| theirs.values().any(|entry| same_name(wanted.name, entry.name)))
}

/// Whether two names are the same but for their flavours.
pub(super) fn same_name(a: &str, b: &str) -> bool {
    essential(a) == essential(b)
}
