//! What left a router for one packet: frames and where, and to which packet a frame belongs.

use std::fmt;

use packet::IpProtocol;
use packet::hex;

use super::packets::{MAGIC, TCP_MAGIC};

/// A frame that left the router.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seen {
    /// Number of the router's port.
    pub port: u8,
    pub frame: Vec<u8>,
}

/// All that left the router for one packet, sorted.
pub type Outcome = Vec<Seen>;

/// What a frame is to the packet that caused it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The packet or a fragment of it.
    Forwarded,
    /// An ICMP message that quotes it, or its echo reply: type and code.
    Icmp(u8, u8),
    /// A TCP reset.
    Reset,
}

/// Offsets in a frame with an IP header after 14 bytes of Ethernet.
#[derive(Clone, Copy, Debug)]
pub struct Ip {
    pub is_ipv6: bool,
    /// Offset of the transport header. Extension headers do not occur in answers.
    pub transport: usize,
    /// End of the packet according to its header.
    pub end: usize,
    pub protocol: IpProtocol,
}

impl Ip {
    pub fn of(frame: &[u8]) -> Option<Self> {
        let word = |at: usize| {
            Some(usize::from(u16::from_be_bytes([*frame.get(at)?, *frame.get(at + 1)?])))
        };
        match word(12)? {
            0x0800 => Some(Self {
                is_ipv6: false,
                transport: 14 + usize::from(frame.get(14)? & 15) * 4,
                end: 14 + word(16)?,
                protocol: IpProtocol(*frame.get(23)?),
            }),
            0x86dd => Some(Self {
                is_ipv6: true,
                transport: 54,
                end: 54 + word(18)?,
                protocol: IpProtocol(*frame.get(20)?),
            }),
            _ => None,
        }
    }

    /// Whether source and destination are those of another frame.
    pub fn has_addresses_of(self, frame: &[u8], sent: &[u8]) -> bool {
        let range = if self.is_ipv6 { 22..54 } else { 26..34 };
        frame.get(range.clone()) == sent.get(range)
    }
}

impl Seen {
    /// Which packet this may belong to, and as what.
    pub fn belongs(&self) -> Option<(u16, Kind)> {
        let (frame, ip) = (&self.frame[..], Ip::of(&self.frame)?);
        let at = ip.transport;
        let word = |at: usize| Some(u16::from_be_bytes([*frame.get(at)?, *frame.get(at + 1)?]));
        // A packet without a payload is none.
        let first = frame.get(at).copied().unwrap_or(8);
        let answer = match (ip.protocol, first) {
            (IpProtocol::ICMP, 3 | 4 | 5 | 11 | 12) => word(at + 12),
            // Redirects quote after two addresses in an option.
            (IpProtocol::ICMPV6, 137) => quoted(frame, at),
            (IpProtocol::ICMPV6, 0..=127) => word(at + 10),
            (IpProtocol::ICMP, 0) | (IpProtocol::ICMPV6, 129) => {
                let is_ours = frame.get(at + 8..at + 12) == Some(&MAGIC[..]);
                if is_ours { word(at + 12) } else { None }
            }
            (IpProtocol::TCP, _)
                if frame.get(at + 13).is_some_and(|flags| flags & 4 != 0)
                    && word(at + 4)? == TCP_MAGIC =>
            {
                return Some((word(at + 6)?, Kind::Reset));
            }
            _ => None,
        };
        if let Some(tag) = answer {
            return Some((tag, Kind::Icmp(frame[at], *frame.get(at + 1)?)));
        }
        let tag = if ip.is_ipv6 { word(16)? } else { word(18)? };
        Some((tag, Kind::Forwarded))
    }

    /// What it is to a packet, which must be its cause.
    pub fn kind(&self, sent: &[u8]) -> Kind {
        let forwarded =
            Ip::of(&self.frame).is_some_and(|ip| ip.has_addresses_of(&self.frame, sent));
        match self.belongs() {
            Some((_, kind)) if !forwarded => kind,
            _ => Kind::Forwarded,
        }
    }
}

/// Flow label of the packet in the option "redirected header" (RFC 4861, section 4.6.3).
fn quoted(frame: &[u8], at: usize) -> Option<u16> {
    let mut option = at + 40;
    while *frame.get(option)? != 4 {
        option += 8 * usize::from(*frame.get(option + 1)?).max(1);
    }
    Some(u16::from_be_bytes([*frame.get(option + 10)?, *frame.get(option + 11)?]))
}

/// Kinds and ports in a few words, for a signature.
pub fn summary(outcome: &Outcome, sent: &[u8]) -> String {
    if outcome.is_empty() {
        return "silence".to_owned();
    }
    let mut kinds: Vec<String> = outcome.iter().map(|one| one.kind(sent).to_string()).collect();
    kinds.dedup();
    kinds.join(" and ")
}

/// Ports and bytes.
pub fn details(outcome: &Outcome) -> Vec<String> {
    outcome.iter().map(|one| format!("p{}: {}", one.port, hex(&one.frame))).collect()
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Forwarded => write!(f, "forwarded"),
            Self::Icmp(kind, code) => write!(f, "ICMP {kind}/{code}"),
            Self::Reset => write!(f, "reset"),
        }
    }
}
