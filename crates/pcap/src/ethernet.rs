//! `Framing` and `Framer`: an Ethernet header for packets that were captured without one.
//!
//! Rule: the packet after the link header remains as it is. Layouts:
//! <https://www.tcpdump.org/linktypes.html>. Not here: link types whose packets are not IP packets
//! or Ethernet payloads, such as 802.11 and PPP.

use std::collections::BTreeMap;

use thiserror::Error;

use crate::interface::LinkType;

/// Addresses of Ethernet headers that are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    /// Destination address, which no capture of these types has.
    pub destination: [u8; 6],
    /// Source address, where the capture has none of six bytes.
    pub source: [u8; 6],
}

/// What happens to packets that were captured without an Ethernet header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LinkPolicy {
    /// An Ethernet header is added to raw IP, BSD loopback and Linux cooked packets.
    #[default]
    AddHeader,
    /// They are refused.
    Strict,
}

/// Converts the packets of a capture by a policy, and counts those that got a header.
#[derive(Clone, Debug, Default)]
pub struct Framer {
    policy: LinkPolicy,
    framing: Framing,
    added: BTreeMap<LinkType, u64>,
}

/// Why a packet cannot become an Ethernet frame.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Unframed {
    /// Packets of this type are not converted.
    #[error("{0} is not converted to Ethernet")]
    LinkType(LinkType),
    /// Packets of this type are converted, but [`LinkPolicy::Strict`] refuses them.
    #[error("{0} is not Ethernet")]
    Strict(LinkType),
    /// The link type is known, but Ethernet does not carry the protocol after it.
    #[error("not a protocol that Ethernet carries")]
    Protocol,
    #[error("shorter than its link header")]
    Short,
}

impl Default for Framing {
    /// Locally administered addresses: 02:00:00:00:00:02 and 02:00:00:00:00:01.
    fn default() -> Self {
        Self { destination: [2, 0, 0, 0, 0, 2], source: [2, 0, 0, 0, 0, 1] }
    }
}

impl Framing {
    /// Appends the Ethernet frame of a packet to `out`; returns whether a header was added.
    ///
    /// The EtherType comes from the IP version, the address family or the protocol of the link
    /// header. Captures of Ethernet are copied, complete or not.
    ///
    /// ```
    /// use pcap::{Framing, LinkType};
    ///
    /// let mut frame = Vec::new();
    /// let is_new = Framing::default().frame(LinkType::RAW, &[0x45, 0, 0, 20], &mut frame)?;
    /// assert!(is_new);
    /// assert_eq!(frame, [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0, 0, 20]);
    /// # Ok::<(), pcap::Unframed>(())
    /// ```
    ///
    /// # Errors
    /// The reason why there is no such frame; `out` is unchanged.
    pub fn frame(
        &self,
        link: LinkType,
        packet: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<bool, Unframed> {
        if link == LinkType::ETHERNET {
            out.extend_from_slice(packet);
            return Ok(false);
        }
        let Contents { kind, source, at } = contents(link, packet)?;
        let payload = packet.get(at..).filter(|payload| !payload.is_empty());
        let payload = payload.ok_or(Unframed::Short)?;
        let framing = Self { source: source.unwrap_or(self.source), ..*self };
        framing.put(kind.number(payload.len())?, payload, out);
        Ok(true)
    }

    /// A sentence that reports the headers that packets of a type get.
    pub fn notice(&self, link: LinkType) -> String {
        let address = |bytes: [u8; 6]| bytes.map(|byte| format!("{byte:02x}")).join(":");
        let kept = match link {
            LinkType::LINUX_SLL | LinkType::LINUX_SLL2 => {
                " where the packet has no source of its own"
            }
            _ => "",
        };
        format!(
            "{link} packets get an Ethernet header, to {} from {}{kept}",
            address(self.destination),
            address(self.source),
        )
    }

    /// Appends a frame with this EtherType and payload to `out`.
    pub fn put(&self, ether_type: u16, payload: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(&self.destination);
        out.extend_from_slice(&self.source);
        out.extend_from_slice(&ether_type.to_be_bytes());
        out.extend_from_slice(payload);
    }
}

impl Framer {
    pub fn new(policy: LinkPolicy, framing: Framing) -> Self {
        Self { policy, framing, added: BTreeMap::new() }
    }

    /// Addresses of the headers.
    pub fn framing(&self) -> Framing {
        self.framing
    }

    /// Appends the frame of a packet to `out`, as [`Framing::frame`] does. Returns how many packets
    /// of this link type have got a header, this one included; `None` for one of Ethernet.
    ///
    /// # Errors
    /// The reason why there is no such frame; `out` is unchanged.
    pub fn frame(
        &mut self,
        link: LinkType,
        packet: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<u64>, Unframed> {
        if self.policy == LinkPolicy::Strict && link.gets_header() {
            return Err(Unframed::Strict(link));
        }
        if !self.framing.frame(link, packet, out)? {
            return Ok(None);
        }
        let added = self.added.entry(link).or_default();
        *added += 1;
        Ok(Some(*added))
    }

    /// Numbers of packets that have got a header, by link type.
    pub fn added(&self) -> &BTreeMap<LinkType, u64> {
        &self.added
    }
}

impl Unframed {
    /// The link type, if no packet of it can be used.
    pub fn link_type(self) -> Option<LinkType> {
        match self {
            Self::LinkType(link) | Self::Strict(link) => Some(link),
            Self::Protocol | Self::Short => None,
        }
    }

    /// How to get Ethernet frames.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::LinkType(link) => link.remedy(),
            Self::Strict(_) => "it gets an Ethernet header without `--link strict`",
            Self::Protocol | Self::Short => "leave it out of the capture",
        }
    }
}

impl LinkType {
    /// Whether [`Framing::frame`] adds an Ethernet header to packets of this type.
    pub fn gets_header(self) -> bool {
        let cooked = [Self::LINUX_SLL, Self::LINUX_SLL2];
        let bare = [Self::RAW, Self::RAW_BSD, Self::RAW_OPENBSD, Self::IPV4, Self::IPV6];
        [Self::NULL, Self::LOOP].contains(&self) || bare.contains(&self) || cooked.contains(&self)
    }
}

/// What a link header describes.
#[derive(Clone, Copy, Debug)]
struct Contents {
    kind: Kind,
    source: Option<[u8; 6]>,
    /// Offset of the payload.
    at: usize,
}

/// The field after the addresses.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Type(u16),
    /// IEEE 802.3: the length of the payload.
    Length,
}

impl Kind {
    fn number(self, payload: usize) -> Result<u16, Unframed> {
        match self {
            Self::Type(ether_type) => Ok(ether_type),
            Self::Length => u16::try_from(payload)
                .ok()
                .filter(|length| *length < FIRST_TYPE)
                .ok_or(Unframed::Protocol),
        }
    }
}

impl Contents {
    fn of_type(ether_type: u16, at: usize) -> Self {
        Self { kind: Kind::Type(ether_type), source: None, at }
    }
}

fn contents(link: LinkType, packet: &[u8]) -> Result<Contents, Unframed> {
    match link {
        LinkType::IPV4 => Ok(Contents::of_type(IPV4, 0)),
        LinkType::IPV6 => Ok(Contents::of_type(IPV6, 0)),
        LinkType::RAW | LinkType::RAW_BSD | LinkType::RAW_OPENBSD => by_version(packet),
        LinkType::NULL | LinkType::LOOP => by_family(packet),
        LinkType::LINUX_SLL => cooked(packet, &SLL),
        LinkType::LINUX_SLL2 => cooked(packet, &SLL2),
        other => Err(Unframed::LinkType(other)),
    }
}

/// Determines the type by the version of the IP header.
fn by_version(packet: &[u8]) -> Result<Contents, Unframed> {
    match packet.first().ok_or(Unframed::Short)? >> 4 {
        4 => Ok(Contents::of_type(IPV4, 0)),
        6 => Ok(Contents::of_type(IPV6, 0)),
        _ => Err(Unframed::Protocol),
    }
}

/// Reads four bytes with the address family, in the byte order of the capturing host.
fn by_family(packet: &[u8]) -> Result<Contents, Unframed> {
    let bytes: [u8; 4] = *packet.first_chunk().ok_or(Unframed::Short)?;
    match u32::from_be_bytes(bytes).min(u32::from_le_bytes(bytes)) {
        2 => Ok(Contents::of_type(IPV4, 4)),
        // Linux; NetBSD and OpenBSD; FreeBSD; macOS.
        10 | 24 | 28 | 30 => Ok(Contents::of_type(IPV6, 4)),
        _ => Err(Unframed::Protocol),
    }
}

/// Offsets in a "cooked" header of Linux.
struct Cooked {
    protocol: usize,
    device: usize,
    address_len: AddressLen,
    address: usize,
    len: usize,
}

/// The field with the length of the address: version 1 has two bytes for it, version 2 one.
enum AddressLen {
    Half(usize),
    Byte(usize),
}

const SLL: Cooked =
    Cooked { protocol: 14, device: 2, address_len: AddressLen::Half(4), address: 6, len: 16 };
const SLL2: Cooked =
    Cooked { protocol: 0, device: 8, address_len: AddressLen::Byte(11), address: 12, len: 20 };

fn cooked(packet: &[u8], layout: &Cooked) -> Result<Contents, Unframed> {
    let header = packet.get(..layout.len).ok_or(Unframed::Short)?;
    let half = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    let kind = match half(layout.protocol) {
        // The protocol numbers of such devices are not EtherTypes.
        _ if FOREIGN_DEVICES.contains(&half(layout.device)) => return Err(Unframed::Protocol),
        NOVELL_RAW | LLC => Kind::Length,
        ether_type if ether_type >= FIRST_TYPE => Kind::Type(ether_type),
        _ => return Err(Unframed::Protocol),
    };
    let address_len = match layout.address_len {
        AddressLen::Half(at) => half(at),
        AddressLen::Byte(at) => header[at].into(),
    };
    let source = header[layout.address..].first_chunk().filter(|_| address_len == 6);
    Ok(Contents { kind, source: source.copied(), at: layout.len })
}

/// First EtherType; lower values are a length.
const FIRST_TYPE: u16 = 0x0600;
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;

// Protocols of Linux's own (`linux/if_ether.h`): 802.3 without and with 802.2.
const NOVELL_RAW: u16 = 0x0001;
const LLC: u16 = 0x0004;
/// Device types (`linux/if_arp.h`): frame relay, radiotap, netlink.
const FOREIGN_DEVICES: [u16; 3] = [770, 803, 824];
