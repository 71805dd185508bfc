//! The neighbour tables: which hardware address an IP address has on an interface.

use std::net::IpAddr;

use netlink_packet_core::{NLM_F_CREATE, NLM_F_DUMP, NLM_F_REPLACE, Parseable};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourFlags, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::route::RouteType;
use packet::Mac;

use super::address::family;
use super::{Ifindex, Netlink};
use crate::error::Result;

/// An entry of the neighbor table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// The interface.
    pub ifindex: Ifindex,
    /// Address of the neighbor.
    pub ip: IpAddr,
    /// `None` while it is being resolved, or after no neighbor answered.
    pub mac: Option<Mac>,
    /// Whether the entry was configured and never expires.
    pub permanent: bool,
    /// `NUD_*`.
    pub state: u16,
}

impl Netlink {
    /// Adds or replaces a permanent entry, which is never resolved and never expires.
    pub fn add_neighbour(&mut self, ifindex: Ifindex, ip: IpAddr, mac: Mac) -> Result<()> {
        let mut message = entry(ifindex, ip);
        message.header.state = NeighbourState::Permanent;
        message.attributes.push(NeighbourAttribute::LinkLayerAddress(mac.0.to_vec()));
        let object = format!("{ip} at {mac} on {}", self.name_of(ifindex));
        let message = RouteNetlinkMessage::NewNeighbour(message);
        self.ask("rtnetlink(RTM_NEWNEIGH)", &object, &message, NLM_F_CREATE | NLM_F_REPLACE)?;
        Ok(())
    }

    /// Lets the kernel resolve `ip` on that interface, as a packet to it would; the result
    /// shows among [`Netlink::neighbours`] later. Does nothing where it is known.
    pub fn ask_neighbour(&mut self, ifindex: Ifindex, ip: IpAddr) -> Result<()> {
        let mut message = entry(ifindex, ip);
        message.header.flags = NeighbourFlags::Use;
        let object = format!("{ip} on {}", self.name_of(ifindex));
        let message = RouteNetlinkMessage::NewNeighbour(message);
        self.ask("rtnetlink(RTM_NEWNEIGH, use)", &object, &message, NLM_F_CREATE)?;
        Ok(())
    }

    /// Entries of all interfaces, both families.
    pub fn neighbours(&mut self) -> Result<Vec<Neighbour>> {
        let message = RouteNetlinkMessage::GetNeighbour(NeighbourMessage::default());
        let replies = self.ask("rtnetlink(RTM_GETNEIGH)", "", &message, NLM_F_DUMP)?;
        Ok(replies
            .iter()
            .filter(|reply| reply.kind == libc::RTM_NEWNEIGH)
            .filter_map(|reply| NeighbourMessage::parse(&reply.payload).ok())
            .filter_map(|message| Neighbour::from_message(&message))
            .collect())
    }
}

fn entry(ifindex: Ifindex, ip: IpAddr) -> NeighbourMessage {
    let mut message = NeighbourMessage::default();
    message.header.family = family(ip);
    message.header.ifindex = ifindex.0;
    message.header.kind = RouteType::Unicast;
    let destination = match ip {
        IpAddr::V4(ip) => NeighbourAddress::Inet(ip),
        IpAddr::V6(ip) => NeighbourAddress::Inet6(ip),
    };
    message.attributes = vec![NeighbourAttribute::Destination(destination)];
    message
}

impl Neighbour {
    /// The address was not confirmed for a while (`NUD_STALE`).
    pub fn is_stale(&self) -> bool {
        self.state & libc::NUD_STALE != 0
    }

    /// No neighbor answered (`NUD_FAILED`).
    pub fn has_failed(&self) -> bool {
        self.state & libc::NUD_FAILED != 0
    }

    /// The state as `ip neigh` calls it, in lower case; `none` for one without a name.
    #[must_use]
    pub fn state_name(&self) -> &'static str {
        let known = STATES.iter().find(|(bit, _)| self.state & bit != 0);
        known.map_or("none", |(_, name)| name)
    }

    fn from_message(message: &NeighbourMessage) -> Option<Self> {
        let mut ip = None;
        let mut mac = None;
        for attribute in &message.attributes {
            match attribute {
                NeighbourAttribute::Destination(NeighbourAddress::Inet(v4)) => {
                    ip = Some(IpAddr::V4(*v4));
                }
                NeighbourAttribute::Destination(NeighbourAddress::Inet6(v6)) => {
                    ip = Some(IpAddr::V6(*v6));
                }
                NeighbourAttribute::LinkLayerAddress(bytes) => mac = Mac::from_slice(bytes),
                _ => {}
            }
        }
        Some(Self {
            ifindex: Ifindex(message.header.ifindex),
            ip: ip?,
            mac,
            permanent: message.header.state == NeighbourState::Permanent,
            state: message.header.state.into(),
        })
    }
}

/// Names of the states.
const STATES: [(u16, &str); 8] = [
    (libc::NUD_PERMANENT, "permanent"),
    (libc::NUD_NOARP, "noarp"),
    (libc::NUD_REACHABLE, "reachable"),
    (libc::NUD_STALE, "stale"),
    (libc::NUD_DELAY, "delay"),
    (libc::NUD_PROBE, "probe"),
    (libc::NUD_INCOMPLETE, "incomplete"),
    (libc::NUD_FAILED, "failed"),
];
