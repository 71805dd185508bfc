//! Writing pcap. Layout: the reading side, `crate::classic`.

use crate::classic::{MAGIC_MICRO, MAGIC_NANO, VERSION};
use crate::error::{Error, Result};
use crate::interface::LinkType;
use crate::limits::MAX_PACKET;
use crate::packet::PacketRef;
use crate::writer::{Resolution, original_len};

pub(crate) fn header(out: &mut Vec<u8>, link_type: LinkType, resolution: Resolution) {
    let magic = match resolution {
        Resolution::Micro => MAGIC_MICRO,
        Resolution::Nano => MAGIC_NANO,
    };
    out.extend(magic.to_le_bytes());
    out.extend(VERSION.0.to_le_bytes());
    out.extend(VERSION.1.to_le_bytes());
    out.extend([0; 8]);
    out.extend((MAX_PACKET as u32).to_le_bytes());
    out.extend(u32::from(link_type.0).to_le_bytes());
}

pub(crate) fn packet(
    out: &mut Vec<u8>,
    packet: &PacketRef<'_>,
    resolution: Resolution,
) -> Result<()> {
    let ns = packet.timestamp_ns;
    let seconds = u32::try_from(ns / 1_000_000_000)
        .map_err(|_| Error::unwritable("pcap holds no time after 2106; write pcapng"))?;
    let fraction_ns = (ns % 1_000_000_000) as u32;
    let fraction = match resolution {
        Resolution::Micro => fraction_ns / 1000,
        Resolution::Nano => fraction_ns,
    };
    out.extend(seconds.to_le_bytes());
    out.extend(fraction.to_le_bytes());
    out.extend((packet.data.len() as u32).to_le_bytes());
    out.extend(original_len(packet).to_le_bytes());
    out.extend_from_slice(packet.data);
    Ok(())
}
