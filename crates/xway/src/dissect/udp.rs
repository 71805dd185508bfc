//! UDP, and what its port says of the contents.

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
    if len >= HEADER {
        reader.limit(len - HEADER);
    }
    reader.sum(&format!("len {}", len.saturating_sub(HEADER)));
    match dport {
        VXLAN => Some(Next::Vxlan),
        GENEVE => Some(Next::Geneve),
        _ => None,
    }
}

const HEADER: usize = 8;
const VXLAN: u16 = 4789;
const GENEVE: u16 = 6081;
