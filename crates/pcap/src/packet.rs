//! One packet of a capture: its bytes, time, interface and verdict.
//!
//! Not here: what the bytes mean.

/// A packet that was read, or that is to be written. What a format has no room for is `None` on
/// reading and left out on writing: pcap holds time, lengths and data alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// Since 1970 in UTC. 0 from pcapng's Simple Packet Blocks, which hold no time.
    pub timestamp_ns: u64,
    /// Index in [`Reader::interfaces`](crate::Reader::interfaces), or as
    /// [`Writer::interface`](crate::Writer::interface) returned it.
    pub interface: usize,
    /// Bytes that the packet had before the capture cut it. Reading never gives less than
    /// `data.len()`; on writing, less counts as `data.len()`.
    pub original_len: u32,
    /// The captured bytes.
    pub data: Vec<u8>,
    /// The code that an XDP program returned (`XDP_DROP` = 1, ...).
    pub verdict: Option<u64>,
    /// The receive queue.
    pub queue: Option<u32>,
    /// Equal in all records of one packet that was captured at several points.
    pub id: Option<u64>,
    /// pcapng's `epb_flags`: see [`Packet::INBOUND`] and [`Packet::OUTBOUND`] for bits 0-1.
    pub flags: Option<u32>,
    /// Packets that the capture lost on this interface since the one before.
    pub dropped: Option<u64>,
    /// Several comments of one packet are joined by line feeds.
    pub comment: Option<String>,
}

/// A packet to be written whose bytes and comment belong to the caller: see [`Packet`] for the
/// fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketRef<'a> {
    pub timestamp_ns: u64,
    pub interface: usize,
    pub original_len: u32,
    pub data: &'a [u8],
    pub verdict: Option<u64>,
    pub queue: Option<u32>,
    pub id: Option<u64>,
    pub flags: Option<u32>,
    pub dropped: Option<u64>,
    pub comment: Option<&'a str>,
}

impl<'a> From<&'a Packet> for PacketRef<'a> {
    fn from(packet: &'a Packet) -> Self {
        Self {
            timestamp_ns: packet.timestamp_ns,
            interface: packet.interface,
            original_len: packet.original_len,
            data: &packet.data,
            verdict: packet.verdict,
            queue: packet.queue,
            id: packet.id,
            flags: packet.flags,
            dropped: packet.dropped,
            comment: packet.comment.as_deref(),
        }
    }
}

impl Packet {
    /// Bits of `flags` that hold the direction.
    pub const DIRECTION: u32 = 0b11;
    /// Direction in the flags of an enhanced packet block: received.
    pub const INBOUND: u32 = 0b01;
    /// Direction in the flags of an enhanced packet block: sent.
    pub const OUTBOUND: u32 = 0b10;

    /// Empties the packet but keeps the buffer of its data.
    pub(crate) fn clear(&mut self) {
        let mut data = std::mem::take(&mut self.data);
        data.clear();
        *self = Self { data, ..Self::default() };
    }

    /// Takes over bytes and the length that they had on the wire.
    pub(crate) fn fill(&mut self, data: &[u8], original_len: u32) {
        self.data.extend_from_slice(data);
        // Some writers put 0 or nonsense here; a packet is never shorter than what is there.
        // No capture gives a slice that is longer than `MAX_PACKET`.
        self.original_len = original_len.max(data.len() as u32);
    }
}
