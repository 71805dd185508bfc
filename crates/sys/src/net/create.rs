//! Creates veth pairs and bridges.
//!
//! Each end of a pair can be created in its own namespace, so that it never appears anywhere else.

use std::os::fd::{AsRawFd, BorrowedFd};

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkInfo, LinkMessage,
};
use packet::Mac;

use super::link::check_name;
use super::{Ifindex, Netlink};
use crate::error::Result;

/// One end of a veth pair.
#[derive(Clone, Debug)]
pub struct VethEnd<'a> {
    /// Name of the interface.
    pub name: &'a str,
    /// Ethernet address; random if `None`.
    pub mac: Option<Mac>,
    /// Namespace in which it is created; that of the socket if `None`.
    pub netns: Option<BorrowedFd<'a>>,
}

/// A veth pair to create.
#[derive(Clone, Debug)]
pub struct NewVeth<'a> {
    /// The two ends.
    pub ends: [VethEnd<'a>; 2],
    /// Receive and transmit queues of each end, at least 1.
    pub queues: u32,
    /// MTU of both ends in bytes.
    pub mtu: u32,
}

impl Netlink {
    /// Creates a veth pair.
    pub fn create_veth(&mut self, veth: &NewVeth<'_>) -> Result<()> {
        let [first, second] = &veth.ends;
        check_name(NEW, first.name)?;
        check_name(NEW, second.name)?;
        let mut peer = LinkMessage::default();
        peer.attributes = end_attributes(veth, second);
        let mut message = LinkMessage::default();
        message.attributes = end_attributes(veth, first);
        message.attributes.push(LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Veth),
            LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(peer))),
        ]));
        self.create(first.name, message)
    }

    /// Creates a bridge and returns its index.
    pub fn create_bridge(&mut self, name: &str) -> Result<Ifindex> {
        check_name(NEW, name)?;
        let mut message = LinkMessage::default();
        message.attributes = vec![
            LinkAttribute::IfName(name.to_owned()),
            LinkAttribute::LinkInfo(vec![LinkInfo::Kind(InfoKind::Bridge)]),
        ];
        self.create(name, message)?;
        Ok(self.link(name)?.ifindex)
    }

    fn create(&mut self, name: &str, message: LinkMessage) -> Result<()> {
        let message = RouteNetlinkMessage::NewLink(message);
        self.ask(NEW, name, &message, NLM_F_CREATE | NLM_F_EXCL)?;
        Ok(())
    }
}

fn end_attributes(veth: &NewVeth<'_>, end: &VethEnd<'_>) -> Vec<LinkAttribute> {
    let mut attributes = vec![
        LinkAttribute::IfName(end.name.to_owned()),
        LinkAttribute::Mtu(veth.mtu),
        LinkAttribute::NumRxQueues(veth.queues),
        LinkAttribute::NumTxQueues(veth.queues),
    ];
    attributes.extend(end.mac.map(|mac| LinkAttribute::Address(mac.0.to_vec())));
    attributes.extend(end.netns.map(|netns| LinkAttribute::NetNsFd(netns.as_raw_fd())));
    attributes
}

const NEW: &str = "rtnetlink(RTM_NEWLINK)";
