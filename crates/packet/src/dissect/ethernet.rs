//! Ethernet headers and VLAN tags.

use crate::EtherType;

use super::Next;
use super::reader::Reader;

pub fn frame(reader: &mut Reader<'_>) -> Option<Next> {
    reader.open("eth");
    let dst = reader.mac("dst")?;
    let src = reader.mac("src")?;
    let number = ether_type(reader)?;
    if !is_known(number) {
        reader.sum(&format!("Ethernet {src} > {dst}"));
    }
    unknown(reader, number);
    Some(Next::EtherType(number))
}

pub fn tag(reader: &mut Reader<'_>) -> Option<Next> {
    reader.open("vlan");
    let tci = reader.half("tci")?;
    let (priority, drop_eligible, id) = (tci >> 13, tci >> 12 & 1, tci & 0xfff);
    reader.say(format!("id {id}, priority {priority}, drop eligible {drop_eligible}"));
    reader.sum(&format!("VLAN {id}"));
    let number = ether_type(reader)?;
    unknown(reader, number);
    Some(Next::EtherType(number))
}

fn ether_type(reader: &mut Reader<'_>) -> Option<EtherType> {
    let number = EtherType(reader.code("type")?);
    if let Some(name) = name(number) {
        reader.say(format!("{name} ({number})"));
    }
    Some(number)
}

fn unknown(reader: &mut Reader<'_>, number: EtherType) {
    if number < EtherType::FIRST {
        reader.sum(&format!("LLC len {}", number.0));
        reader.limit(number.0.into());
    } else if !is_known(number) {
        reader.sum(&format!("type {number} len {}", reader.left()));
    }
}

fn is_known(number: EtherType) -> bool {
    name(number).is_some()
}

fn name(number: EtherType) -> Option<&'static str> {
    Some(match number {
        EtherType::IPV4 => "IPv4",
        EtherType::ARP => "ARP",
        EtherType::BRIDGED => "Ethernet",
        EtherType::IPV6 => "IPv6",
        EtherType::VLAN | EtherType::SERVICE_VLAN | EtherType::LEGACY_VLAN => "VLAN",
        _ => return None,
    })
}
