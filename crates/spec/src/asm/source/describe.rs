//! Types for a source without types: its maps, functions, variables and lines.

use super::Error;
use super::ext::{self, SectionInfo};
use super::map::{self, POINTER};
use super::unit::{Binding, Kind, Map, Symbol, Unit};
use crate::asm::function_types::{FunctionTypes, identifier};
use crate::btf::Linkage;
use crate::elf::has_data_name;
use crate::insn::Insn;
use crate::model::{MapDef, MapKind, ProgramKind};

/// Adds `.BTF` and `.BTF.ext`. `file` is the name that source lines have.
pub(super) fn add(unit: &mut Unit<'_>, file: &str) -> Result<(), Error> {
    let mut types = FunctionTypes::default();
    maps(unit, &mut types)?;
    variables(unit, &mut types)?;
    let file = types.builder.string(file);
    let mut info = Vec::new();
    for (number, section) in unit.sections.iter().enumerate() {
        if section.is_code() {
            let functions = functions(unit, number, &mut types);
            let name = types.builder.string(&section.name);
            let lines = section.lines.iter().map(|line| ext::Line {
                offset: (line.slot * Insn::SIZE) as u32,
                file,
                text: types.builder.string(line.text),
                line: line.line as u32,
            });
            info.push(SectionInfo { name, functions, lines: lines.collect() });
        }
    }
    let btf = types.builder.build().map_err(|error| Error::Types(Box::new(error)))?;
    for (name, bytes) in [(".BTF", btf.raw().to_vec()), (".BTF.ext", ext::bytes(&info))] {
        let section = unit.section(name);
        unit.sections[section].bytes = bytes;
        unit.sections[section].align = 4;
        unit.sections[section].flags = Some(0);
    }
    Ok(())
}

/// A variable in `.maps` for each map, whose type has all of its properties.
fn maps(unit: &Unit<'_>, types: &mut FunctionTypes) -> Result<(), Error> {
    let mut vars = Vec::new();
    let mut end = 0;
    for Map { def, symbol, .. } in &unit.maps {
        let symbol = &unit.symbols[*symbol];
        let Some((_, offset)) = symbol.place else { continue };
        let definition = definition(types, def);
        let var = types.builder.var(&def.name, definition, Linkage::Global);
        vars.push((var, offset as u32, symbol.bytes as u32));
        end = offset as u32 + symbol.bytes as u32;
    }
    describe_section(types, map::SECTION, end, &vars)
}

/// `struct { int (*type)[1]; … }`
fn definition(types: &mut FunctionTypes, def: &MapDef) -> u32 {
    let int = types.int();
    let members = map::members(def);
    let mut fields: Vec<_> = members
        .iter()
        .zip(0..)
        .map(|((name, number), place)| {
            let array = types.builder.array(int, int, *number);
            (*name, types.builder.ptr(array), place * POINTER * 8)
        })
        .collect();
    let size = members.len() as u32 * POINTER;
    if map::has_values(def) {
        let target = match &def.inner {
            Some(inner) => definition(types, inner),
            None => types.other(),
        };
        let pointer = types.builder.ptr(target);
        let values = types.builder.array(pointer, int, 0);
        // A program array has its sizes from its values.
        fields.retain(|(name, ..)| def.kind != MapKind::PROG_ARRAY || *name != "value_size");
        fields.push(("values", values, size * 8));
    }
    types.builder.structure("", size, &fields)
}

/// A variable for each symbol of a data section.
fn variables(unit: &Unit<'_>, types: &mut FunctionTypes) -> Result<(), Error> {
    for (number, section) in unit.sections.iter().enumerate() {
        if !has_data_name(&section.name) {
            continue;
        }
        let symbols = symbols(unit, number, Kind::Object);
        let inside = symbols.into_iter().filter(|(offset, symbol)| {
            let end = u64::from(*offset).saturating_add(symbol.bytes);
            symbol.bytes > 0 && end <= section.len() && identifier(&symbol.name) == symbol.name
        });
        let vars = inside.map(|(offset, symbol)| {
            let size = symbol.bytes as u32;
            let type_id = types.unsigned(size);
            let local = symbol.binding == Binding::Local;
            let linkage = if local { Linkage::Static } else { Linkage::Global };
            (types.builder.var(&symbol.name, type_id, linkage), offset, size)
        });
        let vars: Vec<_> = vars.collect();
        describe_section(types, &section.name, section.bytes.len() as u32, &vars)?;
    }
    Ok(())
}

/// Symbols of a section by their offset, one at each.
fn symbols<'u, 'a>(unit: &'u Unit<'a>, section: usize, kind: Kind) -> Vec<(u32, &'u Symbol<'a>)> {
    let placed = unit.symbols.iter().filter(|symbol| symbol.kind == Some(kind));
    let placed = placed.filter_map(|symbol| match symbol.place {
        Some((place, offset)) if place == section => Some((offset as u32, symbol)),
        _ => None,
    });
    let mut found: Vec<_> = placed.collect();
    found.sort_by_key(|(offset, _)| *offset);
    found.dedup_by_key(|(offset, _)| *offset);
    found
}

fn describe_section(
    types: &mut FunctionTypes,
    name: &str,
    size: u32,
    vars: &[(u32, u32, u32)],
) -> Result<(), Error> {
    if vars.len() > MAX_VARIABLES {
        return Err(Error::File(format!("section {name} has more than {MAX_VARIABLES} variables")));
    }
    if !vars.is_empty() {
        types.builder.datasec(name, size, vars);
    }
    Ok(())
}

/// A `FUNC` for each function of a section, by its offset.
fn functions(unit: &Unit<'_>, section: usize, types: &mut FunctionTypes) -> Vec<(u32, u32)> {
    let name = &unit.sections[section].name;
    let is_text = name.starts_with(".text");
    let xdp = ProgramKind::from_name(name).is_some_and(ProgramKind::is_xdp);
    let found = symbols(unit, section, Kind::Function);
    let typed = found.into_iter().map(|(offset, symbol)| {
        let entry = !is_text && symbol.binding != Binding::Local;
        (offset, types.function(&symbol.name, entry, entry && xdp))
    });
    typed.collect()
}

/// The kernel counts them in 16 bits.
const MAX_VARIABLES: usize = 0xffff;
