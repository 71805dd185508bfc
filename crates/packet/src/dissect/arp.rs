//! ARP of IPv4 over Ethernet; other kinds are left as bytes.

use crate::EtherType;

use super::Next;
use super::reader::Reader;

pub fn packet(reader: &mut Reader<'_>) -> Option<Next> {
    reader.open("arp");
    let hardware = reader.half("hardware")?;
    let protocol = reader.code("protocol")?;
    let sizes = (reader.byte("hardware_size")?, reader.byte("protocol_size")?);
    let operation = reader.half("operation")?;
    if (hardware, protocol, sizes) != (1, EtherType::IPV4.0, (6, 4)) {
        reader.sum(&format!("ARP of hardware {hardware}, protocol {protocol:#06x}"));
        return None;
    }
    let sender_mac = reader.mac("sender_mac")?;
    let sender = reader.ipv4("sender")?;
    reader.mac("target_mac")?;
    let target = reader.ipv4("target")?;
    reader.sum(&match operation {
        1 => format!("ARP who has {target} tell {sender}"),
        2 => format!("ARP {sender} is at {sender_mac}"),
        other => format!("ARP operation {other}"),
    });
    reader.limit(0);
    None
}
