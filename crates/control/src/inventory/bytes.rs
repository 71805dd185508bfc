//! Bytes as users write them: keys and values of maps, and frames.

use std::net::IpAddr;

pub use crate::error::BytesError;

/// Parses `hex:0a0b`, an IPv4, IPv6 or MAC address (network order), or a number, which takes the
/// whole width in the machine's order. Several are separated by commas and concatenated; a number
/// among several needs its width: `1:u32`.
pub fn parse_bytes(text: &str, width: usize) -> Result<Vec<u8>, BytesError> {
    let parts: Vec<&str> = text.split(',').collect();
    let mut bytes = Vec::new();
    for part in &parts {
        let width = if parts.len() == 1 { Some(width) } else { None };
        bytes.extend(parse_part(part.trim(), width)?);
    }
    if bytes.len() == width {
        Ok(bytes)
    } else {
        Err(BytesError::Width { text: text.to_owned(), len: bytes.len(), width })
    }
}

/// Parses pairs of hexadecimal digits; blanks, colons and underscores are ignored.
pub fn hex(text: &str) -> Result<Vec<u8>, BytesError> {
    let is_digit = |letter: &char| !letter.is_whitespace() && !"_:".contains(*letter);
    let digits = text.chars().filter(is_digit).map(|letter| letter.to_digit(16));
    let digits: Vec<u32> = digits.collect::<Option<_>>().ok_or(BytesError::NotHex)?;
    match digits.as_chunks::<2>() {
        (pairs, []) => Ok(pairs.iter().map(|[high, low]| (high * 16 + low) as u8).collect()),
        _ => Err(BytesError::NotHex),
    }
}

fn parse_part(part: &str, width: Option<usize>) -> Result<Vec<u8>, BytesError> {
    if let Some(digits) = part.strip_prefix("hex:") {
        return hex(digits);
    }
    if let Ok(address) = part.parse::<IpAddr>() {
        return Ok(match address {
            IpAddr::V4(v4) => v4.octets().to_vec(),
            IpAddr::V6(v6) => v6.octets().to_vec(),
        });
    }
    if part.matches(':').count() == 5 {
        return hex(part);
    }
    let (digits, suffix) = part.split_once(':').unwrap_or((part, ""));
    let bits = match suffix {
        "" => width.map(|bytes| bytes * 8),
        _ => suffix.strip_prefix(['u', 's']).and_then(|bits| bits.parse().ok()),
    };
    let width = bits.filter(|bits| bits % 8 == 0).map(|bits| bits / 8);
    let unknown = || BytesError::NoWidth { text: part.to_owned(), digits: digits.to_owned() };
    number(digits, width.ok_or_else(unknown)?)
}

fn number(digits: &str, width: usize) -> Result<Vec<u8>, BytesError> {
    let (sign, magnitude) = match digits.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, digits),
    };
    let value = match magnitude.strip_prefix("0x") {
        Some(hex) => i128::from_str_radix(hex, 16),
        None => magnitude.parse::<i128>(),
    };
    let value = value.map_err(|_| BytesError::NotANumber(digits.to_owned()))? * sign;
    let room = 8 * width.min(15) as u32;
    if value >= 1 << room || value < -(1 << (room.max(1) - 1)) {
        return Err(BytesError::TooLarge { digits: digits.to_owned(), width });
    }
    let mut bytes = value.to_le_bytes().to_vec();
    bytes.resize(width.max(16), if value < 0 { 0xff } else { 0 });
    bytes.truncate(width);
    if cfg!(target_endian = "big") {
        bytes.reverse();
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_shown_can_be_typed() {
        let bytes = [0, 10, 255];
        let text = crate::inventory::tagged(&bytes);
        assert_eq!(text, "hex:000aff");
        assert_eq!(parse_bytes(&text, 3).unwrap(), bytes.as_slice());
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
            assert_eq!(parse_bytes(text, *width).unwrap(), *bytes, "{text}");
        }
        for (text, width) in
            [("256", 1), ("-129", 1), ("x", 4), ("hex:0", 1), ("1,2", 8), ("10.0.0.1", 8), ("", 4)]
        {
            assert!(parse_bytes(text, width).is_err(), "{text}");
        }
    }
}
