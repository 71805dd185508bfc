//! `prog` and `map`: naming an object of the kernel, and bytes on the command line.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand};

/// A program or map: by id (`17`), by name (`xdp_drop`), or by pin (a word with a `/`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ref {
    Id(u32),
    Name(String),
    Pin(PathBuf),
}

impl FromStr for Ref {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        if word.is_empty() {
            return Err("write an id, a name or the path of a pin".to_owned());
        }
        if word.contains('/') {
            return Ok(Self::Pin(PathBuf::from(word)));
        }
        Ok(word.parse().map_or_else(|_| Self::Name(word.to_owned()), Self::Id))
    }
}

/// What an object leaves open, for every command that loads one.
#[derive(Clone, Debug, Default, Args)]
pub struct ObjectArgs {
    /// Set the number of entries of a map, or the bytes of a ring buffer, such as flows=1024 (may
    /// be repeated)
    #[arg(long = "map-size", value_name = "NAME=N", value_parser = map_size)]
    pub map_sizes: Vec<(String, u32)>,

    /// Value of a kernel configuration option that the object reads, such as CONFIG_HZ=250 (may
    /// be repeated)
    #[arg(long, value_name = "NAME=VALUE", value_parser = super::attach::assignment)]
    pub kconfig: Vec<(String, String)>,
}

fn map_size(text: &str) -> Result<(String, u32), String> {
    let (name, size) = super::attach::assignment(text)?;
    match size.parse() {
        Ok(size) if size > 0 => Ok((name, size)),
        _ => Err(format!("invalid size `{size}`: expected a number from 1 to {}", u32::MAX)),
    }
}

#[derive(Debug, Subcommand)]
pub enum ProgAction {
    /// List all programs in the kernel
    List,
    /// Show all that the kernel reports about one program
    Show {
        /// Id, name, or path of a pin
        program: Ref,
    },
    /// Print the program's instructions with source lines
    Dump(Dump),
}

#[derive(Debug, Args)]
pub struct Dump {
    /// Id, name, or path of a pin
    pub program: Ref,

    /// Print the JIT's machine code instead of translated BPF instructions
    #[arg(long)]
    pub jited: bool,
}

#[derive(Debug, Subcommand)]
pub enum MapAction {
    /// List all maps in the kernel
    List,
    /// Show all that the kernel reports about one map
    Show {
        /// Id, name, or path of a pin
        map: Ref,
    },
    /// Print all entries, formatted by their types if the map has BTF
    Dump {
        /// Id, name, or path of a pin
        map: Ref,
    },
    /// Print one entry
    Lookup {
        /// Id, name, or path of a pin
        map: Ref,
        /// Key: a number, an IP or MAC address, or hex:0a0b
        key: String,
    },
    /// Set the value of one entry
    Update {
        /// Id, name, or path of a pin
        map: Ref,
        /// Key: a number, an IP or MAC address, or hex:0a0b
        key: String,
        /// Value, in the same notation as a key
        value: String,
        /// Fail if the key exists
        #[arg(long, conflicts_with = "exist")]
        noexist: bool,
        /// Fail if the key does not exist
        #[arg(long)]
        exist: bool,
    },
    /// Delete one entry
    Delete {
        /// Id, name, or path of a pin
        map: Ref,
        /// Key: a number, an IP or MAC address, or hex:0a0b
        key: String,
    },
    /// Pin a map in a bpffs
    Pin {
        /// Id, name, or path of a pin
        map: Ref,
        /// Path in a mounted bpffs
        path: PathBuf,
    },
}

/// Bytes written as `hex:0a0b`, an IPv4, IPv6 or MAC address (network order), or a number, which
/// takes the whole width in the machine's order. Several, comma separated, follow one another; a
/// number among several needs its width: `1:u32`.
pub fn parse_bytes(text: &str, width: usize) -> Result<Vec<u8>, String> {
    let parts: Vec<&str> = text.split(',').collect();
    let mut bytes = Vec::new();
    for part in &parts {
        let width = if parts.len() == 1 { Some(width) } else { None };
        bytes.extend(parse_part(part.trim(), width)?);
    }
    if bytes.len() == width {
        Ok(bytes)
    } else {
        Err(format!("`{text}` is {} bytes, the map takes {width}", bytes.len()))
    }
}

fn parse_part(part: &str, width: Option<usize>) -> Result<Vec<u8>, String> {
    if let Some(digits) = part.strip_prefix("hex:") {
        return hex(digits);
    }
    if let Ok(address) = part.parse::<std::net::IpAddr>() {
        return Ok(match address {
            std::net::IpAddr::V4(v4) => v4.octets().to_vec(),
            std::net::IpAddr::V6(v6) => v6.octets().to_vec(),
        });
    }
    if part.matches(':').count() == 5 {
        return hex(&part.replace(':', ""));
    }
    let (digits, suffix) = part.split_once(':').unwrap_or((part, ""));
    let bits = match suffix {
        "" => width.map(|bytes| bytes * 8),
        _ => suffix.strip_prefix(['u', 's']).and_then(|bits| bits.parse().ok()),
    };
    let width = bits.filter(|bits| bits % 8 == 0).map(|bits| bits / 8);
    number(digits, width.ok_or_else(|| format!("`{part}`: say its width, such as {digits}:u32"))?)
}

fn number(digits: &str, width: usize) -> Result<Vec<u8>, String> {
    let (sign, magnitude) = match digits.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, digits),
    };
    let value = match magnitude.strip_prefix("0x") {
        Some(hex) => i128::from_str_radix(hex, 16),
        None => magnitude.parse::<i128>(),
    }
    .map_err(|_| format!("`{digits}` is not a number, an address or hex:…"))?
        * sign;
    let room = 8 * width.min(15) as u32;
    if value >= 1 << room || value < -(1 << (room.max(1) - 1)) {
        return Err(format!("`{digits}` does not fit {width} bytes"));
    }
    let mut bytes = value.to_le_bytes().to_vec();
    bytes.resize(width.max(16), if value < 0 { 0xff } else { 0 });
    bytes.truncate(width);
    if cfg!(target_endian = "big") {
        bytes.reverse();
    }
    Ok(bytes)
}

fn hex(digits: &str) -> Result<Vec<u8>, String> {
    let digits: String = digits.chars().filter(|c| !c.is_whitespace() && *c != '_').collect();
    if !digits.len().is_multiple_of(2) || !digits.is_ascii() {
        return Err(format!("`{digits}`: hex digits come in pairs"));
    }
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).map_err(|e| format!("hex: {e}")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_names_an_object() {
        assert_eq!("17".parse(), Ok(Ref::Id(17)));
        assert_eq!("xdp_drop".parse(), Ok(Ref::Name("xdp_drop".into())));
        assert_eq!("/run/x".parse(), Ok(Ref::Pin("/run/x".into())));
        assert!("".parse::<Ref>().is_err());
    }

    #[test]
    fn bytes_that_are_shown_can_be_typed() {
        let bytes = [0, 10, 255];
        let text = control::inventory::tagged(&bytes);
        assert_eq!(text, "hex:000aff");
        assert_eq!(parse_bytes(&text, 3).as_deref(), Ok(bytes.as_slice()));
    }

    #[test]
    fn bytes_as_people_write_them() {
        let table: &[(&str, usize, &[u8])] = &[
            ("1", 4, &[1, 0, 0, 0]),
            ("0x0102", 4, &[2, 1, 0, 0]),
            ("-1", 2, &[0xff, 0xff]),
            ("255", 1, &[255]),
            ("hex:0a 0b_0c", 3, &[10, 11, 12]),
            ("10.1.0.2", 4, &[10, 1, 0, 2]),
            ("10.1.0.2,17:u16,1234:u16", 8, &[10, 1, 0, 2, 17, 0, 0xd2, 4]),
            ("02:00:00:00:00:01", 6, &[2, 0, 0, 0, 0, 1]),
            ("1", 20, &[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        ];
        for (text, width, bytes) in table {
            assert_eq!(parse_bytes(text, *width).as_deref(), Ok(*bytes), "{text}");
        }
        for (text, width) in
            [("256", 1), ("-129", 1), ("x", 4), ("hex:0", 1), ("1,2", 8), ("10.0.0.1", 8), ("", 4)]
        {
            assert!(parse_bytes(text, width).is_err(), "{text}");
        }
    }
}
