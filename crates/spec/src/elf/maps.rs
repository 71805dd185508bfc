//! Maps of an object: definitions in `.maps` and `maps`, data sections, kernel configuration.
//!
//! Order: definitions, then data sections as they stand in the file, then `.kconfig`. A data
//! section is an array of one value with the section's name (the kernel's limit of 15
//! characters is the runtime's business). Not here: how a definition reads (`btf_maps`,
//! `old_maps`).

use std::collections::HashMap;

use super::code::Code;
use super::externs::Externs;
use super::file::{File, Section};
use super::{btf_maps, old_maps};
use crate::btf::{Btf, Kind, Linkage};
use crate::error::{Error, Place};
use crate::limits::MAX_DATA;
use crate::model::{Initial, MapDef, MapKind, Program, Target};

#[derive(Default)]
pub(super) struct Maps {
    pub defs: Vec<MapDef>,
    /// Number of the `.kconfig` map.
    pub kconfig: Option<usize>,
    /// Where definitions stand: section, offset, map.
    placed: HashMap<(usize, u32), usize>,
    /// Data sections.
    data: HashMap<usize, usize>,
    /// `values` that the object fills in.
    pub slots: Vec<Slots>,
}

/// The initialised `values` of one map definition.
pub(super) struct Slots {
    pub map: usize,
    pub section: usize,
    /// Bytes of the section that hold pointers, eight each.
    pub start: u32,
    pub end: u32,
}

impl Maps {
    pub fn read(file: &File<'_>, btf: Option<&Btf>, externs: &Externs) -> Result<Self, Error> {
        let mut maps = Self::default();
        for number in 0..file.sections.len() {
            let name = &file.sections[number].name;
            if name == "maps" || name.starts_with("maps/") {
                old_maps::read(file, number, btf, &mut maps)?;
            }
        }
        btf_maps::read(file, btf, &mut maps)?;
        for (number, section) in file.sections.iter().enumerate() {
            if is_data(section) {
                let def = data_map(file, section, btf)?;
                maps.data.insert(number, maps.defs.len());
                maps.defs.push(def);
            }
        }
        if externs.kconfig_size > 0 {
            maps.kconfig = Some(maps.defs.len());
            let contents = vec![0; externs.kconfig_size as usize];
            maps.defs.push(section_map(".kconfig", contents, true, btf));
        }
        Ok(maps)
    }

    /// Adds a definition found at an offset of a section.
    pub fn define(&mut self, section: usize, offset: u32, def: MapDef) {
        self.placed.insert((section, offset), self.defs.len());
        self.defs.push(def);
    }

    /// The map defined at this place.
    pub fn at(&self, section: usize, offset: u32) -> Option<usize> {
        self.placed.get(&(section, offset)).copied()
    }

    /// What a 64-bit load of this place means.
    pub fn target(&self, section: usize, offset: u32) -> Option<Target> {
        if let Some(map) = self.data.get(&section) {
            return Some(Target::MapValue { map: *map, offset });
        }
        self.at(section, offset).map(|map| Target::Map { map })
    }

    /// Why a place is neither map nor data.
    pub fn no_target(&self, section: usize, at: Place) -> Error {
        if self.placed.keys().any(|(holder, _)| *holder == section) {
            return Error::malformed(at, "points into a map definition");
        }
        Error::unsupported(
            at,
            "refers to a section that is neither code nor a map nor data: \
             put variables into .data*, .rodata* or .bss*",
        )
    }

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
                    return Err(Error::map(at, "a value is no program of this object"));
                };
                initial.push(Initial::Program { index, program });
                continue;
            }
            let map = u32::try_from(offset).ok().and_then(|offset| self.at(target, offset));
            let map = map.ok_or_else(|| Error::map(at, "a value is no map of this object"))?;
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

/// Whether a section becomes a map of one value.
pub(super) fn is_data(section: &Section<'_>) -> bool {
    let named = |base: &str| {
        section.name.strip_prefix(base).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let data = named(".rodata") || named(".data") || named(".bss");
    data && section.allocated && !section.executable && section.size > 0
}

fn data_map(file: &File<'_>, section: &Section<'_>, btf: Option<&Btf>) -> Result<MapDef, Error> {
    if section.size > MAX_DATA {
        let at = Place::new(file.name).section(&section.name);
        let what = format!("{} bytes of variables, at most {MAX_DATA} are taken", section.size);
        return Err(Error::TooBig { at, what });
    }
    let contents =
        if section.zero { vec![0; section.size as usize] } else { section.data.to_vec() };
    Ok(section_map(&section.name, contents, section.name.starts_with(".rodata"), btf))
}

fn section_map(name: &str, contents: Vec<u8>, frozen: bool, btf: Option<&Btf>) -> MapDef {
    let datasec = btf.and_then(|btf| btf.find(Kind::Datasec, name)).unwrap_or(0);
    let mut flags = if frozen { RDONLY_PROG } else { 0 };
    if btf.is_some_and(|btf| has_global(btf, datasec)) {
        flags |= MMAPABLE;
    }
    MapDef {
        name: name.to_owned(),
        kind: MapKind::ARRAY,
        key_size: 4,
        value_size: contents.len() as u32,
        max_entries: 1,
        flags,
        value_type: datasec,
        contents: Some(contents),
        frozen,
        ..MapDef::default()
    }
}

/// User space maps a section into its memory only for variables that it can name.
fn has_global(btf: &Btf, datasec: u32) -> bool {
    let vars = btf.ty(datasec).into_iter().flat_map(|ty| ty.vars());
    let mut linkages = vars.filter_map(|place| btf.ty(place.type_id)).map(|var| var.linkage());
    linkages.any(|linkage| linkage != Linkage::Static as u32)
}

/// `BPF_F_RDONLY_PROG`.
const RDONLY_PROG: u32 = 1 << 7;
/// `BPF_F_MMAPABLE`.
const MMAPABLE: u32 = 1 << 10;
