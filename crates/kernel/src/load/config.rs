//! Values of `extern … __kconfig`: the kernel's version, its configuration, and a few answers
//! about the kernel under reserved names.

use std::collections::HashMap;

use spec::btf::{Btf, Kind, Type};
use spec::{KconfigVar, Spec};

use super::symbols::Host;
use crate::error::{Error, Result};
use crate::limits::CONFIG_LIMIT;

/// Fills the places in the `.kconfig` map.
pub(super) fn fill(spec: &mut Spec, host: &mut Host) -> Result<()> {
    if spec.kconfig.is_empty() {
        return Ok(());
    }
    let options = options()?;
    let Some(number) = spec.map_index(".kconfig") else { return Ok(()) };
    let mut contents = spec.maps[number].contents.take().unwrap_or_default();
    for var in &spec.kconfig {
        let value = match reserved(&var.name, host)? {
            Some(number) => Some(Value::Number(number)),
            None => options.get(&var.name).map(|text| Value::parse(text)),
        };
        let Some(value) = value else {
            if var.weak {
                continue;
            }
            return Err(Error::Unresolved {
                what: "configuration option",
                name: var.name.clone(),
                why: "; declare it __weak if the program can do without".to_owned(),
            });
        };
        put(&mut contents, var, &value, spec.btf.as_ref())?;
    }
    spec.maps[number].contents = Some(contents);
    Ok(())
}

/// One value of a configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Value {
    Yes,
    No,
    Module,
    Number(u64),
    Text(String),
}

impl Value {
    fn parse(text: &str) -> Self {
        match text {
            "y" => Self::Yes,
            "n" => Self::No,
            "m" => Self::Module,
            _ => match number(text) {
                Some(number) => Self::Number(number),
                None => Self::Text(text.trim_matches('"').to_owned()),
            },
        }
    }

    /// As an integer, an `enum libbpf_tristate` or a `bool`.
    fn as_number(&self) -> Option<u64> {
        match self {
            Self::No => Some(0),
            Self::Yes => Some(1),
            Self::Module => Some(2),
            Self::Number(number) => Some(*number),
            Self::Text(_) => None,
        }
    }

    /// As a `char`: the letter that the configuration file has.
    fn as_letter(&self) -> Option<u64> {
        match self {
            Self::No => Some(u64::from(b'n')),
            Self::Yes => Some(u64::from(b'y')),
            Self::Module => Some(u64::from(b'm')),
            other => other.as_number(),
        }
    }
}

/// Decimal, hexadecimal and negative numbers.
fn number(text: &str) -> Option<u64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let value = match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok()?,
        None => digits.parse().ok()?,
    };
    Some(if negative { value.wrapping_neg() } else { value })
}

fn put(contents: &mut [u8], var: &KconfigVar, value: &Value, btf: Option<&Btf>) -> Result<()> {
    let wrong = || Error::Unresolved {
        what: "configuration option",
        name: var.name.clone(),
        why: format!(" as {} bytes: its value is {value:?}", var.size),
    };
    let (from, size) = (var.offset as usize, var.size as usize);
    let place = contents.get_mut(from..from + size).ok_or_else(wrong)?;
    if let Value::Text(text) = value {
        // Cut to fit, closed by a zero.
        let kept = text.len().min(size.saturating_sub(1));
        place.fill(0);
        place[..kept].copy_from_slice(&text.as_bytes()[..kept]);
        return Ok(());
    }
    let letter = btf.and_then(|btf| btf.resolve(var.type_id)).is_some_and(is_letter);
    let number = if letter { value.as_letter() } else { value.as_number() }.ok_or_else(wrong)?;
    if size > 8 {
        return Err(wrong());
    }
    place.copy_from_slice(&number.to_le_bytes()[..size]);
    Ok(())
}

/// A one-byte integer that is not `bool`: compilers do not mark `char` as such.
fn is_letter(ty: Type<'_>) -> bool {
    ty.kind() == Kind::Int && ty.size() == 1 && !ty.is_bool()
}

/// Names that are no configuration options.
fn reserved(name: &str, host: &mut Host) -> Result<Option<u64>> {
    Ok(match name {
        "LINUX_KERNEL_VERSION" => Some(version(&sys::proc::kernel_release()?)),
        // Cookies came with Linux 5.15, the oldest kernel that is supported.
        "LINUX_HAS_BPF_COOKIE" => Some(1),
        "LINUX_HAS_SYSCALL_WRAPPER" => {
            let wrapped = host.address("__x64_sys_bpf")?.or(host.address("__arm64_sys_bpf")?);
            Some(u64::from(wrapped.is_some()))
        }
        _ => None,
    })
}

/// `KERNEL_VERSION(6, 1, 20)` of `6.1.20-whatever`. The last part stops at 255, as the kernel's.
fn version(release: &str) -> u64 {
    let mut parts = release
        .split(|letter: char| !letter.is_ascii_digit())
        .map(|part| part.parse::<u64>().unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0);
    let (major, minor, patch) = (next(), next(), next());
    major << 16 | minor << 8 | patch.min(255)
}

fn options() -> Result<HashMap<String, String>> {
    let Some(raw) = sys::proc::kernel_config()? else { return Ok(HashMap::new()) };
    let text = if raw.starts_with(&[0x1f, 0x8b]) { gunzip(&raw) } else { Some(raw) };
    Ok(text.map(|text| parse(&String::from_utf8_lossy(&text))).unwrap_or_default())
}

/// `CONFIG_X=value` lines; `# CONFIG_X is not set` stands for `n`.
fn parse(text: &str) -> HashMap<String, String> {
    text.lines()
        .filter_map(|line| {
            if let Some(rest) = line.strip_prefix("# ") {
                let name = rest.strip_suffix(" is not set")?;
                return Some((name.to_owned(), "n".to_owned()));
            }
            let (name, value) = line.split_once('=')?;
            name.starts_with("CONFIG_").then(|| (name.to_owned(), value.to_owned()))
        })
        .collect()
}

/// RFC 1952: a header of ten bytes with optional parts behind it, deflated data, eight bytes of
/// checksum and length.
fn gunzip(raw: &[u8]) -> Option<Vec<u8>> {
    const EXTRA: u8 = 4;
    const NAME: u8 = 8;
    const COMMENT: u8 = 16;
    const HEADER_CHECK: u8 = 2;
    let flags = *raw.get(3)?;
    let mut at = 10;
    if flags & EXTRA != 0 {
        at += 2 + usize::from(u16::from_le_bytes([*raw.get(at)?, *raw.get(at + 1)?]));
    }
    for part in [NAME, COMMENT] {
        if flags & part != 0 {
            at += raw.get(at..)?.iter().position(|byte| *byte == 0)? + 1;
        }
    }
    if flags & HEADER_CHECK != 0 {
        at += 2;
    }
    miniz_oxide::inflate::decompress_to_vec_with_limit(raw.get(at..)?, CONFIG_LIMIT).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configuration_lines() {
        let text = "#\n# Linux\n#\nCONFIG_BPF=y\nCONFIG_HZ=250\n# CONFIG_X is not set\n\
                    CONFIG_NAME=\"abc\"\nCONFIG_BASE=0xffff\nCONFIG_M=m\nbroken\n";
        let options = parse(text);
        let table = [
            ("CONFIG_BPF", Some(Value::Yes)),
            ("CONFIG_HZ", Some(Value::Number(250))),
            ("CONFIG_X", Some(Value::No)),
            ("CONFIG_NAME", Some(Value::Text("abc".to_owned()))),
            ("CONFIG_BASE", Some(Value::Number(0xffff))),
            ("CONFIG_M", Some(Value::Module)),
            ("broken", None),
        ];
        for (name, expected) in table {
            assert_eq!(options.get(name).map(|text| Value::parse(text)), expected, "{name}");
        }
    }

    #[test]
    fn versions_of_releases() {
        let table = [
            ("6.18.44-fc", 6 << 16 | 18 << 8 | 44),
            ("5.15.300", 5 << 16 | 15 << 8 | 255),
            ("6.1-rc3", 6 << 16 | 1 << 8),
            ("", 0),
        ];
        for (release, expected) in table {
            assert_eq!(version(release), expected, "{release}");
        }
    }

    #[test]
    fn values_are_put_in_their_places() {
        let var = |offset, size| KconfigVar {
            name: "CONFIG_X".to_owned(),
            offset,
            size,
            type_id: 0,
            weak: false,
        };
        let mut contents = [0xff; 16];
        put(&mut contents, &var(0, 4), &Value::Number(250), None).unwrap();
        put(&mut contents, &var(4, 1), &Value::Yes, None).unwrap();
        put(&mut contents, &var(8, 4), &Value::Text("abcdef".to_owned()), None).unwrap();
        assert_eq!(contents[..13], *b"\xfa\0\0\0\x01\xff\xff\xffabc\0\xff");
        assert!(put(&mut contents, &var(14, 4), &Value::Yes, None).is_err(), "outside the map");
        assert!(put(&mut contents, &var(0, 16), &Value::Yes, None).is_err(), "too wide");
    }

    #[test]
    fn packed_configurations_are_read() {
        let data = miniz_oxide::deflate::compress_to_vec(b"CONFIG_BPF=y\n", 6);
        let name = [0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 3].iter().chain(b"config\0").copied();
        let packed: Vec<u8> = name.chain(data).chain([0; 8]).collect();
        assert_eq!(gunzip(&packed).unwrap(), b"CONFIG_BPF=y\n");
        assert_eq!(gunzip(&packed[..12]), None);
    }
}
