//! The packets: UDP with a number of 64 bits.
//!
//! ```text
//! 0 ─ Ethernet ─ 14 ─ IPv4 ─ 34 ─ UDP ─ 42 ─ stream and number, big-endian ─ 50 ─ zeros
//! ```
//! The first byte of the number is the stream, which is the sender's queue; each stream counts
//! from 0. There is no UDP checksum, so that only the number differs between packets.

use lab::frame::{Flow, Side};

/// A packet without its number.
#[derive(Clone, Debug)]
pub struct Template {
    bytes: Vec<u8>,
}

impl Template {
    /// A packet of `size` bytes from `source` to `target`.
    ///
    /// # Errors
    /// When the headers do not fit into `size`, or the addresses are of different versions.
    pub fn new(source: Side, target: Side, size: usize) -> lab::Result<Self> {
        Ok(Self { bytes: Flow::new(source, target).udp_of_length(size)? })
    }

    /// Length of the frame in bytes.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Writes the whole packet, as an application that builds packets does.
    #[inline]
    pub fn write(&self, packet: &mut [u8], number: u64) {
        packet.copy_from_slice(&self.bytes);
        if let Some(place) = packet.get_mut(NUMBER..NUMBER + 8) {
            place.copy_from_slice(&number.to_be_bytes());
        }
    }
}

/// Returns the number of a packet, or `None` if it is not UDP over IPv4.
#[inline]
pub fn number(packet: &[u8]) -> Option<u64> {
    let head = packet.first_chunk::<{ NUMBER + 8 }>()?;
    let is_udp = head[12] == 8 && head[13] == 0 && head[14] == 0x45 && head[23] == 17;
    let number = head.last_chunk::<8>()?;
    is_udp.then(|| u64::from_be_bytes(*number))
}

/// Exchanges the source and destination Ethernet addresses.
#[inline]
pub fn swap_macs(packet: &mut [u8]) {
    if let Some(macs) = packet.first_chunk_mut::<12>() {
        let (target, source) = macs.split_at_mut(6);
        target.swap_with_slice(source);
    }
}

/// Offset of the number.
const NUMBER: usize = 42;

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use packet::Mac;

    use super::*;

    #[test]
    fn numbers_are_read_where_they_were_written() {
        let ip = Ipv4Addr::new(198, 18, 0, 1).into();
        let side = |last| Side { mac: Mac([2, 0, 0, 0, 0, last]), ip, port: 5000 };
        let (template, mut packet) = (Template::new(side(1), side(2), 60).unwrap(), [0; 60]);
        template.write(&mut packet, 0x0700_0000_0000_0102);
        assert_eq!(number(&packet), Some(0x0700_0000_0000_0102));
        swap_macs(&mut packet);
        assert_eq!(packet[..12], [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2]);
        assert_eq!(number(&packet[..49]), None, "too short");
        packet[12] = 0x86;
        assert_eq!(number(&packet), None, "not IPv4");
    }
}
