//! The IPv6 header and its extension headers.

use crate::IpProtocol;

use super::Next;
use super::reader::Reader;

pub fn header(reader: &mut Reader<'_>) -> Option<Next> {
    reader.open("ipv6");
    let first = reader.number("version_class_label", 4)?;
    let (version, class, label) = (first >> 28, first >> 20 & 0xff, first & 0xf_ffff);
    reader.say(format!("version {version}, class {class}, label {label:#x}"));
    let payload = usize::from(reader.half("payload_length")?);
    let number = IpProtocol(reader.byte("next_header")?);
    reader.byte("hop_limit")?;
    let src = reader.ipv6("src")?;
    let dst = reader.ipv6("dst")?;
    reader.sum(&format!("IPv6 {src} > {dst}"));
    if version != 6 {
        reader.sum("bad header");
        return None;
    }
    // 0 with further bytes is a jumbogram, or comes from segmentation offload.
    if payload != 0 {
        reader.limit(payload);
    }
    extensions(reader, number)
}

/// Each extension takes at least eight bytes, so this ends.
fn extensions(reader: &mut Reader<'_>, mut number: IpProtocol) -> Option<Next> {
    loop {
        number = match number {
            IpProtocol::HOP_BY_HOP => extension(reader, "ipv6_hop")?,
            IpProtocol::DESTINATION_OPTIONS => extension(reader, "ipv6_dest")?,
            IpProtocol::ROUTING => extension(reader, "ipv6_route")?,
            IpProtocol::MOBILITY => extension(reader, "ipv6_mobility")?,
            IpProtocol::AH => authentication(reader)?,
            IpProtocol::FRAGMENT => fragment(reader)?,
            IpProtocol::NO_NEXT_HEADER => {
                reader.sum("no next header");
                return None;
            }
            number => return Some(Next::Protocol { number, v6: true }),
        };
    }
}

fn extension(reader: &mut Reader<'_>, name: &str) -> Option<IpProtocol> {
    reader.open(name);
    let next = IpProtocol(reader.byte("next_header")?);
    let units = usize::from(reader.byte("length")?);
    reader.bytes("options", units * 8 + 6)?;
    reader.sum(match name {
        "ipv6_hop" => "hop-by-hop",
        "ipv6_dest" => "destination options",
        "ipv6_route" => "routing",
        _ => "mobility",
    });
    Some(next)
}

fn authentication(reader: &mut Reader<'_>) -> Option<IpProtocol> {
    reader.open("ah");
    let next = IpProtocol(reader.byte("next_header")?);
    let words = usize::from(reader.byte("length")?);
    reader.bytes("reserved", 2)?;
    let spi = reader.number("spi", 4)?;
    reader.number("sequence", 4)?;
    reader.bytes("check", (words * 4).saturating_sub(4))?;
    reader.sum(&format!("AH spi {spi:#x}"));
    Some(next)
}

/// The header after it, in the first fragment.
fn fragment(reader: &mut Reader<'_>) -> Option<IpProtocol> {
    reader.open("ipv6_frag");
    let next = IpProtocol(reader.byte("next_header")?);
    reader.byte("reserved")?;
    let word = reader.half("offset_flags")?;
    let (offset, more) = (word & !7, word & 1 != 0);
    reader.say(format!("offset {offset}{}", if more { ", more" } else { "" }));
    let id = reader.number("id", 4)?;
    reader.say(format!("{id:#x}"));
    if offset != 0 {
        reader.sum(&format!("fragment at {offset} len {}", reader.left()));
        return None;
    }
    if more {
        reader.sum("first fragment");
        reader.partial();
    }
    Some(next)
}
