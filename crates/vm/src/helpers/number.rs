//! Numbers and strings in text: `bpf_strtol`, `bpf_strtoul`, `bpf_strncmp`.

use spec::asm::Helper;

use super::{HelperRow, helper_row};
use crate::errno::Errno;
use crate::fault::Fault;
use crate::processor::Processor;

pub(super) const HELPERS: &[HelperRow] = &[
    helper_row(Helper::STRTOL, signed),
    helper_row(Helper::STRTOUL, unsigned),
    helper_row(Helper::STRNCMP, compare),
];

fn signed(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    parse_into("bpf_strtol", processor, args, |parsed| {
        let value = parsed.value as i64;
        match parsed.negative {
            true if value.wrapping_neg() > 0 => Err(Errno::ERANGE),
            true => Ok(value.wrapping_neg() as u64),
            false if value < 0 => Err(Errno::ERANGE),
            false => Ok(parsed.value),
        }
    })
}

fn unsigned(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    parse_into("bpf_strtoul", processor, args, |parsed| {
        if parsed.negative { Err(Errno::EINVAL) } else { Ok(parsed.value) }
    })
}

/// Stores the number that `finish` computes from the text, or zero; returns the number of bytes
/// consumed.
fn parse_into(
    name: &str,
    processor: &mut Processor,
    args: &[u64; 5],
    finish: impl Fn(Parsed) -> Result<u64, Errno>,
) -> Result<u64, Box<Fault>> {
    let [text, len, flags, into, _] = *args;
    processor.store_u64(name, 4, into, 0)?;
    processor.check_argument(name, 1, (text, len as usize, false))?;
    let spaces = spaces(processor, name, text, len)?;
    let rest = (len - spaces).min(1 + DIGITS as u64) as usize;
    let parsed = parse(processor.argument(name, 1, text + spaces, rest)?, flags);
    let parsed = parsed.map(|p| Parsed { consumed: p.consumed + spaces as usize, ..p });
    let result = parsed.and_then(|parsed| Ok((finish(parsed)?, parsed.consumed)));
    match result {
        Ok((value, consumed)) => {
            processor.store_u64(name, 4, into, value)?;
            Ok(consumed as u64)
        }
        Err(errno) => Ok(errno.in_r0()),
    }
}

/// Number of leading spaces in the `len` bytes at `text`.
fn spaces(processor: &Processor, name: &str, text: u64, len: u64) -> Result<u64, Box<Fault>> {
    for at in 0..len {
        if !is_space(processor.load_u8(name, 1, text + at)?) {
            return Ok(at);
        }
    }
    Ok(len)
}

/// A parsed number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Parsed {
    value: u64,
    negative: bool,
    consumed: usize,
}

fn parse(text: &[u8], flags: u64) -> Result<Parsed, Errno> {
    let base = flags & BASE_MASK;
    if text.is_empty() || !matches!(base, 0 | 8 | 10 | 16) || flags & !BASE_MASK != 0 {
        return Err(Errno::EINVAL);
    }
    let spaces = text.iter().take_while(|byte| is_space(**byte)).count();
    let negative = text.get(spaces) == Some(&b'-');
    let skipped = spaces + usize::from(negative);
    let rest = &text[skipped..];
    if rest.is_empty() {
        return Err(Errno::EINVAL);
    }
    let rest = &rest[..rest.len().min(DIGITS)];
    let (base, prefix) = radix(rest, base);
    let (value, digits) = digits(&rest[prefix..], base)?;
    Ok(Parsed { value, negative, consumed: skipped + prefix + digits })
}

/// The base that a prefix selects, and the prefix's length.
fn radix(text: &[u8], base: u64) -> (u64, usize) {
    let zero = text.first() == Some(&b'0');
    let x = zero && text.get(1).is_some_and(|byte| byte.eq_ignore_ascii_case(&b'x'));
    let digit_follows = text.get(2).is_some_and(u8::is_ascii_hexdigit);
    let base = match base {
        0 if x && digit_follows => 16,
        0 if zero => 8,
        0 => 10,
        given => given,
    };
    (base, if base == 16 && x { 2 } else { 0 })
}

fn digits(text: &[u8], base: u64) -> Result<(u64, usize), Errno> {
    let values = text.iter().map_while(|byte| {
        let digit = char::from(*byte).to_digit(16).map(u64::from);
        digit.filter(|digit| *digit < base)
    });
    let (mut value, mut count, mut overflow) = (0_u64, 0, false);
    for digit in values {
        let next = value.checked_mul(base).and_then(|value| value.checked_add(digit));
        overflow |= next.is_none();
        value = value.wrapping_mul(base).wrapping_add(digit);
        count += 1;
    }
    match (overflow, count) {
        (true, _) => Err(Errno::ERANGE),
        (false, 0) => Err(Errno::EINVAL),
        (false, count) => Ok((value, count)),
    }
}

/// `isspace` of the kernel, which includes the non-breaking space of Latin-1.
pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, 0x09..=0x0d | 0x20 | 0xa0)
}

fn compare(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_strncmp";
    let [left, len, right, ..] = *args;
    processor.check_argument(NAME, 1, (left, len as u32 as usize, false))?;
    for at in 0..u64::from(len as u32) {
        let a = processor.load_u8(NAME, 1, left + at)?;
        let b = processor.load_u8(NAME, 3, right + at)?;
        if a != b {
            return Ok(if a < b { -1_i64 as u64 } else { 1 });
        }
        if a == 0 {
            break;
        }
    }
    Ok(0)
}

const BASE_MASK: u64 = 0x1f;
/// Maximum number of characters after spaces and sign that the kernel reads.
const DIGITS: usize = 63;

#[cfg(test)]
mod tests {
    use super::*;

    /// Value, sign and bytes consumed.
    type Expected = Result<(u64, bool, usize), Errno>;

    #[test]
    fn numbers_are_read_as_the_kernel_reads_them() {
        let table: &[(&[u8], u64, Expected)] = &[
            (b"42", 10, Ok((42, false, 2))),
            (b" \t-7x", 0, Ok((7, true, 4))),
            (b"0x1fg", 0, Ok((0x1f, false, 4))),
            (b"0x1f", 16, Ok((0x1f, false, 4))),
            (b"0x", 0, Ok((0, false, 1))),
            (b"017", 0, Ok((15, false, 3))),
            (b"08", 0, Ok((0, false, 1))),
            (b"18446744073709551615", 10, Ok((u64::MAX, false, 20))),
            (b"18446744073709551616", 10, Err(Errno::ERANGE)),
            (b"", 10, Err(Errno::EINVAL)),
            (b"-", 10, Err(Errno::EINVAL)),
            (b"x", 10, Err(Errno::EINVAL)),
            (b"+1", 10, Err(Errno::EINVAL)),
            (b"1", 7, Err(Errno::EINVAL)),
            (b"1", 10 | 0x20, Err(Errno::EINVAL)),
        ];
        for (text, flags, expected) in table {
            let parsed = parse(text, *flags).map(|p| (p.value, p.negative, p.consumed));
            assert_eq!(parsed, *expected, "{}", text.escape_ascii());
        }
    }
}
