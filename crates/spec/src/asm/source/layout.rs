//! Completes a source: what symbols name and how large they are, then all references.
//!
//! A reference to a local symbol becomes one to its section, since loaders know functions and
//! variables of an object by their section and offset; one to a global symbol remains.

use super::data;
use super::unit::{Binding, Expression, Kind, Point, Referent, Relocation, Symbol, Unit, Value};
use crate::asm::Form;
use crate::asm::text::cursor::Result;
use crate::asm::text::output::{Patch, Target};
use crate::asm::text::{Error, Reference};
use crate::insn::{Insn, PSEUDO_CALL};

/// Resolves everything that could not be known while the source was read.
pub(super) fn complete(unit: &mut Unit<'_>) -> Result<()> {
    for section in 0..unit.sections.len() {
        called(unit, section);
    }
    for section in 0..unit.sections.len() {
        classify(unit, section);
    }
    sizes(unit)?;
    for section in 0..unit.sections.len() {
        values(unit, section)?;
        jumps(unit, section)?;
        references(unit, section)?;
        unit.sections[section].relocations.sort_by_key(|relocation| relocation.offset);
        undefined(unit, section)?;
    }
    Ok(())
}

/// Without types, no loader knows what a symbol of the kernel is.
fn undefined(unit: &Unit<'_>, section: usize) -> Result<()> {
    let relocations = unit.sections[section].relocations.iter().filter(|_| !unit.has_types());
    for relocation in relocations {
        let Referent::Symbol(number) = relocation.referent else { continue };
        let symbol = &unit.symbols[number];
        if symbol.place.is_none() {
            return Err(Error {
                line: line(unit, section, relocation.offset as usize / Insn::SIZE),
                column: 1,
                token: symbol.name.clone(),
                expected: EXPECTED_SYMBOL.to_owned(),
            });
        }
    }
    Ok(())
}

/// What code calls, or takes the address of, is a function.
fn called(unit: &mut Unit<'_>, section: usize) {
    let code = &unit.sections[section].code;
    let calls = code.patches.iter().filter(|patch| is_call(patch.form));
    let calls = calls.filter_map(|patch| match patch.target {
        Target::Label(spot) => unit.find(spot.token),
        Target::Distance(..) => None,
    });
    let addresses = code.code.references.iter().filter_map(|(_, reference)| match reference {
        Reference::Address(name, _) => unit.find(name),
        _ => None,
    });
    let found: Vec<usize> = calls.chain(addresses).collect();
    for number in found {
        let place = unit.symbols[number].place;
        if place.is_some_and(|(section, _)| unit.sections[section].is_code()) {
            unit.symbols[number].kind = Some(Kind::Function);
            unit.symbols[number].needed = true;
        }
    }
}

/// Functions of a section with code, variables of one with data.
fn classify(unit: &mut Unit<'_>, section: usize) {
    let is_code = unit.sections[section].is_code();
    let is_text = unit.sections[section].name.starts_with(".text");
    let inside = |symbol: &Symbol<'_>| symbol.place.is_some_and(|(place, _)| place == section);
    let mut symbols: Vec<&mut Symbol<'_>> =
        unit.symbols.iter_mut().filter(|symbol| inside(symbol)).collect();
    for symbol in symbols.iter_mut().filter(|symbol| symbol.kind.is_none()) {
        let kind = if is_code { Kind::Function } else { Kind::Object };
        let named = symbol.binding != Binding::Local || !is_code && !symbol.is_private();
        if named {
            symbol.kind = Some(kind);
            symbol.needed = true;
        }
    }
    let starts = |symbol: &Symbol<'_>| symbol.place == Some((section, 0));
    let begins_named = symbols.iter().any(|symbol| symbol.kind.is_some() && starts(symbol));
    let first = symbols.iter_mut().find(|symbol| starts(symbol) && !symbol.is_private());
    if let Some(first) = first.filter(|_| is_code && !is_text && !begins_named) {
        first.kind = Some(Kind::Function);
        first.binding = Binding::Global;
        first.needed = true;
    }
}

/// Sizes as given; else up to the next function or variable, or the end of the section.
fn sizes(unit: &mut Unit<'_>) -> Result<()> {
    let named = unit.symbols.iter().filter(|symbol| symbol.kind.is_some());
    let mut starts: Vec<(usize, u64)> = named.filter_map(|symbol| symbol.place).collect();
    starts.sort_unstable();
    for number in 0..unit.symbols.len() {
        let symbol = &unit.symbols[number];
        let bytes = match (symbol.size, symbol.place) {
            (Some(Expression::Number(size)), _) => size,
            (Some(Expression::Distance(end, start)), _) => distance(unit, end, start)?,
            (Some(Expression::Symbol(spot, _)), _) => {
                return Err(spot.error("a number, or a distance such as `.-name`"));
            }
            (None, Some((section, offset))) => {
                let next = starts.partition_point(|start| *start <= (section, offset));
                let next = starts.get(next).filter(|next| next.0 == section);
                next.map_or(unit.sections[section].len(), |next| next.1) - offset
            }
            (None, None) => 0,
        };
        unit.symbols[number].bytes = bytes;
    }
    Ok(())
}

fn distance(unit: &Unit<'_>, end: Point<'_>, start: Point<'_>) -> Result<u64> {
    let place = |point: Point<'_>| match point {
        Point::Here(section, offset, _) => Some((section, offset)),
        Point::Symbol(spot) => unit.symbols[unit.find(spot.token)?].place,
    };
    let expected = |point: Point<'_>| point.spot().error("a label of this source");
    let end_place = place(end).ok_or_else(|| expected(end))?;
    let start_place = place(start).ok_or_else(|| expected(start))?;
    if end_place.0 != start_place.0 {
        return Err(start.spot().error("a label of the same section"));
    }
    Ok(end_place.1.wrapping_sub(start_place.1))
}

/// Data that depends on symbols.
fn values(unit: &mut Unit<'_>, section: usize) -> Result<()> {
    let name = unit.sections[section].name.as_str();
    let (is_types, is_maps) = (name.starts_with(".BTF"), name.starts_with(".maps"));
    for value in std::mem::take(&mut unit.sections[section].values) {
        let Value { offset, size, expression } = value;
        let (number, spot) = match expression {
            Expression::Number(number) => (number, None),
            Expression::Distance(end, start) => (distance(unit, end, start)?, Some(end.spot())),
            Expression::Symbol(spot, addend) => {
                let symbol = unit.find(spot.token);
                let symbol = symbol.ok_or_else(|| spot.error("a symbol of this source"))?;
                let (referent, base) = referent(unit, symbol, is_maps);
                let kind = match (size, is_types) {
                    (8, _) => R_BPF_64_ABS64,
                    (_, true) => R_BPF_64_NODYLD32,
                    (_, false) => R_BPF_64_ABS32,
                };
                unit.sections[section].relocations.push(Relocation { offset, kind, referent });
                (base.wrapping_add_signed(addend), Some(spot))
            }
        };
        let too_large = |spot: crate::asm::text::cursor::Spot<'_>| {
            spot.error(format!("an address or distance of {size} bytes"))
        };
        let bytes = match (data::fit(number, size), spot) {
            (Some(bytes), _) => bytes,
            (None, Some(spot)) => return Err(too_large(spot)),
            (None, None) => [0; 8],
        };
        let start = offset as usize;
        unit.sections[section].bytes[start..start + size].copy_from_slice(&bytes[..size]);
    }
    Ok(())
}

/// What a relocation names for a symbol, and the number that the place holds.
fn referent(unit: &mut Unit<'_>, number: usize, by_name: bool) -> (Referent, u64) {
    let symbol = &mut unit.symbols[number];
    match symbol.place {
        Some((section, offset)) if symbol.binding == Binding::Local && !by_name => {
            (Referent::Section(section), offset)
        }
        place => {
            if place.is_none() && symbol.binding == Binding::Local {
                symbol.binding = Binding::Global;
            }
            symbol.needed = true;
            (Referent::Symbol(number), 0)
        }
    }
}

/// Jumps within a section, and calls.
fn jumps(unit: &mut Unit<'_>, section: usize) -> Result<()> {
    for patch in std::mem::take(&mut unit.sections[section].code.patches) {
        let distance = match patch.target {
            Target::Distance(distance, _) => distance,
            Target::Label(_) if is_call(patch.form) => {
                call(unit, section, patch);
                continue;
            }
            Target::Label(spot) => {
                let place = unit.find(spot.token).and_then(|found| unit.symbols[found].place);
                let place = place.filter(|(place, _)| *place == section);
                let (_, offset) = place.ok_or_else(|| spot.error("a label of this section"))?;
                (offset / Insn::SIZE as u64) as i64 - patch.slot as i64 - 1
            }
        };
        patch.write(&mut unit.sections[section].code.code.insns[patch.slot], distance)?;
    }
    Ok(())
}

/// A call of a function, or its address, by its name.
fn call<'a>(unit: &mut Unit<'a>, section: usize, patch: Patch<'a>) {
    let Target::Label(spot) = patch.target else { return };
    let symbol = unit.symbol(spot.token);
    if patch.form == Form::Address {
        address(unit, section, patch.slot, symbol, 0);
        return;
    }
    let (referent, base) = referent(unit, symbol, false);
    let before = (base / Insn::SIZE as u64) as i64 - 1;
    relocate(unit, section, patch.slot, R_BPF_64_32, referent);
    let insn = &mut unit.sections[section].code.code.insns[patch.slot];
    (insn.src, insn.imm) = (PSEUDO_CALL, before as i32);
}

/// The address of a symbol in a wide load.
fn address(unit: &mut Unit<'_>, section: usize, slot: usize, symbol: usize, addend: i64) {
    let (referent, base) = referent(unit, symbol, false);
    relocate(unit, section, slot, R_BPF_64_64, referent);
    wide(unit, section, slot, base.wrapping_add_signed(addend));
}

/// A wide load as compilers leave it: the offset from the referent in its first half.
fn wide(unit: &mut Unit<'_>, section: usize, slot: usize, offset: u64) {
    let insns = &mut unit.sections[section].code.code.insns;
    (insns[slot].src, insns[slot].imm) = (0, offset as i32);
    insns[slot + 1].imm = 0;
}

fn relocate(unit: &mut Unit<'_>, section: usize, slot: usize, kind: u32, referent: Referent) {
    let offset = (slot * Insn::SIZE) as u64;
    unit.sections[section].relocations.push(Relocation { offset, kind, referent });
}

/// What instructions refer to by name.
fn references(unit: &mut Unit<'_>, section: usize) -> Result<()> {
    for (slot, reference) in std::mem::take(&mut unit.sections[section].code.code.references) {
        match reference {
            Reference::Map(name) => {
                let symbol = defined(unit, section, slot, &name, "the name of a map")?;
                address(unit, section, slot, symbol, 0);
            }
            Reference::MapValue(name, offset) => {
                match unit.sections.iter().position(|section| section.name == name) {
                    Some(data) => {
                        relocate(unit, section, slot, R_BPF_64_64, Referent::Section(data));
                        wide(unit, section, slot, offset.into());
                    }
                    None => {
                        let expected = "the name of a section with data";
                        let symbol = defined(unit, section, slot, &name, expected)?;
                        address(unit, section, slot, symbol, offset.into());
                    }
                }
            }
            Reference::Address(name, addend) => {
                let symbol = unit.symbol(&name);
                address(unit, section, slot, symbol, addend);
            }
            Reference::Symbol(name) => {
                let symbol = unit.symbol(&name);
                address(unit, section, slot, symbol, 0);
            }
            Reference::Kfunc(name) => {
                let symbol = unit.symbol(&name);
                let (referent, _) = referent(unit, symbol, false);
                relocate(unit, section, slot, R_BPF_64_32, referent);
                let insn = &mut unit.sections[section].code.code.insns[slot];
                (insn.src, insn.imm) = (PSEUDO_CALL, -1);
            }
        }
    }
    Ok(())
}

/// A symbol that the source must define.
fn defined(
    unit: &Unit<'_>,
    section: usize,
    slot: usize,
    name: &str,
    expected: &str,
) -> Result<usize> {
    let found = unit.find(name).filter(|found| unit.symbols[*found].place.is_some());
    found.ok_or_else(|| {
        let line = line(unit, section, slot);
        Error { line, column: 1, token: name.to_owned(), expected: expected.to_owned() }
    })
}

fn line(unit: &Unit<'_>, section: usize, slot: usize) -> usize {
    let lines = &unit.sections[section].lines;
    let after = lines.partition_point(|line| line.slot <= slot);
    lines[..after].last().map_or(0, |line| line.line)
}

const fn is_call(form: Form) -> bool {
    matches!(form, Form::Call | Form::Address)
}

const R_BPF_64_64: u32 = 1;
const R_BPF_64_ABS64: u32 = 2;
const R_BPF_64_ABS32: u32 = 3;
const R_BPF_64_NODYLD32: u32 = 4;
const R_BPF_64_32: u32 = 10;

/// What a reference must name in a source without types.
const EXPECTED_SYMBOL: &str = "a label, map or helper: functions and variables of the kernel \
                               need the types that `clang -g -S` writes";
