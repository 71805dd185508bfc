//! Fields that are sets of bits: `syn/syn,ack` means "of these two, SYN only", `syn` means "SYN is
//! set".
//!
//! An item is a value under a mask. A set of values is written as disjoint items, which are found
//! by splitting at the highest bit that makes a difference.

use super::names::{self, Names};
use super::word::Word;
use super::{Error, nearest};
use crate::Values;

/// Reads an item.
pub(super) fn parse(word: &Word<'_>, bits: Names) -> Result<Values, Error> {
    let text = word.text.as_ref();
    let (value, mask) = text.split_once('/').map_or((text, None), |(a, b)| (a, Some(b)));
    let value = set(value, word, bits)?;
    let mask = match mask {
        Some(mask) => set(mask, word, bits)?,
        // An empty mask would match everything.
        None if value == 0 => ALL,
        None => value,
    };
    if value & !mask != 0 {
        return Err(Error::at(word, "the bits before `/` must be among those after it"));
    }
    Ok(Values::masked(mask, value, ALL))
}

/// Bits by name, with `,` or `|` between them.
fn set(text: &str, word: &Word<'_>, bits: Names) -> Result<u16, Error> {
    let bit = |name: &str| match name {
        "none" => Ok(0),
        "all" => Ok(ALL),
        _ => names::number(bits, name).or_else(|| hexadecimal(name)).ok_or_else(|| {
            let known: Vec<_> = bits.iter().map(|(name, _)| *name).collect();
            let reason = format!(
                "unknown bit `{name}`; expected {}, none, all or a number such as 0x10",
                known.join(", ")
            );
            Error::at(word, reason).hint(nearest(name, known))
        }),
    };
    text.split([',', '|']).map(bit).try_fold(0, |sum, one| Ok(sum | one?))
}

fn hexadecimal(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("0x").filter(|digits| !digits.starts_with('+'))?;
    u16::from_str_radix(digits, 16).ok().filter(|number| *number <= ALL)
}

/// The items of a set as text.
pub(super) fn show(values: &Values, bits: Names, joint: &str) -> Vec<String> {
    items(values).into_iter().map(|(mask, value)| item(mask, value, bits, joint)).collect()
}

/// Disjoint masks and values whose union is a set of numbers of eight bits.
pub(crate) fn items(values: &Values) -> Vec<(u16, u16)> {
    under(values, 0, 0)
}

/// The items of the numbers in `values` that have `value` under `mask`. The mask grows from the
/// highest bit down.
fn under(values: &Values, mask: u16, value: u16) -> Vec<(u16, u16)> {
    let here = values.intersection(&Values::masked(mask, value, ALL));
    if here.is_empty() {
        return Vec::new();
    }
    let matters = |bit: &u16| mask & bit == 0 && here != flipped(&here, *bit);
    let Some(bit) = (0..8).rev().map(|n| 1 << n).find(matters) else { return vec![(mask, value)] };
    let mut all = under(values, mask | bit, value);
    all.extend(under(values, mask | bit, value | bit));
    all
}

/// Every number with this bit inverted.
fn flipped(values: &Values, bit: u16) -> Values {
    let numbers = (0..=ALL).filter(|number| values.contains((number ^ bit).into()));
    Values::new(numbers.map(|number| (number.into(), number.into())))
}

fn item(mask: u16, value: u16, bits: Names, joint: &str) -> String {
    let value_text = names_of(value, bits, joint);
    match mask {
        0 => "none/none".to_owned(),
        _ if mask == value || (mask == ALL && value == 0) => value_text,
        _ => format!("{value_text}/{}", names_of(mask, bits, joint)),
    }
}

fn names_of(set: u16, bits: Names, joint: &str) -> String {
    match set {
        0 => return "none".to_owned(),
        ALL => return "all".to_owned(),
        _ => {}
    }
    let each = (0..8).map(|n| 1 << n).filter(|bit| set & bit != 0);
    let each = each.map(|bit: u16| match names::name(bits, bit.into()) {
        Some(name) => name.to_owned(),
        None => format!("{bit:#x}"),
    });
    each.collect::<Vec<_>>().join(joint)
}

/// All bits: these fields are one byte.
const ALL: u16 = 0xff;
