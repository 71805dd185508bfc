//! IP addresses of interfaces.

use std::net::IpAddr;

use netlink_packet_core::{NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, Parseable};
use netlink_packet_route::address::{
    AddressAttribute, AddressFlags, AddressHeaderFlags, AddressMessage, AddressScope,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use super::{Ifindex, Netlink};
use crate::error::Result;

/// An address that an interface has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// The interface.
    pub ifindex: Ifindex,
    /// The address.
    pub ip: IpAddr,
    /// Length of the network's prefix in bits.
    pub prefix: u8,
    /// Duplicate address detection has not finished: it cannot be used yet.
    pub tentative: bool,
}

/// An address to add. IPv6 ones skip duplicate address detection and can be used immediately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewAddress {
    /// The address.
    pub ip: IpAddr,
    /// Length of the network's prefix in bits.
    pub prefix: u8,
}

impl Netlink {
    /// Adds an address to an interface.
    pub fn add_address(&mut self, ifindex: Ifindex, address: NewAddress) -> Result<()> {
        let NewAddress { ip, prefix } = address;
        let mut message = AddressMessage::default();
        message.header.family = family(ip);
        message.header.prefix_len = prefix;
        message.header.index = ifindex.0;
        message.header.scope =
            if ip.is_loopback() { AddressScope::Host } else { AddressScope::Universe };
        message.attributes = vec![AddressAttribute::Local(ip), AddressAttribute::Address(ip)];
        if ip.is_ipv6() {
            message.header.flags = AddressHeaderFlags::Nodad;
            message.attributes.push(AddressAttribute::Flags(AddressFlags::Nodad));
        }
        let object = format!("{ip}/{prefix} on {}", self.name_of(ifindex));
        let message = RouteNetlinkMessage::NewAddress(message);
        self.ask("rtnetlink(RTM_NEWADDR)", &object, &message, NLM_F_CREATE | NLM_F_EXCL)?;
        Ok(())
    }

    /// Addresses of all interfaces of the namespace.
    pub fn addresses(&mut self) -> Result<Vec<Address>> {
        let message = RouteNetlinkMessage::GetAddress(AddressMessage::default());
        let replies = self.ask("rtnetlink(RTM_GETADDR)", "", &message, NLM_F_DUMP)?;
        Ok(replies
            .iter()
            .filter(|reply| reply.kind == libc::RTM_NEWADDR)
            .filter_map(|reply| AddressMessage::parse(&reply.payload).ok())
            .filter_map(|message| Address::from_message(&message))
            .collect())
    }
}

impl Address {
    fn from_message(message: &AddressMessage) -> Option<Self> {
        let mut ip = None;
        let mut flags = AddressFlags::empty();
        for attribute in &message.attributes {
            match attribute {
                AddressAttribute::Local(local) => ip = Some(*local),
                AddressAttribute::Address(address) => ip = ip.or(Some(*address)),
                AddressAttribute::Flags(all) => flags = *all,
                _ => {}
            }
        }
        Some(Self {
            ifindex: Ifindex(message.header.index),
            ip: ip?,
            prefix: message.header.prefix_len,
            tentative: flags.contains(AddressFlags::Tentative),
        })
    }
}

pub(super) fn family(ip: IpAddr) -> AddressFamily {
    if ip.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}
