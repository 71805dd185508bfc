//! `Layers`: where a frame has what edits may change.
//!
//! Rule: every offset told is inside of what was captured, with the whole field behind it; what
//! was cut off is not there. Not here: changing anything.

/// Of the outermost packet: what tunnels and errors quote inside stays as it was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Layers {
    /// VLAN tags, from byte 12.
    pub tags: usize,
    pub ip: Option<Ip>,
}

/// An IP header whose addresses are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ip {
    /// Bytes of an address.
    pub width: usize,
    pub source: usize,
    pub destination: usize,
    /// IPv4's header checksum.
    pub checksum: Option<usize>,
    /// Whether the destination is that of the pseudo header: not when a routing header says where
    /// the packet really goes.
    pub is_final: bool,
    pub transport: Option<Transport>,
}

/// What stands behind the IP headers of a packet that is whole, or of its first fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Transport {
    /// Source port, destination port.
    pub ports: Option<[usize; 2]>,
    /// A checksum that covers the IP addresses.
    pub checksum: Option<usize>,
    /// Zero means none.
    pub is_optional: bool,
}

impl Layers {
    pub fn of(frame: &[u8]) -> Self {
        let mut tags = 0;
        let mut at = TYPE_AT;
        while let Some(kind) = half(frame, at) {
            match kind {
                0x8100 | 0x88a8 | 0x9100 if half(frame, at + TAG).is_some() => {
                    tags += 1;
                    at += TAG;
                }
                0x0800 => return Self { tags, ip: ipv4(frame, at + 2) },
                0x86dd => return Self { tags, ip: ipv6(frame, at + 2) },
                _ => break,
            }
        }
        Self { tags, ip: None }
    }
}

fn ipv4(frame: &[u8], at: usize) -> Option<Ip> {
    let header = frame.get(at..at + 20).filter(|header| header[0] >> 4 == 4)?;
    let len = usize::from(header[0] & 0xf) * 4;
    let is_first = half(header, 6)? & 0x1fff == 0;
    let behind = (len >= 20 && is_first).then_some(at + len);
    Some(Ip {
        width: 4,
        source: at + 12,
        destination: at + 16,
        checksum: Some(at + 10),
        is_final: true,
        transport: behind.and_then(|behind| transport(frame, behind, header[9], false)),
    })
}

fn ipv6(frame: &[u8], at: usize) -> Option<Ip> {
    let header = frame.get(at..at + 40).filter(|header| header[0] >> 4 == 6)?;
    let mut ip = Ip {
        width: 16,
        source: at + 8,
        destination: at + 24,
        checksum: None,
        is_final: true,
        transport: None,
    };
    let (mut next, mut behind) = (header[6], at + 40);
    for _ in 0..EXTENSIONS {
        let Some(extension) = frame.get(behind..behind + 8) else { break };
        let len = match next {
            HOP_BY_HOP | DESTINATION | MOBILITY | ROUTING => (usize::from(extension[1]) + 1) * 8,
            AUTHENTICATION => (usize::from(extension[1]) + 2) * 4,
            FRAGMENT if half(extension, 2)? & 0xfff8 == 0 => 8,
            FRAGMENT => return Some(ip),
            _ => break,
        };
        // Segments left.
        ip.is_final &= next != ROUTING || extension[3] == 0;
        (next, behind) = (extension[0], behind + len);
    }
    ip.transport = transport(frame, behind, next, true);
    Some(ip)
}

fn transport(frame: &[u8], at: usize, protocol: u8, is_ipv6: bool) -> Option<Transport> {
    let field = |offset: usize| half(frame, at + offset).map(|_| at + offset);
    let (checksum, has_ports) = match protocol {
        TCP => (field(16), true),
        UDP | UDP_LITE => (field(6), true),
        ICMPV6 if is_ipv6 => (field(2), false),
        _ => return None,
    };
    let ports = if has_ports { field(0).zip(field(2)).map(|(from, to)| [from, to]) } else { None };
    Some(Transport { ports, checksum, is_optional: protocol == UDP })
}

/// A big-endian word; nothing when it is not whole.
pub(super) fn half(bytes: &[u8], at: usize) -> Option<u16> {
    let word = bytes.get(at..at + 2)?;
    Some(u16::from_be_bytes([word[0], word[1]]))
}

/// Where an Ethernet header has its type, and how long a tag is that comes in front of it.
pub(super) const TYPE_AT: usize = 12;
pub(super) const TAG: usize = 4;

/// Extension headers that are looked behind.
const EXTENSIONS: usize = 8;

const HOP_BY_HOP: u8 = 0;
const TCP: u8 = 6;
const UDP: u8 = 17;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const ICMPV6: u8 = 58;
const DESTINATION: u8 = 60;
const MOBILITY: u8 = 135;
const UDP_LITE: u8 = 136;
