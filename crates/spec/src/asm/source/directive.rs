//! Lines of a source: labels, then a directive or an instruction.
//!
//! Rule: a directive that is not known is a mistake, since ignoring it could change the program.
//! What only concerns debuggers and linkers of other formats is in [`IGNORED`].

use super::unit::{Binding, Kind, Line, Section, Unit};
use super::{data, map};
use crate::asm::text::cursor::{Cursor, Result};
use crate::asm::text::{self, token};

/// Reads one line.
pub(super) fn line<'a>(unit: &mut Unit<'a>, number: usize, text: &'a str) -> Result<()> {
    let mut cursor = Cursor::new(number, text);
    labels(unit, &mut cursor)?;
    let word = cursor.word();
    if let Some(directive) = word.strip_prefix('.').filter(|_| !cursor.is_at_end()) {
        return self::directive(unit, directive, &mut cursor);
    }
    if unit.skipped || cursor.is_at_end() {
        return Ok(());
    }
    let section = unit.current();
    let section = &mut unit.sections[section];
    if !section.bytes.is_empty() {
        return Err(cursor.wrong("data: this section contains bytes, not code"));
    }
    let slot = section.code.slot();
    text::line(&mut cursor, &mut section.code)?;
    if section.code.slot() > slot {
        section.lines.push(Line { slot, line: number, text: text.trim() });
    }
    Ok(())
}

fn labels<'a>(unit: &mut Unit<'a>, cursor: &mut Cursor<'a>) -> Result<()> {
    while cursor.ahead(1).is_some_and(|next| next.text == ":") {
        let Some(name) = cursor.peek().filter(|name| name.kind == token::Kind::Word) else {
            return Ok(());
        };
        if cursor.at_register() {
            return Err(cursor.wrong("a name that is not one of a register"));
        }
        if !unit.skipped {
            unit.define(cursor.line, cursor.spot(name))?;
        }
        cursor.skip(2);
    }
    Ok(())
}

fn directive<'a>(unit: &mut Unit<'a>, name: &str, cursor: &mut Cursor<'a>) -> Result<()> {
    if IGNORED.contains(&name) || name.starts_with("cfi_") {
        return Ok(());
    }
    let before = cursor.clone();
    cursor.skip(1);
    match name {
        "section" => section(unit, cursor)?,
        "text" | "data" | "bss" => enter(unit, &format!(".{name}")),
        _ if unit.skipped => return Ok(()),
        "globl" | "global" => names(unit, cursor, |symbol| symbol.binding = Binding::Global)?,
        "weak" => names(unit, cursor, |symbol| symbol.binding = Binding::Weak)?,
        "hidden" => names(unit, cursor, |symbol| symbol.hidden = true)?,
        "local" => names(unit, cursor, |symbol| symbol.binding = Binding::Local)?,
        "type" => kind(unit, cursor)?,
        "size" => size(unit, cursor)?,
        "p2align" => align(unit, cursor, |power| 1_u64.checked_shl(power))?,
        "align" | "balign" => align(unit, cursor, |bytes| Some(u64::from(bytes)))?,
        "comm" => common(unit, cursor)?,
        "license" => license(unit, cursor)?,
        "map" => map::declare(unit, cursor)?,
        "values" => map::values(unit, cursor)?,
        _ => {
            let section = unit.current();
            if !data::directive(&mut unit.sections[section], section, name, cursor)? {
                return Err(before.wrong("a directive such as .section, .globl, .long or .map"));
            }
        }
    }
    cursor.expect_end()
}

/// `NAME[,"flags"[,@type[,N]]]`
fn section<'a>(unit: &mut Unit<'a>, cursor: &mut Cursor<'a>) -> Result<()> {
    let before = cursor.clone();
    let name = data::name(cursor, "the name of a section")?;
    if unit.sections.len() >= MAX_SECTIONS {
        return Err(before.wrong(format!("at most {MAX_SECTIONS} sections")));
    }
    enter(unit, &name);
    if unit.skipped {
        cursor.finish();
        return Ok(());
    }
    let number = unit.current();
    let section = &mut unit.sections[number];
    if !cursor.eat(",") {
        return Ok(());
    }
    section.flags = Some(flags(cursor)?);
    if !cursor.eat(",") {
        return Ok(());
    }
    match cursor.word() {
        "@progbits" => section.zero = false,
        "@nobits" => section.zero = true,
        _ => return Err(cursor.wrong("@progbits or @nobits")),
    }
    cursor.skip(1);
    if cursor.eat(",") {
        section.element = cursor.unsigned(u32::MAX)?.into();
    }
    Ok(())
}

/// `"aw"`
fn flags(cursor: &mut Cursor<'_>) -> Result<u64> {
    let before = cursor.clone();
    let mut flags = 0;
    for letter in data::text(cursor, "flags in quotes, such as \"ax\"")? {
        let known = FLAGS.iter().find(|(known, _)| *known == letter);
        let (_, flag) = known.ok_or_else(|| before.wrong("flags out of a, w, x, M and S"))?;
        flags |= flag;
    }
    Ok(flags)
}

fn enter(unit: &mut Unit<'_>, name: &str) {
    unit.skipped = name.starts_with(".debug_");
    if !unit.skipped {
        unit.enter(name);
    }
}

fn names<'a>(
    unit: &mut Unit<'a>,
    cursor: &mut Cursor<'a>,
    change: impl Fn(&mut super::unit::Symbol<'a>),
) -> Result<()> {
    loop {
        let name = cursor.take(token::Kind::Word, "the name of a symbol")?;
        let symbol = unit.symbol(name.text);
        change(&mut unit.symbols[symbol]);
        unit.symbols[symbol].needed = true;
        if !cursor.eat(",") {
            return Ok(());
        }
    }
}

/// `name,@function`
fn kind<'a>(unit: &mut Unit<'a>, cursor: &mut Cursor<'a>) -> Result<()> {
    let name = cursor.take(token::Kind::Word, "the name of a symbol")?;
    cursor.comma()?;
    let kind = match cursor.word() {
        "@function" => Some(Kind::Function),
        "@object" => Some(Kind::Object),
        "@notype" => None,
        _ => return Err(cursor.wrong("@function, @object or @notype")),
    };
    cursor.skip(1);
    let symbol = unit.symbol(name.text);
    unit.symbols[symbol].kind = kind;
    unit.symbols[symbol].needed = true;
    Ok(())
}

/// `name, .-name`
fn size<'a>(unit: &mut Unit<'a>, cursor: &mut Cursor<'a>) -> Result<()> {
    let name = cursor.take(token::Kind::Word, "the name of a symbol")?;
    cursor.comma()?;
    let section = unit.current();
    let here = (section, unit.sections[section].len());
    let size = data::expression(cursor, here)?;
    let symbol = unit.symbol(name.text);
    unit.symbols[symbol].size = Some(size);
    Ok(())
}

/// `N[, fill[, most]]`: instructions always have their alignment.
fn align(
    unit: &mut Unit<'_>,
    cursor: &mut Cursor<'_>,
    bytes: impl Fn(u32) -> Option<u64>,
) -> Result<()> {
    let before = cursor.clone();
    let align = bytes(cursor.unsigned(MAX_ALIGN)?);
    let align = align.filter(|align| align.is_power_of_two() && *align <= MAX_ALIGN.into());
    let align = align.ok_or_else(|| before.wrong("an alignment of at most 4096 bytes"))?;
    let fill = if cursor.eat(",") { cursor.unsigned(0xff)? as u8 } else { 0 };
    if cursor.eat(",") {
        cursor.unsigned(u32::MAX)?;
    }
    let section = unit.current();
    pad(&mut unit.sections[section], cursor, align, fill)
}

fn pad(section: &mut Section<'_>, cursor: &Cursor<'_>, align: u64, fill: u8) -> Result<()> {
    section.align = section.align.max(align);
    let len = section.len();
    section.grow(cursor, len.next_multiple_of(align) - len, fill)
}

/// `name,size[,align]`: a variable without a value, in `.bss`.
fn common<'a>(unit: &mut Unit<'a>, cursor: &mut Cursor<'a>) -> Result<()> {
    let name = cursor.take(token::Kind::Word, "the name of a symbol")?;
    let spot = cursor.spot(name);
    cursor.comma()?;
    let size = cursor.unsigned(u32::MAX)?;
    let align = if cursor.eat(",") { cursor.unsigned(MAX_ALIGN)? } else { 1 };
    let bss = unit.section(".bss");
    pad(&mut unit.sections[bss], cursor, u64::from(align).max(1).next_power_of_two(), 0)?;
    let outer = unit.current();
    unit.enter(".bss");
    let symbol = unit.define(cursor.line, spot)?;
    unit.sections[bss].grow(cursor, size.into(), 0)?;
    let symbol = &mut unit.symbols[symbol];
    symbol.size = Some(super::unit::Expression::Number(size.into()));
    symbol.kind = Some(Kind::Object);
    if !symbol.needed {
        symbol.binding = Binding::Global;
    }
    symbol.needed = true;
    let name = unit.sections[outer].name.clone();
    unit.enter(&name);
    Ok(())
}

/// `"GPL"`, as section `license` holds it.
fn license<'a>(unit: &mut Unit<'a>, cursor: &mut Cursor<'a>) -> Result<()> {
    let mut text = data::text(cursor, "a license in quotes, such as \"GPL\"")?;
    text.push(0);
    let section = unit.section("license");
    unit.sections[section].append(cursor, &text)
}

/// Directives without an effect on the object.
const IGNORED: &[&str] = &["file", "loc", "ident", "addrsig", "addrsig_sym"];

/// Flags of sections by their letters: `SHF_*`.
const FLAGS: &[(u8, u64)] = &[(b'w', 1), (b'a', 2), (b'x', 4), (b'M', 0x10), (b'S', 0x20)];

const MAX_ALIGN: u32 = 4096;
const MAX_SECTIONS: usize = 4096;
