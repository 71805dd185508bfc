//! The IPv4 header with its options; fragments after the first hold no further headers.

use crate::IpProtocol;

use super::Next;
use super::reader::Reader;

pub fn header(reader: &mut Reader<'_>) -> Option<Next> {
    reader.open("ipv4");
    let first = reader.byte("version_ihl")?;
    let header_len = usize::from(first & 15) * 4;
    reader.say(format!("version {}, {header_len} bytes", first >> 4));
    reader.byte("tos")?;
    let total = usize::from(reader.half("total_length")?);
    reader.half("id")?;
    let fragment = fragment(reader)?;
    reader.byte("ttl")?;
    let number = IpProtocol(reader.byte("protocol")?);
    reader.code("checksum")?;
    let src = reader.ipv4("src")?;
    let dst = reader.ipv4("dst")?;
    reader.sum(&format!("IPv4 {src} > {dst}"));
    if first >> 4 != 4 || header_len < FIXED {
        reader.sum("bad header");
        return None;
    }
    options(reader, header_len - FIXED)?;
    // 0 stands for a length above 65,535 that only segmentation offload knows.
    if total != 0 && total >= header_len {
        reader.limit(total - header_len);
    }
    if fragment.offset != 0 {
        reader.sum(&format!("fragment at {} len {}", fragment.offset, reader.left()));
        return None;
    }
    if fragment.more {
        reader.sum("first fragment");
        reader.partial();
    }
    Some(Next::Protocol { number, v6: false })
}

struct Fragment {
    /// In bytes.
    offset: usize,
    more: bool,
}

fn fragment(reader: &mut Reader<'_>) -> Option<Fragment> {
    let word = reader.half("flags_fragment")?;
    let (offset, more) = (usize::from(word & 0x1fff) * 8, word & 0x2000 != 0);
    let flags = [(0x8000, "reserved"), (0x4000, "DF"), (0x2000, "MF")];
    let set = flags.iter().filter(|(bit, _)| word & bit != 0).map(|(_, name)| *name);
    let words: Vec<_> = set.map(str::to_owned).chain([format!("offset {offset}")]).collect();
    reader.say(words.join(", "));
    Some(Fragment { offset, more })
}

fn options(reader: &mut Reader<'_>, len: usize) -> Option<()> {
    if len > 0 {
        reader.bytes("options", len)?;
    }
    Some(())
}

/// Bytes of a header without options.
const FIXED: usize = 20;
