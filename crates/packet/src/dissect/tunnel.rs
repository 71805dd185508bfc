//! Headers that packets travel under: VXLAN, Geneve, GRE.

use crate::EtherType;

use super::Next;
use super::reader::Reader;

pub fn vxlan(reader: &mut Reader<'_>) -> Option<Next> {
    reader.open("vxlan");
    reader.byte("flags")?;
    reader.bytes("reserved", 3)?;
    let vni = reader.number("vni", 3)?;
    reader.bytes("reserved2", 1)?;
    reader.sum(&format!("VXLAN {vni}:"));
    Some(Next::Ethernet)
}

pub fn geneve(reader: &mut Reader<'_>) -> Option<Next> {
    reader.open("geneve");
    let first = reader.byte("version_length")?;
    let options = usize::from(first & 0x3f) * 4;
    reader.say(format!("version {}, {options} bytes of options", first >> 6));
    reader.byte("flags")?;
    let number = EtherType(reader.code("type")?);
    let vni = reader.number("vni", 3)?;
    reader.bytes("reserved", 1)?;
    if options > 0 {
        reader.bytes("options", options)?;
    }
    reader.sum(&format!("Geneve {vni}:"));
    Some(Next::EtherType(number))
}

pub fn gre(reader: &mut Reader<'_>) -> Option<Next> {
    reader.open("gre");
    let flags = reader.code("flags_version")?;
    let number = EtherType(reader.code("type")?);
    let mut words = "GRE".to_owned();
    if flags & CHECKSUM != 0 {
        reader.code("checksum")?;
        reader.bytes("reserved", 2)?;
    }
    if flags & KEY != 0 {
        let key = reader.number("key", 4)?;
        words.push_str(&format!(" key {key}"));
    }
    if flags & SEQUENCE != 0 {
        reader.number("sequence", 4)?;
    }
    reader.sum(&format!("{words}:"));
    // Version 1 carries PPP.
    if flags & 7 != 0 {
        return None;
    }
    if number == EtherType::VLAN { None } else { Some(Next::EtherType(number)) }
}

const CHECKSUM: u16 = 0x8000;
const KEY: u16 = 0x2000;
const SEQUENCE: u16 = 0x1000;
