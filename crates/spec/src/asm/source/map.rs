//! `.map` and `.values`: definitions of maps and what they contain at the beginning.
//!
//! ```text
//! .map ports hash key=2 value=8 entries=1024 flags=0x1
//! .map tables array_of_maps key=4 entries=8 inner=(hash key=4 value=4 entries=16)
//! .map next prog_array key=4 entries=2
//! .values next 0=first 1=second
//! ```

use super::unit::{Binding, Expression, Kind, Map, Unit, Value};
use crate::asm::text::cursor::{Cursor, Result};
use crate::asm::text::token;
use crate::model::{MapDef, MapKind};

/// `NAME KIND [attribute=N]… [pin]`
pub(super) fn declare<'a>(unit: &mut Unit<'a>, cursor: &mut Cursor<'a>) -> Result<()> {
    let name = cursor.take(token::Kind::Word, "the name of a map")?;
    let spot = cursor.spot(name);
    let def = MapDef { name: name.text.to_owned(), ..definition(cursor, true)? };
    let section = unit.section(SECTION);
    let offset = unit.sections[section].len();
    let number = unit.symbol(name.text);
    let symbol = &mut unit.symbols[number];
    if symbol.place.is_some() {
        let line = symbol.line;
        return Err(spot.error(format!("a new name: this one is in line {line}")));
    }
    symbol.place = Some((section, offset));
    symbol.line = cursor.line;
    symbol.kind = Some(Kind::Object);
    symbol.binding = Binding::Global;
    symbol.needed = true;
    let size = u64::from(size(&def));
    symbol.bytes = size;
    symbol.size = Some(Expression::Number(size));
    unit.sections[section].align = 8;
    unit.sections[section].grow(cursor, size, 0)?;
    unit.maps.push(Map { def, symbol: number, values: 0 });
    Ok(())
}

/// Members of the struct that describes a map, and whether it has values.
pub(super) fn members(def: &MapDef) -> Vec<(&'static str, u32)> {
    let mut members = vec![("type", def.kind.0)];
    let sizes = [
        ("key_size", def.key_size),
        ("value_size", def.value_size),
        ("max_entries", def.max_entries),
        ("map_flags", def.flags),
        ("map_extra", def.extra as u32),
        ("pinning", u32::from(def.pin_by_name)),
    ];
    members.extend(sizes.into_iter().filter(|(_, number)| *number != 0));
    members.extend(def.numa_node.map(|node| ("numa_node", node)));
    members
}

/// Whether the definition ends with elements that the object fills in.
pub(super) fn has_values(def: &MapDef) -> bool {
    def.kind == MapKind::PROG_ARRAY || def.kind.is_map_of_maps()
}

/// Bytes of the variable that describes a map: a pointer for each member.
fn size(def: &MapDef) -> u32 {
    members(def).len() as u32 * POINTER
}

fn definition(cursor: &mut Cursor<'_>, outer: bool) -> Result<MapDef> {
    let before = cursor.clone();
    let known = if cursor.peek().is_some_and(|kind| kind.kind == token::Kind::Number) {
        Some(MapKind(cursor.unsigned(u32::MAX)?))
    } else {
        let name = cursor.word();
        cursor.skip(1);
        (1..MAX_KIND).map(MapKind).find(|known| known.name() == Some(name))
    };
    let expected = "a type of maps, such as hash, array or percpu_array";
    let known = known.ok_or_else(|| before.wrong(expected))?;
    let mut def = MapDef { kind: known, ..MapDef::default() };
    while let Some(word) = cursor.peek().filter(|word| word.kind == token::Kind::Word) {
        attribute(cursor, word, &mut def, outer)?;
    }
    if def.kind.is_map_of_maps() {
        def.value_size = 4;
        if def.inner.is_none() {
            return Err(cursor.wrong("inner=(…): what its maps are like"));
        }
    }
    if def.kind == MapKind::PROG_ARRAY && def.value_size == 0 {
        (def.key_size, def.value_size) = (4, 4);
    }
    Ok(def)
}

fn attribute<'a>(
    cursor: &mut Cursor<'a>,
    word: token::Token<'a>,
    def: &mut MapDef,
    outer: bool,
) -> Result<()> {
    cursor.skip(1);
    if word.text == "pin" && outer {
        def.pin_by_name = true;
        return Ok(());
    }
    if word.text == "inner" && outer && def.kind.is_map_of_maps() {
        cursor.expect("=")?;
        cursor.expect("(")?;
        def.inner = Some(Box::new(definition(cursor, false)?));
        return cursor.expect(")");
    }
    let field = match word.text {
        "key" => &mut def.key_size,
        "value" => &mut def.value_size,
        "entries" => &mut def.max_entries,
        "flags" => &mut def.flags,
        "extra" => {
            cursor.expect("=")?;
            def.extra = cursor.unsigned(u32::MAX)?.into();
            return Ok(());
        }
        "numa" => def.numa_node.insert(0),
        _ => {
            let expected = "key=, value=, entries=, flags=, extra=, numa=, inner=(…) or pin";
            return Err(cursor.wrong_at(word, expected));
        }
    };
    cursor.expect("=")?;
    *field = cursor.unsigned(u32::MAX)?;
    Ok(())
}

/// `MAP INDEX=SYMBOL …`
pub(super) fn values<'a>(unit: &mut Unit<'a>, cursor: &mut Cursor<'a>) -> Result<()> {
    let expected = "the last map of this source, if its values are programs or maps";
    let name = cursor.take(token::Kind::Word, expected)?;
    // The values follow the definition, whose variable is the last of its section.
    let last = unit.maps.last_mut().filter(|map| map.def.name == name.text);
    let map = last.filter(|map| has_values(&map.def) && map.values == 0);
    let map = map.ok_or_else(|| cursor.wrong_at(name, expected))?;
    let (symbol, entries) = (map.symbol, map.def.max_entries);
    let Some((section, start)) = unit.symbols[symbol].place else { return Ok(()) };
    let start = start + unit.symbols[symbol].bytes;
    let mut count = 0;
    while !cursor.is_at_end() {
        let before = cursor.clone();
        let index = cursor.unsigned(entries.max(1) - 1)?;
        if index < count {
            return Err(before.wrong("an index above those before it"));
        }
        cursor.expect("=")?;
        let target = cursor.take(token::Kind::Word, "a program or map")?;
        let expression = Expression::Symbol(cursor.spot(target), 0);
        let offset = start + u64::from(index) * u64::from(POINTER);
        unit.sections[section].grow(cursor, u64::from(index + 1 - count) * 8, 0)?;
        unit.sections[section].values.push(Value { offset, size: 8, expression });
        count = index + 1;
    }
    unit.maps.iter_mut().rev().take(1).for_each(|map| map.values = count);
    let size = unit.symbols[symbol].bytes + u64::from(count) * u64::from(POINTER);
    unit.symbols[symbol].size = Some(Expression::Number(size));
    unit.symbols[symbol].bytes = size;
    Ok(())
}

/// Where maps are described.
pub(super) const SECTION: &str = ".maps";
/// Size of a pointer.
pub(super) const POINTER: u32 = 8;
/// Above all types of maps.
const MAX_KIND: u32 = 256;
