//! Types for a source without types: its maps, functions, variables and lines.

use super::Error;
use super::ext::{self, SectionInfo};
use super::map::{self, POINTER};
use super::unit::{Binding, Kind, Map, Symbol, Unit};
use crate::asm::function_types::FunctionTypes;
use crate::btf::Linkage;
use crate::insn::Insn;
use crate::model::{MapDef, MapKind, ProgramKind};

/// Adds `.BTF` and `.BTF.ext`. `file` is the name that source lines have.
pub(super) fn add(unit: &mut Unit<'_>, file: &str) -> Result<(), Error> {
    let mut types = FunctionTypes::default();
    maps(unit, &mut types);
    variables(unit, &mut types);
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
fn maps(unit: &Unit<'_>, types: &mut FunctionTypes) {
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
    if !vars.is_empty() {
        types.builder.datasec(map::SECTION, end, &vars);
    }
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
fn variables(unit: &Unit<'_>, types: &mut FunctionTypes) {
    let mut byte = None;
    for (number, section) in unit.sections.iter().enumerate() {
        let data = [".rodata", ".data", ".bss"].iter().any(|base| {
            section.name.strip_prefix(base).is_some_and(|rest| matches!(rest.get(..1), None | Some(".")))
        });
        if !data {
            continue;
        }
        let mut symbols: Vec<(u32, &Symbol<'_>)> = unit
            .symbols
            .iter()
            .filter(|symbol| symbol.kind == Some(Kind::Object) && is_identifier(&symbol.name))
            .filter_map(|symbol| match symbol.place {
                Some((place, offset)) if place == number && symbol.bytes > 0 => {
                    Some((offset as u32, symbol))
                }
                _ => None,
            })
            .collect();
        symbols.sort_by_key(|(offset, _)| *offset);
        symbols.dedup_by_key(|(offset, _)| *offset);
        let vars: Vec<_> = symbols
            .into_iter()
            .map(|(offset, symbol)| {
                let size = symbol.bytes as u32;
                let builder = &mut types.builder;
                let type_id = match size {
                    1 => *byte.get_or_insert_with(|| builder.int("unsigned char", 8, false)),
                    2 => builder.int("unsigned short", 16, false),
                    4 => builder.int("unsigned int", 32, false),
                    8 => builder.int("unsigned long long", 64, false),
                    _ => {
                        let byte =
                            *byte.get_or_insert_with(|| builder.int("unsigned char", 8, false));
                        let index = types.int();
                        types.builder.array(byte, index, size)
                    }
                };
                let local = symbol.binding == Binding::Local;
                let linkage = if local { Linkage::Static } else { Linkage::Global };
                (types.builder.var(&symbol.name, type_id, linkage), offset, size)
            })
            .collect();
        if !vars.is_empty() {
            types.builder.datasec(&section.name, section.bytes.len() as u32, &vars);
        }
    }
}

/// A `FUNC` for each function of a section, by its offset.
fn functions(unit: &Unit<'_>, section: usize, types: &mut FunctionTypes) -> Vec<(u32, u32)> {
    let name = &unit.sections[section].name;
    let is_text = name.starts_with(".text");
    let xdp = ProgramKind::from_name(name).is_some_and(ProgramKind::is_xdp);
    let mut found: Vec<(u32, &Symbol<'_>)> = unit
        .symbols
        .iter()
        .filter(|symbol| symbol.kind == Some(Kind::Function))
        .filter_map(|symbol| match symbol.place {
            Some((place, offset)) if place == section => Some((offset as u32, symbol)),
            _ => None,
        })
        .collect();
    found.sort_by_key(|(offset, _)| *offset);
    found.dedup_by_key(|(offset, _)| *offset);
    let typed = found.into_iter().map(|(offset, symbol)| {
        let entry = !is_text && symbol.binding != Binding::Local;
        (offset, types.function(&symbol.name, entry, entry && xdp))
    });
    typed.collect()
}

fn is_identifier(name: &str) -> bool {
    crate::asm::function_types::identifier(name) == name
}
