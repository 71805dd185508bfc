//! TCP with its options.

use crate::tcp_flag;

use super::Next;
use super::reader::Reader;

pub fn segment(reader: &mut Reader<'_>) -> Option<Next> {
    reader.open("tcp");
    let sport = reader.half("sport")?;
    let dport = reader.half("dport")?;
    reader.sum(&format!("TCP {sport} > {dport}"));
    let seq = reader.number("seq", 4)?;
    let ack = reader.number("ack", 4)?;
    let header_len = usize::from(reader.byte("offset")? >> 4) * 4;
    reader.say(format!("{header_len} bytes"));
    let flags = reader.byte("flags")?;
    let shown = shown(flags);
    reader.say(shown.clone());
    let window = reader.half("window")?;
    reader.code("checksum")?;
    reader.half("urgent")?;
    reader.sum(&format!("[{shown}] seq {seq}"));
    if flags & tcp_flag::ACK != 0 {
        reader.sum(&format!("ack {ack}"));
    }
    reader.sum(&format!("win {window}"));
    if header_len < FIXED {
        reader.sum("bad header");
        return None;
    }
    options(reader, header_len - FIXED)?;
    reader.sum(&format!("len {}", reader.left()));
    None
}

/// Options up to their end; a damaged one takes the rest.
fn options(reader: &mut Reader<'_>, mut len: usize) -> Option<()> {
    while len > 0 {
        let left = reader.left().min(len);
        let size = match reader.peek(0) {
            Some(END) => left,
            Some(NOTHING) => 1,
            _ => reader.peek(1).map_or(left, usize::from),
        };
        let size = if size < 1 || size > left { left } else { size };
        option(reader, size.max(1))?;
        len -= size.max(1);
    }
    Some(())
}

fn option(reader: &mut Reader<'_>, size: usize) -> Option<()> {
    let (name, number_at) = match (reader.peek(0), size) {
        (Some(NOTHING), _) => ("option_nop", None),
        (Some(END), _) => ("option_end", None),
        (Some(2), 4) => ("option_mss", Some(2)),
        (Some(3), 3) => ("option_window_scale", Some(2)),
        (Some(4), _) => ("option_sack_permitted", None),
        (Some(5), _) => ("option_sack", None),
        (Some(8), _) => ("option_timestamps", None),
        _ => ("option", None),
    };
    let raw = reader.bytes(name, size)?;
    if let Some(at) = number_at {
        let number = raw[at..].iter().fold(0u32, |number, byte| number << 8 | u32::from(*byte));
        reader.say(number.to_string());
    }
    Some(())
}

/// As packet sniffers write flags: `S`, `S.`, `P.`.
fn shown(flags: u8) -> String {
    let letters = [(2, 'S'), (1, 'F'), (4, 'R'), (8, 'P'), (32, 'U'), (64, 'E'), (128, 'W')];
    let mut text: String =
        letters.iter().filter(|(bit, _)| flags & bit != 0).map(|(_, letter)| *letter).collect();
    if flags & tcp_flag::ACK != 0 {
        text.push('.');
    }
    if text.is_empty() { "none".to_owned() } else { text }
}

const END: u8 = 0;
const NOTHING: u8 = 1;
/// Bytes of a header without options.
const FIXED: usize = 20;
