//! Local variables of functions, from the DWARF of an object that was not stripped of it.
//!
//! Types become [`Btf`], so that values print as those of maps do. Rule: total on any bytes; what
//! cannot be read is left out, and all counts have limits. Not here: source lines, which `.BTF.ext`
//! has.

mod budget;
mod expression;
mod stack;
mod types;
mod variables;

use std::ops::Range;

use gimli::{Dwarf, EndianSlice, LittleEndian, SectionId};
use object::read::elf::ElfFile64;
use object::{Endianness, Object as _, ObjectSection as _};

use crate::btf::Btf;
use crate::insn::Insn;

/// Local variables of an object's functions.
#[derive(Clone, Debug, Default)]
pub struct Locals {
    /// The types of the variables.
    pub types: Btf,
    functions: Vec<LocalFunction>,
}

/// A function with its variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct LocalFunction {
    name: String,
    variables: Vec<Variable>,
}

/// A local variable or parameter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variable {
    /// Name of the variable.
    pub name: String,
    /// Its type in [`Locals::types`].
    pub type_id: u32,
    /// Number of blocks that it is inside of.
    pub depth: usize,
    /// Slots from the function's first, in which the name is valid; everywhere without any.
    pub scope: Vec<Range<usize>>,
    /// Where the value is, by slots from the function's first.
    pub places: Vec<(Range<usize>, Location)>,
}

/// Where the value of a variable is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location {
    /// In a register.
    Register(u8),
    /// In memory, at an offset from the address in a register.
    Memory { register: u8, offset: i64 },
    /// The sum of a register and a number.
    Sum { register: u8, offset: i64 },
    /// In memory, at an offset from the lowest byte of the stack that the function uses.
    Stack { offset: i64 },
    /// The address at an offset from the lowest byte of the stack that the function uses.
    StackAddress { offset: i64 },
    /// A constant.
    Constant(i64),
}

impl Locals {
    /// Reads the DWARF of an object; empty if it has none, or none that can be read.
    pub fn parse(object: &[u8]) -> Self {
        Self::read(object).unwrap_or_default()
    }

    fn read(object: &[u8]) -> Option<Self> {
        let file = ElfFile64::<Endianness>::parse(object).ok()?;
        // A field that is relocated holds what is added to the start of a section, which is 0.
        let load = |id: SectionId| -> Result<_, gimli::Error> {
            let section = file.section_by_name(id.name());
            let data = section.and_then(|section| section.data().ok()).unwrap_or_default();
            Ok(EndianSlice::new(data, LittleEndian))
        };
        let dwarf = Dwarf::load(load).ok()?;
        variables::read(&dwarf)
    }

    /// Whether no function has variables.
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// Whether any function has a variable of this name.
    pub fn has(&self, name: &str) -> bool {
        let mut variables = self.functions.iter().flat_map(|function| &function.variables);
        variables.any(|variable| variable.name == name)
    }

    /// Variables of a function whose names are valid at a slot from its first, innermost first.
    pub fn at(&self, function: &str, slot: usize) -> Vec<&Variable> {
        let found = self.functions.iter().find(|known| known.name == function);
        let variables = found.into_iter().flat_map(|function| &function.variables);
        let mut valid: Vec<_> = variables.filter(|variable| variable.is_valid(slot)).collect();
        valid.sort_by_key(|variable| std::cmp::Reverse(variable.depth));
        valid
    }

    /// Bytes of the stack that a function uses, from its instructions and its variables: offsets
    /// of variables count from the lowest of them.
    pub fn stack_bytes(&self, function: &str, insns: &[Insn]) -> u64 {
        let found = self.functions.iter().find(|known| known.name == function);
        let variables = found.into_iter().flat_map(|function| &function.variables);
        let ends = variables.flat_map(|variable| {
            let size = self.types.size_of(variable.type_id).unwrap_or_default();
            variable.places.iter().filter_map(move |(_, location)| match location {
                Location::Stack { offset } => u64::try_from(*offset).ok()?.checked_add(size),
                _ => None,
            })
        });
        let most = ends.max().unwrap_or_default().checked_next_multiple_of(8);
        stack::bytes(insns).max(most.unwrap_or_default())
    }
}

impl Variable {
    fn is_valid(&self, slot: usize) -> bool {
        self.scope.is_empty() || self.scope.iter().any(|range| range.contains(&slot))
    }

    /// Where the value is at a slot from the function's first; `None` if it is nowhere.
    pub fn place(&self, slot: usize) -> Option<Location> {
        let place = self.places.iter().find(|(range, _)| range.contains(&slot));
        place.map(|(_, location)| *location)
    }
}

/// What DWARF is read from.
type Reader<'a> = EndianSlice<'a, LittleEndian>;
