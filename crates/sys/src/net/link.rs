//! The interfaces of a namespace: what they are and the switches that all kinds share.
//!
//! An attribute that this crate's decoder does not understand is skipped: one exotic device must
//! not hide the others. Not here: making them (`create`), offloads and channels (`ethtool`).

use std::os::fd::{AsRawFd, BorrowedFd};

use netlink_packet_core::{NLM_F_DUMP, NlasIterator, ParseableParametrized};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    BondMode, InfoBond, InfoData, InfoVlan, LinkAttribute, LinkFlags, LinkHeader, LinkInfo,
    LinkMessage, Prop, Stats64, VlanProtocol,
};
use packet::{EtherType, Mac, VlanTag};

use super::conversation::Reply;
use super::{Ifindex, Netlink, XdpState};
use crate::error::{Error, Result};

/// An interface as it was at the moment of asking.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// Index of the interface.
    pub ifindex: Ifindex,
    /// Name of the interface.
    pub name: String,
    /// Alternative names.
    pub altnames: Vec<String>,
    /// `veth`, `bridge`, `tun`, …; empty for hardware and loopback.
    pub kind: String,
    /// Ethernet address, if it has one.
    pub mac: Option<Mac>,
    /// Largest packet in bytes, without the Ethernet header.
    pub mtu: u32,
    /// Administratively up.
    pub up: bool,
    /// Up, with a carrier.
    pub running: bool,
    /// Whether it is the loopback interface.
    pub loopback: bool,
    /// Number of receive queues.
    pub rx_queues: u32,
    /// Number of transmit queues.
    pub tx_queues: u32,
    /// The bridge or bond that holds it.
    pub master: Option<Ifindex>,
    /// A veth's other end, or the interface below, such as a VLAN's; numbered in *its* namespace.
    pub peer: Option<Ifindex>,
    /// The peer is in another namespace than the interface.
    pub peer_elsewhere: bool,
    /// The tag of a VLAN device; `None` for VLAN 0, which names none.
    pub vlan: Option<VlanTag>,
    /// How a bond sends.
    pub bond: Option<Bond>,
    /// Counters of the interface.
    pub statistics: Statistics,
    /// Attached XDP programs.
    pub xdp: XdpState,
}

/// How a bond selects the interface that sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bond {
    /// One interface sends and receives, and others replace it when it fails.
    pub is_active_backup: bool,
    /// The interface that sends and receives now, if one works.
    pub active: Option<Ifindex>,
}

/// Counters since the interface was created. They may not include XDP drops in a driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Received packets.
    pub rx_packets: u64,
    /// Received bytes.
    pub rx_bytes: u64,
    /// Receive errors.
    pub rx_errors: u64,
    /// Received packets that were dropped.
    pub rx_dropped: u64,
    /// Packets that the device dropped because its receive queue was full.
    pub rx_missed: u64,
    /// Packets that the device dropped because its buffer overflowed.
    pub rx_fifo_errors: u64,
    /// Packets that no protocol of the stack received.
    pub rx_unhandled: u64,
    /// Sent packets.
    pub tx_packets: u64,
    /// Sent bytes.
    pub tx_bytes: u64,
    /// Transmit errors.
    pub tx_errors: u64,
    /// Packets that were dropped instead of sent.
    pub tx_dropped: u64,
}

impl Netlink {
    /// All interfaces of the namespace, by number.
    pub fn links(&mut self) -> Result<Vec<Link>> {
        let message = RouteNetlinkMessage::GetLink(LinkMessage::default());
        let replies = self.ask(GET, "", &message, NLM_F_DUMP)?;
        let mut links: Vec<Link> = replies.iter().filter_map(Link::from_reply).collect();
        links.sort_by_key(|link| link.ifindex);
        Ok(links)
    }

    /// `ENODEV` when this namespace has no such interface.
    pub fn link(&mut self, name: &str) -> Result<Link> {
        check_name(GET, name)?;
        let mut message = LinkMessage::default();
        message.attributes.push(LinkAttribute::IfName(name.to_owned()));
        self.one_link(name, message)
    }

    /// Reads an interface by its index.
    pub fn link_by_index(&mut self, ifindex: Ifindex) -> Result<Link> {
        let mut message = LinkMessage::default();
        message.header.index = ifindex.0;
        self.one_link(&format!("interface {ifindex}"), message)
    }

    /// Sets an interface up or down.
    pub fn set_up(&mut self, ifindex: Ifindex, up: bool) -> Result<()> {
        let mut message = LinkMessage::default();
        message.header.flags = if up { LinkFlags::Up } else { LinkFlags::empty() };
        message.header.change_mask = LinkFlags::Up;
        self.change("rtnetlink(RTM_SETLINK, up)", ifindex, message)
    }

    /// Sets the MTU in bytes.
    pub fn set_mtu(&mut self, ifindex: Ifindex, mtu: u32) -> Result<()> {
        self.set("rtnetlink(RTM_SETLINK, mtu)", ifindex, LinkAttribute::Mtu(mtu))
    }

    /// Sets the Ethernet address.
    pub fn set_mac(&mut self, ifindex: Ifindex, mac: Mac) -> Result<()> {
        let address = LinkAttribute::Address(mac.0.to_vec());
        self.set("rtnetlink(RTM_SETLINK, address)", ifindex, address)
    }

    /// The interface must be down on kernels before 6.2.
    pub fn rename(&mut self, ifindex: Ifindex, name: &str) -> Result<()> {
        check_name("rtnetlink(RTM_SETLINK, name)", name)?;
        let name = LinkAttribute::IfName(name.to_owned());
        self.set("rtnetlink(RTM_SETLINK, name)", ifindex, name)
    }

    /// Into a bridge, or out of it with `None`.
    pub fn set_master(&mut self, ifindex: Ifindex, master: Option<Ifindex>) -> Result<()> {
        let master = LinkAttribute::Controller(master.map_or(0, |master| master.0));
        self.set("rtnetlink(RTM_SETLINK, master)", ifindex, master)
    }

    /// The interface loses its addresses and gets a new number there.
    pub fn move_to(&mut self, ifindex: Ifindex, netns: BorrowedFd<'_>) -> Result<()> {
        let netns = LinkAttribute::NetNsFd(netns.as_raw_fd());
        self.set("rtnetlink(RTM_SETLINK, netns)", ifindex, netns)
    }

    /// Deleting one end of a veth pair deletes both.
    pub fn delete_link(&mut self, ifindex: Ifindex) -> Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = ifindex.0;
        let object = self.name_of(ifindex);
        let message = RouteNetlinkMessage::DelLink(message);
        self.ask("rtnetlink(RTM_DELLINK)", &object, &message, 0)?;
        Ok(())
    }

    /// How errors call an interface: by name while it exists.
    pub(super) fn name_of(&mut self, ifindex: Ifindex) -> String {
        self.link_by_index(ifindex).map_or_else(|_| format!("interface {ifindex}"), |l| l.name)
    }

    fn one_link(&mut self, object: &str, message: LinkMessage) -> Result<Link> {
        let replies = self.ask(GET, object, &RouteNetlinkMessage::GetLink(message), 0)?;
        let link = replies.iter().find_map(Link::from_reply);
        link.ok_or_else(|| Error::new(GET, object, libc::ENODEV))
    }

    fn set(&mut self, call: &'static str, at: Ifindex, attribute: LinkAttribute) -> Result<()> {
        let mut message = LinkMessage::default();
        message.attributes.push(attribute);
        self.change(call, at, message)
    }

    fn change(&mut self, call: &'static str, at: Ifindex, mut message: LinkMessage) -> Result<()> {
        message.header.index = at.0;
        let object = self.name_of(at);
        self.ask(call, &object, &RouteNetlinkMessage::SetLink(message), 0)?;
        Ok(())
    }
}

impl Link {
    fn from_reply(reply: &Reply) -> Option<Self> {
        if reply.kind != libc::RTM_NEWLINK {
            return None;
        }
        let header = LinkHeader::parse(&reply.payload).ok()?;
        let mut link = Self {
            ifindex: Ifindex(header.index),
            up: header.flags.contains(LinkFlags::Up),
            running: header.flags.contains(LinkFlags::Running),
            loopback: header.flags.contains(LinkFlags::Loopback),
            ..Self::default()
        };
        let family = header.interface_family;
        for nla in NlasIterator::new(reply.payload.get(LINK_HEADER..)?).flatten() {
            if let Ok(attribute) = LinkAttribute::parse_with_param(&nla, family) {
                link.take(attribute);
            }
        }
        Some(link)
    }

    fn take(&mut self, attribute: LinkAttribute) {
        match attribute {
            LinkAttribute::IfName(name) => self.name = name,
            LinkAttribute::PropList(properties) => {
                self.altnames = properties.into_iter().filter_map(alternative_name).collect();
            }
            LinkAttribute::Address(bytes) => self.mac = Mac::from_slice(&bytes),
            LinkAttribute::Mtu(mtu) => self.mtu = mtu,
            LinkAttribute::NumRxQueues(queues) => self.rx_queues = queues,
            LinkAttribute::NumTxQueues(queues) => self.tx_queues = queues,
            LinkAttribute::Controller(master) => self.master = Some(Ifindex(master)),
            LinkAttribute::Link(peer) if peer != 0 => self.peer = Some(Ifindex(peer)),
            LinkAttribute::LinkNetNsId(_) => self.peer_elsewhere = true,
            LinkAttribute::Stats64(stats) => self.statistics = Statistics::from(stats),
            LinkAttribute::Xdp(attributes) => self.xdp = XdpState::from_attributes(&attributes),
            LinkAttribute::LinkInfo(infos) => {
                for info in infos {
                    match info {
                        LinkInfo::Kind(kind) => self.kind = kind.to_string(),
                        LinkInfo::Data(InfoData::Vlan(data)) => self.vlan = vlan_tag(&data),
                        LinkInfo::Data(InfoData::Bond(data)) => self.bond = Some(bond(&data)),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
}

/// A VLAN without a protocol is one of 802.1Q.
fn vlan_tag(data: &[InfoVlan]) -> Option<VlanTag> {
    let (mut protocol, mut id) = (EtherType::VLAN, None);
    for one in data {
        match one {
            InfoVlan::Id(number) => id = Some(*number),
            InfoVlan::Protocol(VlanProtocol::Ieee8021Ad) => protocol = EtherType::SERVICE_VLAN,
            _ => {}
        }
    }
    VlanTag::new(protocol, id?).ok()
}

fn bond(data: &[InfoBond]) -> Bond {
    let mut bond = Bond::default();
    for one in data {
        match one {
            InfoBond::Mode(mode) => bond.is_active_backup = *mode == BondMode::ActiveBackup,
            InfoBond::ActivePort(ifindex) if *ifindex != 0 => {
                bond.active = Some(Ifindex(*ifindex));
            }
            _ => {}
        }
    }
    bond
}

fn alternative_name(property: Prop) -> Option<String> {
    match property {
        Prop::AltIfName(name) => Some(name),
        _ => None,
    }
}

/// The interface and all that its packets pass below it: members of a bridge or bond, the one that
/// a VLAN lies on.
pub fn underneath(top: Ifindex, links: &[Link]) -> Vec<Ifindex> {
    let mut found = vec![top];
    let mut next = 0;
    while next < found.len() {
        let upper = found[next];
        let enslaved = links.iter().filter(|link| link.master == Some(upper));
        let own = links.iter().find(|link| link.ifindex == upper);
        // A veth's other end is numbered in its own namespace, and is not underneath.
        let lower = own.filter(|link| link.kind != "veth").and_then(|link| link.peer);
        for ifindex in enslaved.map(|link| link.ifindex).chain(lower) {
            if !found.contains(&ifindex) {
                found.push(ifindex);
            }
        }
        next += 1;
    }
    found
}

impl From<Stats64> for Statistics {
    fn from(stats: Stats64) -> Self {
        Self {
            rx_packets: stats.rx_packets,
            rx_bytes: stats.rx_bytes,
            rx_errors: stats.rx_errors,
            rx_dropped: stats.rx_dropped,
            rx_missed: stats.rx_missed_errors,
            rx_fifo_errors: stats.rx_fifo_errors,
            rx_unhandled: stats.rx_nohandler,
            tx_packets: stats.tx_packets,
            tx_bytes: stats.tx_bytes,
            tx_errors: stats.tx_errors,
            tx_dropped: stats.tx_dropped,
        }
    }
}

/// For a too long name, the kernel returns `ERANGE` without a message.
pub(super) fn check_name(call: &'static str, name: &str) -> Result<()> {
    let fits = (1..libc::IFNAMSIZ).contains(&name.len());
    let plain = !name.bytes().any(|byte| byte == b'/' || byte == 0 || byte.is_ascii_whitespace());
    if fits && plain {
        return Ok(());
    }
    Err(Error::new(call, name, libc::EINVAL).with_detail("an interface name has 1 to 15 bytes"))
}

const GET: &str = "rtnetlink(RTM_GETLINK)";
/// `struct ifinfomsg`.
const LINK_HEADER: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = ((value.len() + 4) as u16).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    /// `RTM_NEWLINK` of an interface on interface 3, as linux/if_link.h describes it.
    fn link(kind: &str, data: &[Vec<u8>]) -> Link {
        let info = [attribute(1, &[kind.as_bytes(), &[0]].concat()), attribute(2, &data.concat())];
        let mut payload = vec![0; LINK_HEADER];
        payload[4..8].copy_from_slice(&7_u32.to_ne_bytes());
        payload[8..12].copy_from_slice(&1_u32.to_ne_bytes());
        payload.extend(attribute(3, b"eth0.5\0"));
        payload.extend(attribute(5, &3_u32.to_ne_bytes()));
        payload.extend(attribute(18, &info.concat()));
        Link::from_reply(&Reply { kind: libc::RTM_NEWLINK, payload }).unwrap()
    }

    #[test]
    fn vlan_devices_have_a_tag() {
        let id = |id: u16| attribute(1, &id.to_ne_bytes());
        let protocol = |protocol: u16| attribute(5, &protocol.to_be_bytes());
        // IFLA_VLAN_FLAGS: reorder_hdr.
        let flags = attribute(2, &[1, 0, 0, 0, 255, 255, 255, 255]);
        let found = link("vlan", &[protocol(0x8100), id(5), flags]);
        assert_eq!(found.vlan, VlanTag::new(EtherType::VLAN, 5).ok());
        assert_eq!((&*found.name, found.ifindex, found.up), ("eth0.5", Ifindex(7), true));
        assert_eq!((found.peer, found.peer_elsewhere), (Some(Ifindex(3)), false));
        let found = link("vlan", &[protocol(0x88a8), id(4094)]);
        assert_eq!(found.vlan, VlanTag::new(EtherType::SERVICE_VLAN, 4094).ok());
        assert_eq!(link("vlan", &[protocol(0x8100), id(0)]).vlan, None);
        assert_eq!(link("vlan", &[]).vlan, None);
        assert_eq!(link("macvlan", &[attribute(1, &4_u32.to_ne_bytes())]).vlan, None);
    }

    #[test]
    fn bonds_have_a_mode_and_an_active_interface() {
        let (mode, active) =
            (|mode: u8| attribute(1, &[mode]), |at: u32| attribute(2, &at.to_ne_bytes()));
        let found = |data: &[Vec<u8>]| link("bond", data).bond;
        let backup = |active| Some(Bond { is_active_backup: true, active });
        assert_eq!(found(&[mode(1), active(4)]), backup(Some(Ifindex(4))));
        assert_eq!(found(&[mode(1)]), backup(None));
        assert_eq!(found(&[mode(4)]), Some(Bond::default()));
        assert_eq!(link("vlan", &[]).bond, None);
    }
}
