//! Finds the variables of each function.

use std::ops::Range;

use gimli::{
    AttributeValue, DebuggingInformationEntry, Dwarf, Unit, UnitOffset, ValueType, constants,
};

use super::budget::Budget;
use super::types::Types;
use super::{Inlined, LocalFunction, Locals, Location, Reader, Variable};
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
    functions.retain(|known| !(known.variables.is_empty() && known.inlined.is_empty()));
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
    /// The blocks around the next entry, outermost first.
    blocks: Vec<Block>,
}

/// A lexical block or an inlined function.
struct Block {
    /// Depth of its entry.
    depth: isize,
    scope: Vec<Range<usize>>,
    /// The inlined function that it is, or that it belongs to.
    inlined: Option<usize>,
}

impl Function {
    /// Ends blocks that an entry at this depth is not inside of.
    fn leave(&mut self, depth: isize) {
        self.blocks.retain(|block| block.depth < depth);
    }

    fn inlined(&self) -> Option<usize> {
        self.blocks.last().and_then(|block| block.inlined)
    }
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
                (constants::DW_TAG_lexical_block, Some(function)) => {
                    function.leave(entry.depth());
                    let inlined = function.inlined();
                    let scope = self.scope(entry, function.start);
                    function.blocks.push(Block { depth: entry.depth(), scope, inlined });
                }
                (constants::DW_TAG_inlined_subroutine, Some(function)) => {
                    function.leave(entry.depth());
                    let inlined = self.inlined(entry, function);
                    let scope = self.scope(entry, function.start);
                    function.blocks.push(Block { depth: entry.depth(), scope, inlined });
                }
                (
                    constants::DW_TAG_variable | constants::DW_TAG_formal_parameter,
                    Some(function),
                ) => {
                    function.leave(entry.depth());
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
        self.functions.push(LocalFunction { name, ..LocalFunction::default() });
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
            is_parameter: entry.tag() == constants::DW_TAG_formal_parameter,
            depth: function.blocks.len(),
            inlined: function.inlined(),
            scope: function.blocks.last().map(|block| block.scope.clone()).unwrap_or_default(),
            places: self.places(entry, function.start).unwrap_or_default(),
        })
    }

    /// Adds an inlined function. Returns its number.
    fn inlined(&mut self, entry: &Entry<'a>, function: &Function) -> Option<usize> {
        let name = self.types.name(&self.origin(entry)?);
        let line = entry.attr_value(constants::DW_AT_call_line).and_then(|line| line.udata_value());
        let inlined = Inlined {
            number: self.functions.last()?.inlined.len(),
            name,
            file: self.call_file(entry).unwrap_or_default(),
            line: line.and_then(|line| u32::try_from(line).ok()).unwrap_or_default(),
            parent: function.inlined(),
            scope: self.scope(entry, function.start),
        };
        let last = self.functions.last_mut().filter(|last| last.inlined.len() < INLINED)?;
        last.inlined.push(inlined);
        Some(last.inlined.len() - 1)
    }

    /// Path of the file that contains the call of an inlined function.
    fn call_file(&self, entry: &Entry<'a>) -> Option<String> {
        let number = match entry.attr_value(constants::DW_AT_call_file)? {
            AttributeValue::FileIndex(number) => number,
            value => value.udata_value()?,
        };
        let header = self.unit.line_program.as_ref()?.header();
        let file = header.file(number)?;
        let text = |value| {
            let text = self.dwarf.attr_string(self.unit, value).ok()?;
            let text = Some(text.slice()).filter(|text| text.len() <= LONGEST)?;
            Some(String::from_utf8_lossy(text).into_owned())
        };
        let name = text(file.path_name())?;
        // Directory 0 is where the compiler ran.
        let dir = Some(file.directory_index()).filter(|dir| *dir != 0 && !name.starts_with('/'));
        match dir.and_then(|dir| text(header.directory(dir)?)) {
            Some(dir) => Some(format!("{dir}/{name}")),
            None => Some(name),
        }
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
        let always = |location| vec![(0..usize::MAX, location)];
        if let Some(value) = entry.attr_value(constants::DW_AT_const_value) {
            let value = match value {
                AttributeValue::Sdata(value) => value,
                value => value.udata_value()?.cast_signed(),
            };
            return Some(always(Location::constant(value)));
        }
        let place = entry.attr_value(constants::DW_AT_location)?;
        if let AttributeValue::Exprloc(expression) = place {
            return self.location(expression).map(always);
        }
        let mut list = self.dwarf.attr_locations(self.unit, place).ok()??;
        let mut places = Vec::new();
        while let Ok(Some(part)) = list.next() {
            if places.len() == RANGES {
                break;
            }
            let range = slots(part.range.begin, part.range.end, start);
            if let (Some(range), Some(location)) = (range, self.location(part.data)) {
                places.push((range, location));
            }
        }
        Some(places)
    }

    fn location(&self, expression: gimli::Expression<Reader<'a>>) -> Option<Location> {
        Location::expression(expression, self.unit.encoding(), |offset| {
            let entry = self.unit.entry(UnitOffset(offset)).ok()?;
            self.budget.take(&entry)?;
            ValueType::from_entry(&entry).ok()?
        })
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
/// Inlined functions of one function.
const INLINED: usize = 1 << 12;
/// Bytes of a path.
const LONGEST: usize = 4096;
