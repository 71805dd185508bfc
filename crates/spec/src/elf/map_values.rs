//! Initial values of an object's maps: programs and other maps.

use super::code::Code;
use super::file::{File, Section};
use super::maps::{Maps, Slots};
use crate::error::Error;
use crate::model::{Initial, MapDef, Program};

impl Maps {
    /// Fills [`MapDef::initial`] from the relocations of `.maps`, and gives up the maps.
    pub fn fill(
        mut self,
        file: &File<'_>,
        code: &Code,
        programs: &[Program],
    ) -> Result<Vec<MapDef>, Error> {
        let functions = code.functions.iter().enumerate();
        let entries = functions.filter(|(_, function)| function.entry).map(|(number, _)| number);
        let entries: Vec<usize> = entries.take(programs.len()).collect();
        for slots in std::mem::take(&mut self.slots) {
            let initial = self.initial(file, code, &entries, &slots)?;
            self.defs[slots.map].initial = initial;
        }
        Ok(self.defs)
    }

    fn initial(
        &self,
        file: &File<'_>,
        code: &Code,
        entries: &[usize],
        slots: &Slots,
    ) -> Result<Vec<Initial>, Error> {
        let section = &file.sections[slots.section];
        let range = u64::from(slots.start)..u64::from(slots.end);
        let first = section.relocs.partition_point(|reloc| reloc.offset < range.start);
        let inside =
            section.relocs[first..].iter().take_while(|reloc| range.contains(&reloc.offset));
        let mut initial = Vec::new();
        for reloc in inside {
            let symbol = &file.symbols[reloc.symbol];
            let at = file.at(slots.section, reloc.offset).symbol(&symbol.name);
            let index = ((reloc.offset - range.start) / 8) as u32;
            let Some(target) = symbol.section else { return Err(Error::Undefined { at }) };
            let offset = symbol.value.saturating_add(addend(section, reloc.offset));
            if file.sections[target].executable {
                let program = program_at(code, entries, target, offset);
                let Some(program) = program else {
                    return Err(Error::map(at, "a value is not a program of this object"));
                };
                initial.push(Initial::Program { index, program });
                continue;
            }
            let map = u32::try_from(offset).ok().and_then(|offset| self.at(target, offset));
            let map = map.ok_or_else(|| Error::map(at, "a value is not a map of this object"))?;
            initial.push(Initial::Map { index, map });
        }
        Ok(initial)
    }
}

/// The number that the compiler left in place, relative to the symbol.
fn addend(section: &Section<'_>, offset: u64) -> u64 {
    let at = usize::try_from(offset).unwrap_or(usize::MAX);
    let bytes = section.data.get(at..).and_then(<[u8]>::first_chunk);
    bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

fn program_at(code: &Code, entries: &[usize], section: usize, offset: u64) -> Option<usize> {
    let slot = usize::try_from(offset / 8).ok()?;
    entries.binary_search(&code.starting_at(section, slot)?).ok()
}
