//! The kernel's `printf` for BPF programs: supported formats and their output.
//!
//! Rule: a format that `bpf_bprintf_prepare` refuses is refused with the same error, before any
//! output. Strings and addresses that cannot be read print as empty and as zeros.

use crate::errno::Errno;
use crate::memory::Memory;

/// A format and its arguments.
pub(super) struct Print<'a> {
    pub format: &'a [u8],
    pub arguments: &'a [u64],
}

/// One conversion of a format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Conversion {
    left: bool,
    plus: bool,
    space: bool,
    zeros: bool,
    width: usize,
    what: What,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum What {
    #[default]
    Percent,
    Character,
    Text,
    Signed(Length),
    Unsigned(Length),
    Hex {
        length: Length,
        upper: bool,
    },
    /// A pointer as a number.
    Pointer,
    /// An IP address: its length in bytes, and whether it has the short form.
    Address {
        len: usize,
        plain: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
    Int,
    Long,
}

impl Print<'_> {
    /// Appends the output. Errors are an invalid format or too few arguments.
    pub fn run(&self, memory: &Memory, into: &mut Vec<u8>) -> Result<(), Errno> {
        self.check()?;
        let (mut at, mut arguments) = (0, self.arguments.iter());
        while let Some(byte) = self.format.get(at) {
            at += 1;
            if *byte != b'%' {
                into.push(*byte);
                continue;
            }
            let (conversion, len) = parse(&self.format[at..])?;
            at += len;
            match conversion.what {
                What::Percent => into.push(b'%'),
                _ => conversion.print(memory, *arguments.next().ok_or(Errno::EINVAL)?, into),
            }
        }
        Ok(())
    }

    /// Checks the format before any output.
    pub fn check(&self) -> Result<(), Errno> {
        let (mut at, mut wanted) = (0, 0);
        while let Some(byte) = self.format.get(at) {
            at += 1;
            if !byte.is_ascii_graphic() && !super::number::is_space(*byte) || !byte.is_ascii() {
                return Err(Errno::EINVAL);
            }
            if *byte != b'%' {
                continue;
            }
            if self.format.get(at) != Some(&b'%') && wanted >= self.arguments.len() {
                return Err(Errno::EINVAL);
            }
            let (conversion, len) = parse(&self.format[at..])?;
            wanted += usize::from(conversion.what != What::Percent);
            at += len;
        }
        Ok(())
    }
}

/// The conversion after a `%`, and its length in bytes.
fn parse(text: &[u8]) -> Result<(Conversion, usize), Errno> {
    if text.first() == Some(&b'%') {
        return Ok((Conversion::default(), 1));
    }
    let mut conversion = Conversion::default();
    let flags = text.iter().take_while(|byte| b"0+- ".contains(byte)).count();
    for flag in &text[..flags] {
        match flag {
            b'-' => conversion.left = true,
            b'+' => conversion.plus = true,
            b' ' => conversion.space = true,
            _ => conversion.zeros = true,
        }
    }
    let digits = text[flags..].iter().take_while(|byte| byte.is_ascii_digit());
    let mut len = flags;
    for digit in digits {
        conversion.width = (conversion.width * 10 + usize::from(digit - b'0')).min(WIDEST);
        len += 1;
    }
    let (what, used) = what(&text[len..])?;
    conversion.what = what;
    if text[len] == b'p' && what != What::Pointer {
        // The kernel formats these first, and ignores the width.
        conversion.width = 0;
    }
    Ok((conversion, len + used))
}

fn what(text: &[u8]) -> Result<(What, usize), Errno> {
    let at = |place: usize| text.get(place).copied().unwrap_or(0);
    match at(0) {
        b'p' => pointer(text),
        b's' if ends(at(1)) => Ok((What::Text, 1)),
        b'c' => Ok((What::Character, 1)),
        _ => number(text),
    }
}

fn number(text: &[u8]) -> Result<(What, usize), Errno> {
    let longs = text.iter().take(2).take_while(|byte| **byte == b'l').count();
    let length = if longs == 0 { Length::Int } else { Length::Long };
    let what = match text.get(longs) {
        Some(b'd' | b'i') => What::Signed(length),
        Some(b'u') => What::Unsigned(length),
        Some(letter @ (b'x' | b'X')) => What::Hex { length, upper: *letter == b'X' },
        _ => return Err(Errno::EINVAL),
    };
    Ok((what, longs + 1))
}

/// `p` and its modifiers; letters and digits after it are ignored, as in the kernel.
fn pointer(text: &[u8]) -> Result<(What, usize), Errno> {
    let at = |place: usize| text.get(place).copied().unwrap_or(0);
    let what = match (at(1), at(2)) {
        (next, _) if ends(next) => What::Pointer,
        (b'k' | b'u', b's') if ends(at(3)) => What::Text,
        (b'k' | b'u', b's') => return Err(Errno::EINVAL),
        (b'K' | b'x' | b's' | b'S' | b'B', _) => What::Pointer,
        (form @ (b'i' | b'I'), version @ (b'4' | b'6')) => {
            What::Address { len: if version == b'4' { 4 } else { 16 }, plain: form == b'i' }
        }
        _ => return Err(Errno::EINVAL),
    };
    let swallowed = text[1..].iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    Ok((what, 1 + swallowed))
}

/// Whether a conversion may end before this byte.
fn ends(byte: u8) -> bool {
    byte == 0 || super::number::is_space(byte) || byte.is_ascii_punctuation()
}

impl Conversion {
    fn print(&self, memory: &Memory, argument: u64, into: &mut Vec<u8>) {
        match self.what {
            What::Percent => {}
            What::Character => self.pad(&[argument as u8], into),
            What::Text => self.pad(&string(memory, argument), into),
            What::Signed(length) => {
                let value = match length {
                    Length::Int => i64::from(argument as i32),
                    Length::Long => argument as i64,
                };
                let sign = match value {
                    ..0 => "-",
                    _ if self.plus => "+",
                    _ if self.space => " ",
                    _ => "",
                };
                self.number(sign, &value.unsigned_abs().to_string(), into);
            }
            What::Unsigned(length) => self.number("", &cut(argument, length).to_string(), into),
            What::Hex { length, upper: false } => {
                self.number("", &format!("{:x}", cut(argument, length)), into);
            }
            What::Hex { length, upper: true } => {
                self.number("", &format!("{:X}", cut(argument, length)), into);
            }
            What::Pointer if self.width == 0 => {
                into.extend_from_slice(format!("{argument:016x}").as_bytes());
            }
            What::Pointer => self.number("", &format!("{argument:x}"), into),
            What::Address { len, plain } => {
                let mut bytes = [0; 16];
                if memory.read(argument, &mut bytes[..len]).is_err() {
                    bytes = [0; 16];
                }
                self.pad(address(&bytes[..len], plain).as_bytes(), into);
            }
        }
    }

    fn pad(&self, text: &[u8], into: &mut Vec<u8>) {
        let fill = self.width.saturating_sub(text.len());
        let (before, after) = if self.left { (0, fill) } else { (fill, 0) };
        into.extend(std::iter::repeat_n(b' ', before));
        into.extend_from_slice(text);
        into.extend(std::iter::repeat_n(b' ', after));
    }

    fn number(&self, sign: &str, digits: &str, into: &mut Vec<u8>) {
        let zeros = if self.zeros && !self.left {
            self.width.saturating_sub(sign.len() + digits.len())
        } else {
            0
        };
        self.pad(format!("{sign}{}{digits}", "0".repeat(zeros)).as_bytes(), into);
    }
}

fn cut(argument: u64, length: Length) -> u64 {
    match length {
        Length::Int => u64::from(argument as u32),
        Length::Long => argument,
    }
}

/// The string at an address, without its zero; empty if it cannot be read.
fn string(memory: &Memory, address: u64) -> Vec<u8> {
    let mut text = Vec::new();
    for at in 0..WIDEST as u64 {
        match memory.load8(address.wrapping_add(at)) {
            Ok(0) => return text,
            Ok(byte) => text.push(byte as u8),
            Err(_) => return Vec::new(),
        }
    }
    text
}

fn address(bytes: &[u8], plain: bool) -> String {
    let dots = |form: fn(&u8) -> String| bytes.iter().map(form).collect::<Vec<_>>().join(".");
    let group = |pair: &[u8]| format!("{:02x}{:02x}", pair[0], pair[1]);
    let groups: Vec<_> = bytes.chunks(2).map(group).collect();
    match (bytes.len(), plain) {
        (4, true) => dots(|byte| format!("{byte:03}")),
        (4, false) => dots(u8::to_string),
        (_, true) => groups.concat(),
        (_, false) => groups.join(":"),
    }
}

/// Maximum bytes of a field and of a string: the size of the kernel's buffer.
const WIDEST: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn print(format: &str, arguments: &[u64]) -> Result<String, Errno> {
        let mut into = Vec::new();
        Print { format: format.as_bytes(), arguments }.run(&Memory::new(), &mut into)?;
        Ok(String::from_utf8(into).unwrap())
    }

    #[test]
    fn formats_print_as_the_kernel_prints_them() {
        let minus = -5_i64 as u64;
        let table: &[(&str, &[u64], &str)] = &[
            ("plain", &[], "plain"),
            ("100%%", &[], "100%"),
            ("%d %u", &[minus, 7], "-5 7"),
            ("%u", &[minus], "4294967291"),
            ("%lld|%llu", &[minus, minus], "-5|18446744073709551611"),
            ("%x %X %lx", &[255, 255, 1 << 40], "ff FF 10000000000"),
            ("%5d|%-5d|%05d|%+d|% d", &[3, 3, minus, 3, 3], "    3|3    |-0005|+3| 3"),
            ("%c%c", &[104, 105], "hi"),
            ("%px", &[0x1234], "0000000000001234"),
            ("%s|", &[0], "|"),
            ("%pI4 %pi4", &[0, 0], "0.0.0.0 000.000.000.000"),
            ("%pI6", &[0], "0000:0000:0000:0000:0000:0000:0000:0000"),
        ];
        for (format, arguments, expected) in table {
            assert_eq!(print(format, arguments).as_deref(), Ok(*expected), "{format}");
        }
    }

    #[test]
    fn what_the_kernel_refuses_is_refused() {
        for format in ["%", "%q", "%sx", "%pq", "%#x", "%.3d", "%hd", "a\u{7f}", "%l", "%pI5"] {
            assert_eq!(print(format, &[1, 2]), Err(Errno::EINVAL), "{format:?}");
        }
        assert_eq!(print("%d %d", &[1]), Err(Errno::EINVAL), "too few arguments");
    }
}
