//! Loads of 64 bits in two slots: numbers, and references to maps, functions and symbols.

use super::Reference;
use super::cursor::{Cursor, Result};
use super::output::{Output, Target};
use super::token::Kind;
use crate::asm::Form;
use crate::insn::{PSEUDO_BTF_ID, PSEUDO_FUNC, PSEUDO_MAP_FD, PSEUDO_MAP_VALUE};

/// A number of any size, or one of the forms of [`named`].
pub(super) fn load<'a>(cursor: &mut Cursor<'a>, dst: u8, output: &mut Output<'a>) -> Result<()> {
    if named(cursor, dst, output)? {
        return Ok(());
    }
    let value = cursor.imm64()?;
    cursor.eat("ll");
    let [low, high] = [value as u32, (value >> 32) as u32];
    output.push_wide(dst, 0, low.cast_signed(), high.cast_signed());
    Ok(())
}

/// `map[…]`, `btf[…]`, `ksym[…]` or `subprog[…]`; `false`, with nothing consumed, for any other.
pub(super) fn named<'a>(cursor: &mut Cursor<'a>, dst: u8, output: &mut Output<'a>) -> Result<bool> {
    let Some(name) = cursor.ahead(1).filter(|token| token.kind == Kind::Name) else {
        return Ok(false);
    };
    let word = cursor.word();
    cursor.skip(1);
    match word {
        "map" => map(cursor, dst, output)?,
        "subprog" => {
            let target = function(cursor)?;
            output.aim(target, Form::Address);
            output.push_wide(dst, PSEUDO_FUNC, 0, 0);
        }
        "ksym" => {
            cursor.skip(1);
            let reference = Reference::Symbol(name.text.to_owned());
            output.code.references.push((output.slot(), reference));
            output.push_wide(dst, 0, 0, 0);
        }
        _ => {
            let id = name.text.strip_prefix("id:").and_then(|id| id.parse().ok());
            let id = id.ok_or_else(|| cursor.wrong("the id of a type, such as id:7"))?;
            cursor.skip(1);
            output.push_wide(dst, PSEUDO_BTF_ID, id, 0);
        }
    }
    Ok(true)
}

/// `name ll` or `name+8 ll`; `false`, with nothing consumed, for any other.
pub(super) fn symbol<'a>(
    cursor: &mut Cursor<'a>,
    dst: u8,
    output: &mut Output<'a>,
) -> Result<bool> {
    let mut ahead = cursor.clone();
    let Ok(name) = ahead.take(Kind::Word, "a symbol") else { return Ok(false) };
    let addend = if matches!(ahead.word(), "+" | "-") { ahead.distance() } else { Ok(0) };
    let Some(addend) = addend.ok().filter(|_| ahead.eat("ll")) else { return Ok(false) };
    *cursor = ahead;
    let reference = Reference::Address(name.text.to_owned(), addend);
    output.code.references.push((output.slot(), reference));
    output.push_wide(dst, 0, 0, 0);
    Ok(true)
}

/// `[+3]` or `[label]`.
fn function<'a>(cursor: &mut Cursor<'a>) -> Result<Target<'a>> {
    let name = cursor.take(Kind::Name, "a function in brackets")?;
    let spot = cursor.spot(name);
    match name.text.strip_prefix(['+', '-']) {
        Some(_) => {
            let distance = name.text.parse();
            let distance = distance.map_err(|_| spot.error("a distance such as +3"))?;
            Ok(Target::Distance(distance, spot))
        }
        None => Ok(Target::Label(spot)),
    }
}

/// `[fd:3]`, `[idx:0]` or `[name]`, and `[0]+8` after it for an address inside the value.
fn map<'a>(cursor: &mut Cursor<'a>, dst: u8, output: &mut Output<'a>) -> Result<()> {
    let name = cursor.take(Kind::Name, "a map in brackets")?;
    let number = |text: &str| {
        text.parse::<i32>().map_err(|_| cursor.wrong_at(name, "a number after the colon"))
    };
    let (pseudo, low) = match name.text.split_once(':') {
        Some(("fd", fd)) => ([PSEUDO_MAP_FD, PSEUDO_MAP_VALUE], number(fd)?),
        Some(("idx", index)) => ([PSEUDO_MAP_INDEX, PSEUDO_MAP_INDEX_VALUE], number(index)?),
        Some(_) => return Err(cursor.wrong_at(name, "fd:N, idx:N or a name")),
        None => ([PSEUDO_MAP_FD, PSEUDO_MAP_VALUE], 0),
    };
    let offset = value_offset(cursor)?;
    if !name.text.contains(':') {
        let map = name.text.to_owned();
        let reference = offset.map_or(Reference::Map(map.clone()), |offset| {
            Reference::MapValue(map, offset.cast_unsigned())
        });
        output.code.references.push((output.slot(), reference));
    }
    let src = pseudo[usize::from(offset.is_some())];
    output.push_wide(dst, src, low, offset.unwrap_or_default());
    Ok(())
}

fn value_offset(cursor: &mut Cursor<'_>) -> Result<Option<i32>> {
    if !cursor.eat("[") {
        return Ok(None);
    }
    cursor.expect("0")?;
    cursor.expect("]")?;
    cursor.expect("+")?;
    cursor.unsigned(u32::MAX).map(|offset| Some(offset.cast_signed()))
}

// Values of `src` that loaders write for `bpf(2)` with an array of descriptors.
const PSEUDO_MAP_INDEX: u8 = 5;
const PSEUDO_MAP_INDEX_VALUE: u8 = 6;
