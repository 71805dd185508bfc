//! Bytes under a mask: `payload transport+8 0xffff0000 = 0x12340000`,
//! `payload transport+8 = "GET"`.

use super::word::Word;
use super::words::Words;
use super::{Error, nearest};
use crate::{Base, Payload};

/// Reads what follows `payload`.
pub(super) fn parse(words: &mut Words<'_>) -> Result<Payload, Error> {
    let (from, offset) = place(&words.expect(PLACE)?)?;
    let is_sign = |word: &Word<'_>| SIGNS.iter().any(|(sign, _)| word.is(sign));
    let first = if words.peek().is_some_and(|word| !is_sign(word)) { words.next() } else { None };
    let sign = words.expect(COMPARED)?;
    let known = SIGNS.iter().find(|(known, _)| sign.is(known));
    let (_, negated) = *known.ok_or_else(|| Error::at(&sign, COMPARED))?;
    let word = words.expect("the bytes' value")?;
    let value = bytes(&word)?;
    let mask = match &first {
        Some(mask) => bytes(mask)?,
        None => vec![0xff; value.len()],
    };
    check(&word, &mask, &value)?;
    Ok(Payload { from, offset, mask, value, negated })
}

fn check(word: &Word<'_>, mask: &[u8], value: &[u8]) -> Result<(), Error> {
    if mask.len() != value.len() {
        let reason = format!("the value has {} bytes, the mask {}", value.len(), mask.len());
        return Err(Error::at(word, reason));
    }
    if mask.iter().zip(value).any(|(mask, value)| value & !mask != 0) {
        let inside: Vec<_> = mask.iter().zip(value).map(|(mask, value)| mask & value).collect();
        let reason = format!("has bits outside the mask; did you mean {}?", hexadecimal(&inside));
        return Err(Error::at(word, reason));
    }
    Ok(())
}

fn place(word: &Word<'_>) -> Result<(Base, u16), Error> {
    let text = word.text.as_ref();
    let (base, offset) = text.split_once('+').unwrap_or((text, "0"));
    let known = BASES.iter().find(|(name, _)| *name == base);
    let Some((_, from)) = known else {
        let near = nearest(base, BASES.iter().map(|(name, _)| *name));
        return Err(Error::at(word, format!("invalid offset; expected {PLACE}")).hint(near));
    };
    let offset = offset.parse().ok().filter(|_| !offset.starts_with('+'));
    let offset =
        offset.ok_or_else(|| Error::at(word, "invalid offset; expected a number up to 65535"))?;
    Ok((*from, offset))
}

/// Reads bytes: hexadecimal digits after `0x`, two per byte, or text in quotes.
fn bytes(word: &Word<'_>) -> Result<Vec<u8>, Error> {
    let bytes = if word.quoted { Some(word.text.as_bytes().to_vec()) } else { hex(&word.text) };
    let bytes = bytes.ok_or_else(|| {
        Error::at(
            word,
            "invalid bytes; expected two digits each after 0x, such as 0x1a2b, or text in quotes",
        )
    })?;
    if (1..=Payload::LONGEST).contains(&bytes.len()) {
        return Ok(bytes);
    }
    Err(Error::at(
        word,
        format!("invalid length of {} bytes; expected 1 to {}", bytes.len(), Payload::LONGEST),
    ))
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("0x")?.as_bytes();
    let digit = |byte: &u8| char::from(*byte).to_digit(16).map(|digit| digit as u8);
    let pairs = digits.chunks(2).map(|pair| match pair {
        [high, low] => Some(digit(high)? << 4 | digit(low)?),
        _ => None,
    });
    pairs.collect()
}

/// The test as text, as it follows `payload`.
pub(super) fn show(payload: &Payload) -> String {
    let base = BASES.iter().find(|(_, base)| *base == payload.from).map_or("", |(name, _)| name);
    let mask = match payload.mask.iter().all(|byte| *byte == 0xff) {
        true => String::new(),
        false => format!(" {}", hexadecimal(&payload.mask)),
    };
    let sign = if payload.negated { "!=" } else { "=" };
    format!("{base}+{}{mask} {sign} {}", payload.offset, hexadecimal(&payload.value))
}

fn hexadecimal(bytes: &[u8]) -> String {
    let digits = bytes.iter().map(|byte| format!("{byte:02x}"));
    format!("0x{}", digits.collect::<String>())
}

/// Signs of a comparison, and whether they negate it.
const SIGNS: [(&str, bool); 4] = [("=", false), ("==", false), ("!=", true), ("not", true)];
const COMPARED: &str = "`=` or `!=` and the value of the bytes";
const PLACE: &str = "frame, network or transport, with an offset such as transport+8";
const BASES: &[(&str, Base)] =
    &[("frame", Base::Frame), ("network", Base::Network), ("transport", Base::Transport)];
