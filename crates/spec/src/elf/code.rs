//! Functions: executable sections cut at their symbols, with every reference they hold.
//!
//! Slots here count from the function's own start. Rule: after [`Code::read`] each call names a
//! function that exists and each fixup lies inside its function. Not here: putting functions
//! together into programs (`link`).

use std::collections::HashSet;
use std::ops::Range;

use super::ext::{Info, SectionInfo};
use super::externs::{Extern, Externs};
use super::file::{File, Reloc, Symbol, SymbolKind};
use super::maps::Maps;
use crate::error::{Error, Place};
use crate::insn::{
    Insn, PSEUDO_BTF_ID, PSEUDO_CALL, PSEUDO_FUNC, PSEUDO_KFUNC_CALL, PSEUDO_MAP_FD,
    PSEUDO_MAP_VALUE,
};
use crate::model::{Fixup, Line, ProgramKind, Target};

pub(super) struct Code {
    /// By section, then by slot.
    pub functions: Vec<Function>,
}

pub(super) struct Function {
    /// Name of the function.
    pub name: String,
    /// Index of its section.
    pub section: usize,
    /// Where it starts in its section.
    pub slot: usize,
    /// The instructions.
    pub insns: Vec<Insn>,
    /// Binding of its symbol.
    pub local: bool,
    /// Whether its symbol is local or hidden.
    pub hidden: bool,
    /// Started by the kernel, as opposed to called by others only.
    pub entry: bool,
    /// Type id of the function; 0 without types.
    pub type_id: u32,
    /// References to maps, functions and symbols.
    pub fixups: Vec<Fixup>,
    /// In the order of slots.
    pub calls: Vec<Call>,
    /// Source lines.
    pub lines: Vec<Line>,
}

/// A call or the taking of a function's address.
#[derive(Clone, Copy)]
pub(super) struct Call {
    /// The instruction that contains the call.
    pub slot: usize,
    /// Number in [`Code::functions`].
    pub callee: usize,
}

impl Code {
    /// Reads all functions of the object.
    pub fn read(
        file: &File<'_>,
        info: &Info,
        maps: &Maps,
        externs: &Externs,
    ) -> Result<Self, Error> {
        let mut code = Self { functions: Vec::new() };
        for section in executable(file) {
            code.cut(file, section)?;
        }
        for section in executable(file) {
            for reloc in &file.sections[section].relocs {
                code.reference(file, section, *reloc, maps, externs)?;
            }
            code.unrelocated_calls(file, section)?;
            if let Some(info) = info.get(&file.sections[section].name) {
                code.annotate(file, section, info)?;
            }
        }
        for function in &mut code.functions {
            function.fixups.sort_by_key(|fixup| fixup.slot);
            function.fixups.dedup_by_key(|fixup| fixup.slot);
            function.calls.sort_by_key(|call| call.slot);
        }
        code.mark_entries(file);
        Ok(code)
    }

    /// The function that starts at a slot of a section.
    pub fn starting_at(&self, section: usize, slot: usize) -> Option<usize> {
        self.functions
            .binary_search_by_key(&(section, slot), |function| (function.section, function.slot))
            .ok()
    }

    /// Numbers of a section's functions, which stand together.
    fn of_section(&self, section: usize) -> Range<usize> {
        let first = self.functions.partition_point(|function| function.section < section);
        let end = self.functions.partition_point(|function| function.section <= section);
        first..end
    }

    fn cut(&mut self, file: &File<'_>, number: usize) -> Result<(), Error> {
        let section = &file.sections[number];
        if !section.data.len().is_multiple_of(Insn::SIZE) {
            let at = file.at(number, section.data.len() as u64);
            return Err(Error::malformed(at, "ends inside an instruction"));
        }
        let starts = starts(file, number)?;
        for (index, symbol) in starts.iter().enumerate() {
            let next = starts.get(index + 1).map_or(section.data.len() as u64, |next| next.value);
            let size =
                if symbol.size == 0 { next } else { symbol.value.saturating_add(symbol.size) };
            let bytes = &section.data[symbol.value as usize..size.min(next) as usize];
            self.functions.push(Function::new(symbol, number, bytes));
        }
        if starts.is_empty() {
            self.functions.push(Function::whole(&section.name, number, section.data));
        }
        Ok(())
    }

    /// The function that holds a slot of a section, and the slot's place in it.
    fn holding(&self, section: usize, slot: usize) -> Option<(usize, usize)> {
        let after = self
            .functions
            .partition_point(|function| (function.section, function.slot) <= (section, slot));
        let number = after.checked_sub(1)?;
        let function = &self.functions[number];
        let inside = slot.checked_sub(function.slot)?;
        (function.section == section && inside < function.insns.len()).then_some((number, inside))
    }

    fn reference(
        &mut self,
        file: &File<'_>,
        section: usize,
        reloc: Reloc,
        maps: &Maps,
        externs: &Externs,
    ) -> Result<(), Error> {
        let symbol = &file.symbols[reloc.symbol];
        let at = file.at(section, reloc.offset).symbol(&symbol.name);
        let slot = reloc.offset as usize / Insn::SIZE;
        if !reloc.offset.is_multiple_of(Insn::SIZE as u64) {
            return Err(Error::malformed(at, "relocation inside an instruction"));
        }
        let Some((number, slot)) = self.holding(section, slot) else {
            return Err(Error::malformed(at, "relocation outside every function"));
        };
        let insn = self.functions[number].insns[slot];
        if insn.is_wide() && slot + 1 >= self.functions[number].insns.len() {
            return Err(Error::malformed(at, "the function ends inside a 64-bit load"));
        }
        if !insn.is_wide() && !insn.is_local_call() {
            return Err(Error::unsupported(at, format!("relocation of instruction `{insn:?}`")));
        }
        let Some(target) = symbol.section else {
            return self.external((number, slot), symbol, externs, maps, at);
        };
        if file.sections[target].executable {
            return self.call((number, slot), symbol, target, at);
        }
        self.data((number, slot), symbol, target, maps, at)
    }

    fn external(
        &mut self,
        (number, slot): (usize, usize),
        symbol: &Symbol,
        externs: &Externs,
        maps: &Maps,
        at: Place,
    ) -> Result<(), Error> {
        let function = &mut self.functions[number];
        let call = function.insns[slot].is_local_call();
        let (name, weak) = (symbol.name.clone(), symbol.weak);
        let (pseudo, target) = match (externs.find(&symbol.name), call) {
            (Some(Extern::Function(type_id)), true) => {
                (PSEUDO_KFUNC_CALL, Target::Kfunc { name, type_id, weak })
            }
            (Some(Extern::Function(type_id)), false) => {
                (PSEUDO_BTF_ID, Target::KfuncAddress { name, type_id, weak })
            }
            (Some(Extern::Variable(type_id)), false) => {
                let pseudo = if type_id == 0 { 0 } else { PSEUDO_BTF_ID };
                (pseudo, Target::Ksym { name, type_id, weak })
            }
            (Some(Extern::Kconfig(offset)), false) => {
                let Some(map) = maps.kconfig else { return Err(Error::Undefined { at }) };
                function.insns[slot + 1].imm = offset.cast_signed();
                (PSEUDO_MAP_VALUE, Target::MapValue { map, offset })
            }
            _ => return Err(Error::Undefined { at }),
        };
        function.insns[slot].src = pseudo;
        function.insns[slot].imm = 0;
        function.fixups.push(Fixup { slot, target });
        Ok(())
    }

    fn call(
        &mut self,
        (number, slot): (usize, usize),
        symbol: &Symbol,
        section: usize,
        at: Place,
    ) -> Result<(), Error> {
        let insn = self.functions[number].insns[slot];
        let size = Insn::SIZE as i64;
        let start = i64::try_from(symbol.value).ok().filter(|value| value % size == 0);
        let start = start.and_then(|start| {
            let imm = i64::from(insn.imm);
            if insn.is_local_call() {
                return (start / size).checked_add(imm + 1);
            }
            (imm % size == 0).then_some(start.checked_add(imm)? / size)
        });
        let start = start.and_then(|start| usize::try_from(start).ok());
        let callee = start.and_then(|start| self.starting_at(section, start));
        let Some(callee) = callee else {
            return Err(Error::malformed(at, "no function starts where this points"));
        };
        let function = &mut self.functions[number];
        if insn.is_wide() {
            function.insns[slot].src = PSEUDO_FUNC;
        }
        function.calls.push(Call { slot, callee });
        Ok(())
    }

    fn data(
        &mut self,
        (number, slot): (usize, usize),
        symbol: &Symbol,
        section: usize,
        maps: &Maps,
        at: Place,
    ) -> Result<(), Error> {
        let function = &mut self.functions[number];
        let imm = function.insns[slot].imm;
        if !function.insns[slot].is_wide() {
            return Err(Error::malformed(at, "call of a symbol that is not a function"));
        }
        let offset = symbol.value.checked_add_signed(i64::from(imm));
        let offset = offset.and_then(|offset| u32::try_from(offset).ok());
        let Some(offset) = offset else {
            return Err(Error::malformed(at, format!("points {imm} bytes from its symbol")));
        };
        let Some(target) = maps.target(section, offset) else {
            return Err(maps.no_target(section, at));
        };
        let (pseudo, second) = match &target {
            Target::MapValue { offset, .. } => (PSEUDO_MAP_VALUE, offset.cast_signed()),
            _ => (PSEUDO_MAP_FD, 0),
        };
        function.insns[slot].src = pseudo;
        function.insns[slot].imm = 0;
        function.insns[slot + 1].imm = second;
        function.fixups.push(Fixup { slot, target });
        Ok(())
    }

    /// Calls within a section need no relocation: their distance is already right there.
    fn unrelocated_calls(&mut self, file: &File<'_>, section: usize) -> Result<(), Error> {
        for number in self.of_section(section) {
            for slot in self.functions[number].open_calls() {
                let function = &self.functions[number];
                let from = (function.slot + slot) as i64;
                let start = from + i64::from(function.insns[slot].imm) + 1;
                let start = usize::try_from(start).ok();
                let Some(callee) = start.and_then(|start| self.starting_at(section, start)) else {
                    let at = file.at(section, from as u64 * 8).symbol(&function.name);
                    return Err(Error::malformed(at, "calls where no function starts"));
                };
                self.functions[number].calls.push(Call { slot, callee });
            }
        }
        Ok(())
    }

    fn annotate(
        &mut self,
        file: &File<'_>,
        section: usize,
        info: &SectionInfo,
    ) -> Result<(), Error> {
        let functions = self.of_section(section);
        for function in &mut self.functions[functions] {
            let end = function.slot + function.insns.len();
            function.type_id = info.functions.get(&function.slot).copied().unwrap_or(0);
            let first = info.lines.partition_point(|line| line.slot < function.slot);
            let lines = info.lines[first..].iter().take_while(|line| line.slot < end);
            let start = function.slot;
            function.lines = lines.map(|line| Line { slot: line.slot - start, ..*line }).collect();
        }
        for (slot, field) in &info.fields {
            let Some((number, slot)) = self.holding(section, *slot) else {
                let at = file.at(section, *slot as u64 * 8);
                return Err(Error::malformed(at, "field relocation outside every function"));
            };
            let target = Target::Field(field.clone());
            self.functions[number].fixups.push(Fixup { slot, target });
        }
        Ok(())
    }

    /// Functions of `.text` are called by others, unless the only one of the object is there.
    /// Elsewhere a global function is a program, unless its section does not determine its
    /// type and another function calls it.
    fn mark_entries(&mut self, file: &File<'_>) {
        let alone = self.functions.len() == 1;
        let mut called = vec![false; self.functions.len()];
        for call in self.functions.iter().flat_map(|function| &function.calls) {
            called[call.callee] = true;
        }
        for (function, called) in self.functions.iter_mut().zip(called) {
            let section = &file.sections[function.section].name;
            let text = section == ".text" || section.starts_with(".text.");
            let typed = ProgramKind::from_name(section).is_some();
            function.entry = if text { alone } else { !function.local && (typed || !called) };
        }
        // Static functions alone: an object of the oldest compilers, or one without symbols.
        for section in executable(file) {
            let name = &file.sections[section].name;
            let inside = self.of_section(section);
            let inside = &mut self.functions[inside];
            if ProgramKind::from_name(name).is_some() && inside.iter().all(|one| !one.entry) {
                inside.iter_mut().take(1).for_each(|function| function.entry = true);
            }
        }
    }
}

impl Function {
    fn new(symbol: &Symbol, section: usize, bytes: &[u8]) -> Self {
        let mut function = Self::whole(&symbol.name, section, bytes);
        function.slot = symbol.value as usize / Insn::SIZE;
        function.local = symbol.local;
        function.hidden = symbol.hidden;
        function
    }

    fn whole(name: &str, section: usize, bytes: &[u8]) -> Self {
        let (chunks, _) = bytes.as_chunks();
        let insns = chunks.iter().map(|raw| Insn::from_bytes(*raw));
        Self {
            name: name.to_owned(),
            section,
            slot: 0,
            insns: insns.collect(),
            local: false,
            hidden: false,
            entry: false,
            type_id: 0,
            fixups: Vec::new(),
            calls: Vec::new(),
            lines: Vec::new(),
        }
    }

    /// Local calls that no relocation has resolved.
    fn open_calls(&self) -> Vec<usize> {
        let fixups = self.fixups.iter().map(|fixup| fixup.slot);
        let known: HashSet<_> = fixups.chain(self.calls.iter().map(|call| call.slot)).collect();
        let mut open = Vec::new();
        let mut slot = 0;
        while let Some(insn) = self.insns.get(slot) {
            if insn.src == PSEUDO_CALL && insn.is_call() && !known.contains(&slot) {
                open.push(slot);
            }
            slot += if insn.is_wide() { 2 } else { 1 };
        }
        open
    }
}

fn executable(file: &File<'_>) -> impl Iterator<Item = usize> {
    let code = |(number, section): (usize, &super::file::Section<'_>)| {
        (section.executable && !section.data.is_empty()).then_some(number)
    };
    file.sections.iter().enumerate().filter_map(code)
}

/// Symbols at which functions of a section start, one for each place, in order.
fn starts<'f>(file: &'f File<'_>, section: usize) -> Result<Vec<&'f Symbol>, Error> {
    let of_kind = |kind| {
        let symbols = file.symbols_of(section);
        symbols.filter(|symbol| symbol.kind == kind).collect::<Vec<_>>()
    };
    let mut found = of_kind(SymbolKind::Function);
    if found.is_empty() {
        // Compilers that mark no functions still make them global.
        found = of_kind(SymbolKind::Other);
        found.retain(|symbol| !symbol.local);
    }
    // Of several names for one place the strongest counts.
    found.sort_by_key(|symbol| (symbol.value, symbol.local, symbol.weak));
    found.dedup_by_key(|symbol| symbol.value);
    let len = file.sections[section].data.len() as u64;
    for symbol in &found {
        if symbol.value >= len || !symbol.value.is_multiple_of(Insn::SIZE as u64) {
            let at = file.at(section, symbol.value).symbol(&symbol.name);
            return Err(Error::malformed(at, "no function can start here"));
        }
    }
    Ok(found)
}
