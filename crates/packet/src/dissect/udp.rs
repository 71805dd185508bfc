//! UDP; the destination port determines the protocol of the payload.

use crate::{Port, header_len};

use super::Next;
use super::reader::Reader;

pub fn datagram(reader: &mut Reader<'_>) -> Option<Next> {
    reader.open("udp");
    let sport = reader.half("sport")?;
    let dport = reader.half("dport")?;
    reader.sum(&format!("UDP {sport} > {dport}"));
    let len = usize::from(reader.half("length")?);
    reader.code("checksum")?;
    // 0 stands for a length that only segmentation offload knows.
    if len >= header_len::UDP {
        reader.limit(len - header_len::UDP);
    }
    reader.sum(&format!("len {}", len.saturating_sub(header_len::UDP)));
    match Port(dport) {
        Port::VXLAN => Some(Next::Vxlan),
        Port::GENEVE => Some(Next::Geneve),
        _ => None,
    }
}
