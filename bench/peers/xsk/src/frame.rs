//! The frames: UDP with a number of 64 bits, and the books of who receives them.
//!
//! ```text
//! 0 ─ Ethernet ─ 14 ─ IPv4 ─ 34 ─ UDP ─ 42 ─ number, big-endian ─ 50 ─ zeros …
//! ```
//! Addresses are those of the lab's topology "router", whose middle host runs the peer.

/// Where the number stands.
pub const NUMBER: usize = 42;
/// Where the port stands that it goes to.
pub const TO_PORT: usize = 36;
/// What UDP carries begins here.
pub const PAYLOAD: usize = 42;
/// The peer's own address, that of the other end, and the one on the far side of a bridge.
pub const OWN: [u8; 4] = [10, 0, 1, 1];
pub const OTHER: [u8; 4] = [10, 0, 1, 2];
pub const BEYOND: [u8; 4] = [10, 0, 2, 2];
pub const PORT: u16 = 5000;
/// Port of round trips, which the program that counts and drops frames lets pass.
pub const RTT_PORT: u16 = 5001;

/// A frame without its number.
#[derive(Clone, Debug)]
pub struct Template {
    bytes: Vec<u8>,
}

impl Template {
    /// From the peer's host to the other; those of round trips the other way.
    pub fn new(size: usize, port: u16) -> Self {
        let from_other = port == RTT_PORT;
        let (own, other) = ([2, 0x78, 0x77, 0, 1, 1], [2, 0x78, 0x77, 0, 1, 2]);
        let (source, target) = if from_other { (other, own) } else { (own, other) };
        let (from, to) = if from_other { (OTHER, OWN) } else { (OWN, OTHER) };
        let mut bytes = [&target[..], &source[..], &[8, 0]].concat();
        let length = (size - 14) as u16;
        let mut ip = [&[0x45, 0], &length.to_be_bytes()[..], &[0, 0, 0, 0, 64, 17, 0, 0]].concat();
        ip.extend([from, to].concat());
        let sum = checksum(&ip);
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
        bytes.extend(ip);
        for field in [port, port, length - 20, 0] {
            bytes.extend(field.to_be_bytes());
        }
        bytes.resize(size, 0);
        Self { bytes }
    }

    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Writes all of frame `number`, as one who builds frames does.
    #[inline(always)]
    pub fn write(&self, buffer: &mut [u8], number: u64) {
        buffer[..self.bytes.len()].copy_from_slice(&self.bytes);
        buffer[NUMBER..NUMBER + 8].copy_from_slice(&number.to_be_bytes());
    }
}

fn checksum(header: &[u8]) -> u16 {
    let words = header.chunks_exact(2).map(|two| u32::from(u16::from_be_bytes([two[0], two[1]])));
    let sum: u32 = words.sum();
    !((sum & 0xffff) + (sum >> 16)) as u16
}

/// Source and destination take each other's place.
#[inline(always)]
pub fn swap_macs(frame: &mut [u8]) {
    if let Some((target, rest)) = frame.split_first_chunk_mut::<6>()
        && let Some(source) = rest.first_chunk_mut::<6>()
    {
        std::mem::swap(target, source);
    }
}

/// What came, by its numbers. One queue keeps their order, so a frame that follows a later one is a
/// repeat or was delayed: both count as duplicates.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tracker {
    pub received: u64,
    pub missing: u64,
    pub duplicated: u64,
    next: u64,
}

impl Tracker {
    /// Reads a frame; foreign ones (the kernel's own traffic) are not counted.
    #[inline(always)]
    pub fn frame(&mut self, frame: &[u8]) {
        let Some(ours) = frame.get(TO_PORT..NUMBER + 8) else { return };
        if matches!(u16::from_be_bytes([ours[0], ours[1]]), PORT | RTT_PORT) {
            self.number(&ours[NUMBER - TO_PORT..]);
        }
    }

    #[inline(always)]
    fn number(&mut self, bytes: &[u8]) {
        let number = u64::from_be_bytes(bytes.try_into().expect("eight bytes"));
        if number != self.next && self.received > 0 {
            if number < self.next {
                self.duplicated += 1;
                return;
            }
            self.missing += number - self.next;
        }
        self.received += 1;
        self.next = number + 1;
    }
}
