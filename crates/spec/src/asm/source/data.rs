//! Bytes of a section: numbers, text, addresses of symbols.

use super::unit::{Expression, Line, Point, Section, Value};
use crate::asm::text::cursor::{Cursor, Result, Spot};
use crate::asm::text::token::Kind;
use crate::insn::Insn;

/// Appends what a directive describes; `false`, with nothing consumed, if it is not one of data.
pub(super) fn directive<'a>(
    section: &mut Section<'a>,
    number: usize,
    name: &str,
    cursor: &mut Cursor<'a>,
) -> Result<bool> {
    let size = match name {
        "byte" => 1,
        "short" | "hword" | "2byte" => 2,
        "long" | "int" | "word" | "4byte" => 4,
        "quad" | "8byte" => 8,
        "ascii" | "asciz" | "string" => {
            strings(section, name != "ascii", cursor)?;
            return Ok(true);
        }
        "zero" | "space" | "skip" => {
            space(section, cursor)?;
            return Ok(true);
        }
        _ => return Ok(false),
    };
    loop {
        value(section, number, size, cursor)?;
        if !cursor.eat(",") {
            return Ok(true);
        }
    }
}

fn value<'a>(
    section: &mut Section<'a>,
    number: usize,
    size: usize,
    cursor: &mut Cursor<'a>,
) -> Result<()> {
    let before = cursor.clone();
    let offset = section.len();
    let expression = expression(cursor, (number, offset))?;
    let bytes = match expression {
        Expression::Number(value) if size == Insn::SIZE && section.is_executable() => {
            let line = Line { slot: section.code.slot(), line: cursor.line, text: cursor.text() };
            section.lines.push(line);
            section.code.push(Insn::from_bytes(value.to_le_bytes()));
            return Ok(());
        }
        Expression::Number(value) => {
            fit(value, size).ok_or_else(|| before.wrong(format!("a number of {size} bytes")))?
        }
        _ if size < 4 => return Err(before.wrong("a number: addresses need 4 or 8 bytes")),
        _ => {
            section.values.push(Value { offset, size, expression });
            [0; 8]
        }
    };
    section.append(&before, &bytes[..size])
}

/// The value's bytes, if it fits with its sign or without one.
pub(super) fn fit(value: u64, size: usize) -> Option<[u8; 8]> {
    let bits = size as u32 * 8;
    let unsigned = bits == 64 || value >> bits == 0;
    let signed = value.cast_signed() >> (bits - 1) == -1;
    (unsigned || signed).then(|| value.to_le_bytes())
}

/// `12`, `name`, `name+8`, `name-other` or `.-name`.
pub(super) fn expression<'a>(
    cursor: &mut Cursor<'a>,
    here: (usize, u64),
) -> Result<Expression<'a>> {
    let Some(first) = point(cursor, here) else { return Ok(Expression::Number(cursor.imm64()?)) };
    if cursor.word() == "-" {
        let mut ahead = cursor.clone();
        ahead.skip(1);
        if let Some(second) = point(&mut ahead, here) {
            *cursor = ahead;
            return Ok(Expression::Distance(first, second));
        }
    }
    let Point::Symbol(spot) = first else {
        return Err(first.spot().error("a distance such as `.-name`"));
    };
    let signed = matches!(cursor.word(), "+" | "-");
    let addend = if signed { cursor.distance()? } else { 0 };
    Ok(Expression::Symbol(spot, addend))
}

fn point<'a>(cursor: &mut Cursor<'a>, (section, offset): (usize, u64)) -> Option<Point<'a>> {
    let token = cursor.peek().filter(|token| token.kind == Kind::Word)?;
    let spot: Spot<'a> = cursor.spot(token);
    cursor.skip(1);
    Some(if token.text == "." { Point::Here(section, offset, spot) } else { Point::Symbol(spot) })
}

/// `"text", "more"`
fn strings(section: &mut Section<'_>, terminated: bool, cursor: &mut Cursor<'_>) -> Result<()> {
    loop {
        let before = cursor.clone();
        let mut bytes = text(cursor, "text in quotes")?;
        if terminated {
            bytes.push(0);
        }
        section.append(&before, &bytes)?;
        if !cursor.eat(",") {
            return Ok(());
        }
    }
}

/// `N[, byte]`
fn space(section: &mut Section<'_>, cursor: &mut Cursor<'_>) -> Result<()> {
    let before = cursor.clone();
    let count = cursor.unsigned(u32::MAX)?;
    let byte = if cursor.eat(",") { cursor.unsigned(0xff)? as u8 } else { 0 };
    section.grow(&before, count.into(), byte)
}

/// A word, or text in quotes.
pub(super) fn name(cursor: &mut Cursor<'_>, expected: &str) -> Result<String> {
    if let Some(word) = cursor.peek().filter(|token| token.kind == Kind::Word) {
        cursor.skip(1);
        return Ok(word.text.to_owned());
    }
    let before = cursor.clone();
    String::from_utf8(text(cursor, expected)?).map_err(|_| before.wrong("text in UTF-8"))
}

/// The bytes between quotes, with escapes resolved.
pub(super) fn text(cursor: &mut Cursor<'_>, expected: &str) -> Result<Vec<u8>> {
    let token = cursor.take(Kind::Text, expected)?;
    let wrong = || cursor.wrong_at(token, "escapes out of \\n, \\t, \\\", \\\\, \\101 and \\x41");
    let mut rest = &token.text.as_bytes()[1..token.text.len() - 1];
    let mut bytes = Vec::new();
    while let [byte, after @ ..] = rest {
        rest = after;
        if *byte == b'\\' {
            let (escaped, len) = escape(rest).ok_or_else(wrong)?;
            bytes.push(escaped);
            rest = &rest[len..];
        } else {
            bytes.push(*byte);
        }
    }
    Ok(bytes)
}

/// The byte that the text after a backslash means, and its length.
fn escape(text: &[u8]) -> Option<(u8, usize)> {
    let plain = |byte| Some((byte, 1));
    match text.first()? {
        b'n' => plain(b'\n'),
        b't' => plain(b'\t'),
        b'r' => plain(b'\r'),
        b'b' => plain(8),
        b'f' => plain(12),
        b'"' => plain(b'"'),
        b'\\' => plain(b'\\'),
        b'x' => number(&text[1..], 16, 2).map(|(byte, len)| (byte, len + 1)),
        _ => number(text, 8, 3),
    }
}

fn number(text: &[u8], radix: u32, most: usize) -> Option<(u8, usize)> {
    let digits = text.iter().take(most).take_while(|digit| char::from(**digit).is_digit(radix));
    let len = digits.count();
    let digits = std::str::from_utf8(&text[..len]).ok()?;
    Some((u8::from_str_radix(digits, radix).ok()?, len))
}
