//! Ethernet headers and VLAN tags.

use super::Next;
use super::reader::Reader;

pub const IPV4: u16 = 0x0800;
pub const ARP: u16 = 0x0806;
/// An Ethernet frame inside GRE or Geneve.
pub const BRIDGED: u16 = 0x6558;
pub const VLAN: u16 = 0x8100;
pub const IPV6: u16 = 0x86dd;
pub const SERVICE_VLAN: u16 = 0x88a8;
pub const OLD_VLAN: u16 = 0x9100;

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

fn ether_type(reader: &mut Reader<'_>) -> Option<u16> {
    let number = reader.code("type")?;
    if let Some(name) = name(number) {
        reader.say(format!("{name} ({number:#06x})"));
    }
    Some(number)
}

fn unknown(reader: &mut Reader<'_>, number: u16) {
    if number < LENGTHS_BELOW {
        reader.sum(&format!("LLC len {number}"));
        reader.limit(number.into());
    } else if !is_known(number) {
        reader.sum(&format!("type {number:#06x} len {}", reader.left()));
    }
}

fn is_known(number: u16) -> bool {
    name(number).is_some()
}

fn name(number: u16) -> Option<&'static str> {
    Some(match number {
        IPV4 => "IPv4",
        ARP => "ARP",
        BRIDGED => "Ethernet",
        IPV6 => "IPv6",
        VLAN | SERVICE_VLAN | OLD_VLAN => "VLAN",
        _ => return None,
    })
}

/// Smaller numbers are the length of an 802.3 frame.
const LENGTHS_BELOW: u16 = 1536;
