//! Types of DWARF as BTF.

use std::collections::HashMap;

use gimli::{AttributeValue, DebuggingInformationEntry, DwAt, Dwarf, Unit, UnitOffset, constants};

use super::Reader;
use super::budget::Budget;
use crate::btf::{Builder, Kind};

/// Converts the types of one unit.
pub struct Types<'a, 'b> {
    dwarf: &'a Dwarf<Reader<'a>>,
    unit: &'a Unit<Reader<'a>>,
    builder: &'b mut Builder,
    /// Ids of types that were converted; 0 while one is being converted.
    known: HashMap<usize, u32>,
    budget: &'b Budget,
    /// Types that may still be converted.
    left: &'b mut usize,
    index: u32,
}

type Entry<'a> = DebuggingInformationEntry<Reader<'a>>;

impl<'a, 'b> Types<'a, 'b> {
    /// `left` is the number of types that may still be converted.
    pub fn new(
        dwarf: &'a Dwarf<Reader<'a>>,
        unit: &'a Unit<Reader<'a>>,
        builder: &'b mut Builder,
        budget: &'b Budget,
        left: &'b mut usize,
    ) -> Self {
        let index = builder.int("unsigned int", 32, false);
        Self { dwarf, unit, builder, known: HashMap::new(), budget, left, index }
    }

    /// The type that an entry refers to; 0 for `void`, and for one that cannot be converted.
    pub fn of(&mut self, entry: &Entry<'a>, depth: usize) -> u32 {
        match entry.attr_value(constants::DW_AT_type) {
            Some(AttributeValue::UnitRef(offset)) => self.at(offset, depth),
            _ => 0,
        }
    }

    fn at(&mut self, offset: UnitOffset, depth: usize) -> u32 {
        if let Some(known) = self.known.get(&offset.0) {
            return *known;
        }
        let rest = self.left.checked_sub(1).filter(|_| depth < DEEPEST);
        let Some(rest) = rest else { return 0 };
        *self.left = rest;
        // A struct that points to itself meets this.
        self.known.insert(offset.0, 0);
        let id = self.convert(offset, depth + 1).unwrap_or(0);
        self.known.insert(offset.0, id);
        id
    }

    fn convert(&mut self, offset: UnitOffset, depth: usize) -> Option<u32> {
        let entry = self.unit.entry(offset).ok()?;
        self.budget.take(&entry)?;
        let name = self.name(&entry);
        let size = number(&entry, constants::DW_AT_byte_size).unwrap_or(0);
        Some(match entry.tag() {
            constants::DW_TAG_base_type => self.base(&entry, &name, size)?,
            constants::DW_TAG_pointer_type => {
                let target = self.of(&entry, depth);
                self.builder.ptr(target)
            }
            constants::DW_TAG_typedef => {
                let target = self.of(&entry, depth);
                self.builder.typedef(&name, target)
            }
            constants::DW_TAG_const_type => {
                let target = self.of(&entry, depth);
                self.builder.constant(target)
            }
            constants::DW_TAG_volatile_type
            | constants::DW_TAG_restrict_type
            | constants::DW_TAG_atomic_type => self.of(&entry, depth),
            constants::DW_TAG_array_type => self.array(&entry, offset, depth)?,
            constants::DW_TAG_structure_type => {
                self.composite(Kind::Struct, &name, offset, (size, depth))?
            }
            constants::DW_TAG_union_type => {
                self.composite(Kind::Union, &name, offset, (size, depth))?
            }
            constants::DW_TAG_enumeration_type => self.enumeration(&name, offset, size)?,
            _ => return None,
        })
    }

    fn base(&mut self, entry: &Entry<'a>, name: &str, size: u64) -> Option<u32> {
        let bits = u32::try_from(size.checked_mul(8)?).ok().filter(|bits| *bits <= 128)?;
        let encoding = match entry.attr_value(constants::DW_AT_encoding) {
            Some(AttributeValue::Encoding(encoding)) => encoding,
            _ => constants::DW_ATE_unsigned,
        };
        Some(match encoding {
            constants::DW_ATE_boolean => self.builder.boolean(name, bits),
            constants::DW_ATE_signed | constants::DW_ATE_signed_char => {
                self.builder.int(name, bits, true)
            }
            _ => self.builder.int(name, bits, false),
        })
    }

    /// Dimensions are children of the array's entry.
    fn array(&mut self, entry: &Entry<'a>, offset: UnitOffset, depth: usize) -> Option<u32> {
        let mut counts = Vec::new();
        self.children(offset, |_, child| {
            if child.tag() == constants::DW_TAG_subrange_type {
                let count = number(child, constants::DW_AT_count);
                let bound = number(child, constants::DW_AT_upper_bound);
                let count = count.or_else(|| bound.and_then(|bound| bound.checked_add(1)));
                counts.push(count.and_then(|count| u32::try_from(count).ok()).unwrap_or(0));
            }
        })?;
        let mut id = self.of(entry, depth);
        for count in counts.into_iter().rev() {
            id = self.builder.array(id, self.index, count);
        }
        Some(id)
    }

    /// A struct or union of a size at a depth.
    fn composite(
        &mut self,
        kind: Kind,
        name: &str,
        offset: UnitOffset,
        (size, depth): (u64, usize),
    ) -> Option<u32> {
        let size = u32::try_from(size).ok()?;
        let members = self.members(offset, depth)?;
        let members = members.iter();
        if members.clone().all(|member| member.bits == 0) {
            let fields: Vec<_> =
                members.map(|one| (one.name.as_str(), one.type_id, one.start)).collect();
            return Some(match kind {
                Kind::Union => self.builder.union(name, size, &fields),
                _ => self.builder.structure(name, size, &fields),
            });
        }
        // Such a record has 24 bits for an offset.
        let near = members.filter(|member| member.start < 1 << 24);
        let fields: Vec<_> =
            near.map(|one| (one.name.as_str(), one.type_id, one.start, one.bits)).collect();
        Some(self.builder.with_bit_fields(kind, name, size, &fields))
    }

    fn members(&mut self, offset: UnitOffset, depth: usize) -> Option<Vec<Member>> {
        let mut entries = Vec::new();
        self.children(offset, |_, child| {
            if child.tag() == constants::DW_TAG_member {
                entries.push(child.clone());
            }
        })?;
        let mut members = Vec::new();
        for child in &entries {
            let bits = number(child, constants::DW_AT_bit_size).unwrap_or(0);
            let start = match bits {
                0 => {
                    number(child, constants::DW_AT_data_member_location).unwrap_or(0).checked_mul(8)
                }
                _ => number(child, constants::DW_AT_data_bit_offset),
            };
            // DWARF 3 counts bits from the other end.
            let Some(start) = start.filter(|_| bits <= 64) else { continue };
            members.push(Member {
                name: self.name(child),
                type_id: self.of(child, depth),
                start: u32::try_from(start).ok()?,
                bits: bits as u32,
            });
        }
        Some(members)
    }

    fn enumeration(&mut self, name: &str, offset: UnitOffset, size: u64) -> Option<u32> {
        let size = u32::try_from(size).ok().filter(|size| [1, 2, 4, 8].contains(size))?;
        let mut values = Vec::new();
        self.children(offset, |types, child| {
            let value = child.attr_value(constants::DW_AT_const_value);
            let value = value.and_then(|value| match value {
                AttributeValue::Sdata(value) => Some(i128::from(value)),
                value => value.udata_value().map(i128::from),
            });
            if let Some(value) = value {
                values.push((types.name(child), value));
            }
        })?;
        let values: Vec<_> = values.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        Some(self.builder.sized_enumeration(name, size, &values))
    }

    /// Calls a function with each direct child of an entry.
    fn children(
        &mut self,
        offset: UnitOffset,
        mut visit: impl FnMut(&Self, &Entry<'a>),
    ) -> Option<()> {
        let mut entries = self.unit.entries_at_offset(offset).ok()?;
        let root = entries.next_dfs().ok()??.depth();
        for _ in 0..CHILDREN {
            match entries.next_dfs().ok()? {
                Some(child) if child.depth() > root => {
                    self.budget.take(child)?;
                    if child.depth() == root + 1 {
                        visit(self, child);
                    }
                }
                _ => return Some(()),
            }
        }
        None
    }

    /// The name of an entry; empty if it has none.
    pub fn name(&self, entry: &Entry<'a>) -> String {
        let name = entry.attr_value(constants::DW_AT_name);
        let name = name.and_then(|name| self.dwarf.attr_string(self.unit, name).ok());
        let name = name.map(|name| name.slice()).filter(|name| name.len() <= LONGEST);
        name.map_or_else(String::new, |name| String::from_utf8_lossy(name).into_owned())
    }
}

/// A member of a struct or union.
struct Member {
    name: String,
    type_id: u32,
    /// Offset in bits.
    start: u32,
    /// Width of a bit field; 0 for another member.
    bits: u32,
}

fn number(entry: &Entry<'_>, name: DwAt) -> Option<u64> {
    entry.attr_value(name)?.udata_value()
}

/// Types inside types.
const DEEPEST: usize = 24;
/// Entries below one type.
const CHILDREN: usize = 1 << 14;
/// Bytes of a name.
const LONGEST: usize = 1024;
