//! Local variables of functions, from the DWARF of an object that was not stripped of it.
//!
//! Types become [`Btf`], so that values print as those of maps do. Rule: total on any bytes; what
//! cannot be read is left out, and all counts have limits. Not here: source lines, which `.BTF.ext`
//! has.

mod budget;
mod location;
mod stack;
mod types;
mod variables;

use std::ops::Range;

use gimli::{Dwarf, EndianSlice, LittleEndian, SectionId};
use object::read::elf::ElfFile64;
use object::{Endianness, Object as _, ObjectSection as _};

use crate::btf::Btf;
use crate::insn::Insn;

pub use location::{Content, Location, Machine};

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
    inlined: Vec<Inlined>,
}

/// A function that the compiler inlined into another one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inlined {
    /// Position among the inlined functions of the function around them.
    pub number: usize,
    /// Name of the inlined function.
    pub name: String,
    /// Path of the file that contains the call, as the compiler recorded it.
    pub file: String,
    /// Line of the call; 0 if it is not known.
    pub line: u32,
    /// Number of the inlined function that contains the call.
    parent: Option<usize>,
    /// Slots from the function's first.
    scope: Vec<Range<usize>>,
}

/// A local variable or parameter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variable {
    /// Name of the variable.
    pub name: String,
    /// Its type in [`Locals::types`].
    pub type_id: u32,
    /// Whether it is a parameter of its function.
    pub is_parameter: bool,
    /// Number of blocks that it is inside of.
    pub depth: usize,
    /// Number of the inlined function that it belongs to.
    pub inlined: Option<usize>,
    /// Slots from the function's first, in which the name is valid; everywhere without any.
    pub scope: Vec<Range<usize>>,
    /// Where the value is, by slots from the function's first.
    pub places: Vec<(Range<usize>, Location)>,
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

    /// All functions that were inlined in one.
    pub fn inlined(&self, function: &str) -> &[Inlined] {
        self.function(function).map_or(&[], |known| &known.inlined)
    }

    /// Functions that were inlined at a slot from the function's first, innermost first.
    pub fn inlined_at(&self, function: &str, slot: usize) -> Vec<&Inlined> {
        let Some(function) = self.function(function) else { return Vec::new() };
        // Those inside follow the one around them.
        let is_here = |one: &&Inlined| one.scope.iter().any(|range| range.contains(&slot));
        let innermost = function.inlined.iter().rfind(is_here);
        let around = |one: &&Inlined| function.inlined.get(one.parent?);
        std::iter::successors(innermost, around).collect()
    }

    /// Variables whose names are valid at a slot from the function's first, innermost first: those
    /// of the function, or of one inlined in it by its number.
    pub fn at(&self, function: &str, slot: usize, inlined: Option<usize>) -> Vec<&Variable> {
        let variables = self.function(function).into_iter().flat_map(|known| &known.variables);
        let is_valid = |one: &&Variable| one.inlined == inlined && one.is_valid(slot);
        let mut valid: Vec<_> = variables.filter(is_valid).collect();
        valid.sort_by_key(|variable| std::cmp::Reverse(variable.depth));
        valid
    }

    fn function(&self, name: &str) -> Option<&LocalFunction> {
        self.functions.iter().find(|known| known.name == name)
    }

    /// Bytes of the stack that a function uses, from its instructions and its variables: offsets
    /// of variables count from the lowest of them.
    pub fn stack_bytes(&self, function: &str, insns: &[Insn]) -> u64 {
        let variables = self.function(function).into_iter().flat_map(|known| &known.variables);
        let ends = variables.flat_map(|variable| {
            let size = self.types.size_of(variable.type_id).unwrap_or_default();
            variable.places.iter().filter_map(move |(_, location)| {
                u64::try_from(location.stack_offset()?).ok()?.checked_add(size)
            })
        });
        let most = ends.max().unwrap_or_default().checked_next_multiple_of(8);
        stack::bytes(insns).max(most.unwrap_or_default())
    }
}

impl Inlined {
    /// The slot of its first instruction, from the first of the function around it.
    pub fn first(&self) -> Option<usize> {
        self.scope.iter().map(|range| range.start).min()
    }
}

impl Variable {
    fn is_valid(&self, slot: usize) -> bool {
        self.scope.is_empty() || self.scope.iter().any(|range| range.contains(&slot))
    }

    /// Where the value is at a slot from the function's first; `None` if it is nowhere.
    pub fn place(&self, slot: usize) -> Option<&Location> {
        let place = self.places.iter().find(|(range, _)| range.contains(&slot));
        place.map(|(_, location)| location)
    }
}

/// What DWARF is read from.
type Reader<'a> = EndianSlice<'a, LittleEndian>;
