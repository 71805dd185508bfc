//! Variables: sizes and places in BTF's data sections, which compilers leave at zero for a linker
//! to fill.
//!
//! A variable is found by the name of its symbol in the section of the `DATASEC`'s name.
//! `.kconfig` and `.ksyms` have no section; see `externs` and `btf::kernel`.

use std::collections::{HashMap, HashSet};

use super::file::{File, Symbol, SymbolKind};
use super::map_sections::is_data;
use crate::btf::{Btf, Kind};
use crate::model::Global;

pub(super) fn place(file: &File<'_>, btf: &mut Btf) {
    let sections: Vec<_> = btf
        .types()
        .filter(|ty| ty.kind() == Kind::Datasec)
        .filter_map(|ty| Some((ty.id(), file.find(ty.name())?)))
        .collect();
    let mut placed = HashSet::new();
    for (datasec, section) in sections.into_iter().filter(|(_, section)| placed.insert(*section)) {
        place_section(file, section, btf, datasec);
    }
}

fn place_section(file: &File<'_>, section: usize, btf: &mut Btf, datasec: u32) {
    let Some(ty) = btf.ty(datasec) else { return };
    let symbols = file.symbols_of(section);
    let symbols: HashMap<&str, &Symbol> = symbols.map(|s| (s.name.as_str(), s)).collect();
    let mut hidden = Vec::new();
    let places: Vec<_> = ty
        .vars()
        .map(|place| {
            let name = btf.ty(place.type_id).map_or("", |var| var.name());
            let Some(symbol) = symbols.get(name) else { return (place.offset, place.size) };
            if symbol.hidden {
                hidden.push(place.type_id);
            }
            let size = if place.size == 0 { symbol.size as u32 } else { place.size };
            (u32::try_from(symbol.value).unwrap_or(place.offset), size)
        })
        .collect();
    let size = match ty.size() {
        0 => u32::try_from(file.sections[section].size).unwrap_or(u32::MAX),
        size => size,
    };
    btf.set_datasec(datasec, size, &places);
    for var in hidden {
        btf.set_static(var);
    }
}

/// Variables of the symbol table, by section and offset.
pub(super) fn variables(file: &File<'_>) -> Vec<Global> {
    let mut found: Vec<_> =
        file.symbols.iter().filter_map(|symbol| variable(file, symbol)).collect();
    found.sort_by(|(a, x), (b, y)| (a, x.offset).cmp(&(b, y.offset)));
    found.into_iter().map(|(_, global)| global).collect()
}

fn variable(file: &File<'_>, symbol: &Symbol) -> Option<(usize, Global)> {
    let number = symbol.section?;
    let section = &file.sections[number];
    if symbol.kind != SymbolKind::Object || symbol.size == 0 || !is_data(section) {
        return None;
    }
    let global = Global {
        name: symbol.name.clone(),
        section: section.name.clone(),
        type_text: String::new(),
        type_id: 0,
        offset: u32::try_from(symbol.value).ok()?,
        size: u32::try_from(symbol.size).ok()?,
    };
    Some((number, global))
}
