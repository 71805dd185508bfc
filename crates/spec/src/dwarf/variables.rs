//! Finds the variables of each function.

use std::ops::Range;

use gimli::{AttributeValue, DebuggingInformationEntry, Dwarf, Unit, constants};

use super::budget::Budget;
use super::expression::location;
use super::types::Types;
use super::{LocalFunction, Locals, Location, Reader, Variable};
use crate::btf::{Btf, Builder};
use crate::insn::Insn;

type Entry<'a> = DebuggingInformationEntry<Reader<'a>>;

/// Reads all units.
pub fn read(dwarf: &Dwarf<Reader<'_>>) -> Option<Locals> {
    let mut builder = Builder::new();
    let (mut functions, mut left, budget) = (Vec::new(), TYPES, Budget::new());
    let mut headers = dwarf.units();
    for _ in 0..UNITS {
        let Ok(Some(header)) = headers.next() else { break };
        let Ok(unit) = dwarf.unit(header) else { continue };
        let types = Types::new(dwarf, &unit, &mut builder, &budget, &mut left);
        let functions = &mut functions;
        let mut reader = UnitReader { dwarf, unit: &unit, types, budget: &budget, functions };
        // A damaged unit has the functions before the damage.
        let _damaged = reader.read();
    }
    functions.retain(|function| !function.variables.is_empty());
    let raw = builder.build().ok()?;
    Some(Locals { types: Btf::parse(raw.raw()).ok()?, functions })
}

struct UnitReader<'a, 'b> {
    dwarf: &'a Dwarf<Reader<'a>>,
    unit: &'a Unit<Reader<'a>>,
    types: Types<'a, 'b>,
    budget: &'b Budget,
    functions: &'b mut Vec<LocalFunction>,
}

/// The function that is being read.
struct Function {
    /// Address of its first instruction, from the start of its section.
    start: u64,
    /// Depth of its entry.
    depth: isize,
    /// Scopes of the blocks inside, by depth of their entries.
    blocks: Vec<(isize, Vec<Range<usize>>)>,
}

impl<'a> UnitReader<'a, '_> {
    fn read(&mut self) -> gimli::Result<()> {
        let mut entries = self.unit.entries();
        let mut function: Option<Function> = None;
        while let Some(entry) = entries.next_dfs()? {
            if self.budget.take(entry).is_none() {
                return Ok(());
            }
            if function.as_ref().is_some_and(|function| entry.depth() <= function.depth) {
                function = None;
            }
            match (entry.tag(), &mut function) {
                (constants::DW_TAG_subprogram, None) => function = self.begin(entry),
                (
                    constants::DW_TAG_lexical_block | constants::DW_TAG_inlined_subroutine,
                    Some(function),
                ) => {
                    let scope = self.scope(entry, function.start);
                    function.blocks.retain(|(depth, _)| *depth < entry.depth());
                    function.blocks.push((entry.depth(), scope));
                }
                (
                    constants::DW_TAG_variable | constants::DW_TAG_formal_parameter,
                    Some(function),
                ) => {
                    function.blocks.retain(|(depth, _)| *depth < entry.depth());
                    if let Some(variable) = self.variable(entry, function)
                        && let Some(last) = self.functions.last_mut()
                    {
                        last.variables.push(variable);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Begins a function that has instructions.
    fn begin(&mut self, entry: &Entry<'a>) -> Option<Function> {
        let low = entry.attr_value(constants::DW_AT_low_pc)?;
        let start = self.dwarf.attr_address(self.unit, low).ok()??;
        let mut name = self.types.name(entry);
        if name.is_empty() {
            name = self.types.name(&self.origin(entry)?);
        }
        self.functions.push(LocalFunction { name, variables: Vec::new() });
        Some(Function { start, depth: entry.depth(), blocks: Vec::new() })
    }

    fn variable(&mut self, entry: &Entry<'a>, function: &Function) -> Option<Variable> {
        let origin = self.origin(entry);
        let described = origin.as_ref().unwrap_or(entry);
        let name = self.types.name(described);
        if name.is_empty() {
            return None;
        }
        Some(Variable {
            name,
            type_id: self.types.of(described, 0),
            depth: function.blocks.len(),
            scope: function.blocks.last().map(|(_, scope)| scope.clone()).unwrap_or_default(),
            places: self.places(entry, function.start).unwrap_or_default(),
        })
    }

    /// The entry that describes an inlined copy.
    fn origin(&self, entry: &Entry<'a>) -> Option<Entry<'a>> {
        match entry.attr_value(constants::DW_AT_abstract_origin)? {
            AttributeValue::UnitRef(offset) => {
                let entry = self.unit.entry(offset).ok()?;
                self.budget.take(&entry).map(|()| entry)
            }
            _ => None,
        }
    }

    /// Slots from the start of the function.
    fn scope(&self, entry: &Entry<'a>, start: u64) -> Vec<Range<usize>> {
        let Ok(mut ranges) = self.dwarf.die_ranges(self.unit, entry) else { return Vec::new() };
        let mut scope = Vec::new();
        while let Ok(Some(range)) = ranges.next() {
            if scope.len() == RANGES {
                break;
            }
            scope.extend(slots(range.begin, range.end, start));
        }
        scope
    }

    fn places(&self, entry: &Entry<'a>, start: u64) -> Option<Vec<(Range<usize>, Location)>> {
        let encoding = self.unit.encoding();
        let always = |location| vec![(0..usize::MAX, location)];
        if let Some(value) = entry.attr_value(constants::DW_AT_const_value) {
            let value = match value {
                AttributeValue::Sdata(value) => value,
                value => value.udata_value()?.cast_signed(),
            };
            return Some(always(Location::Constant(value)));
        }
        let place = entry.attr_value(constants::DW_AT_location)?;
        if let AttributeValue::Exprloc(expression) = place {
            return location(expression, encoding).map(always);
        }
        let mut list = self.dwarf.attr_locations(self.unit, place).ok()??;
        let mut places = Vec::new();
        while let Ok(Some(part)) = list.next() {
            if places.len() == RANGES {
                break;
            }
            let range = slots(part.range.begin, part.range.end, start);
            if let (Some(range), Some(location)) = (range, location(part.data, encoding)) {
                places.push((range, location));
            }
        }
        Some(places)
    }
}

/// Addresses as slots from the start of a function.
fn slots(begin: u64, end: u64, start: u64) -> Option<Range<usize>> {
    let slot = |address: u64| usize::try_from(address.checked_sub(start)? / Insn::SIZE as u64).ok();
    Some(slot(begin)?..slot(end)?)
}

/// Types that are converted.
const TYPES: usize = 1 << 16;
/// Units that are read.
const UNITS: usize = 1 << 12;
/// Ranges of one variable.
const RANGES: usize = 1 << 10;
