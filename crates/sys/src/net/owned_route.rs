//! `OwnedRoute`: routes that one program owns, which their protocol number names.
//!
//! They are blackhole routes, in a table that no rule selects: the kernel decides nothing by them.
//! They inform programs that read the table, such as routing daemons.

use std::net::IpAddr;

use netlink_packet_core::{NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, Parseable};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use super::Netlink;
use super::address::family;
use super::route::{ip, unspecified};
use crate::error::Result;

/// A blackhole route of one owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OwnedRoute {
    /// Routing table.
    pub table: u32,
    /// Destination network.
    pub to: IpAddr,
    /// Length of the destination's prefix in bits.
    pub prefix: u8,
    /// Number of the owner, as in `/etc/iproute2/rt_protos`.
    pub protocol: u8,
}

impl Netlink {
    /// Adds a route.
    ///
    /// # Errors
    /// The table has a route to this network, or `CAP_NET_ADMIN` is missing.
    pub fn add_owned_route(&mut self, route: OwnedRoute) -> Result<()> {
        let message = RouteNetlinkMessage::NewRoute(route.message());
        let flags = NLM_F_CREATE | NLM_F_EXCL;
        self.ask("rtnetlink(RTM_NEWROUTE)", &route.object(), &message, flags)?;
        Ok(())
    }

    /// Removes a route; it is not an error if there is none. Routes of other owners remain.
    pub fn remove_owned_route(&mut self, route: OwnedRoute) -> Result<()> {
        let message = RouteNetlinkMessage::DelRoute(route.message());
        match self.ask("rtnetlink(RTM_DELROUTE)", &route.object(), &message, 0) {
            Err(error) if !error.is(libc::ESRCH) => Err(error),
            _ => Ok(()),
        }
    }

    /// The routes of an owner, in one table or in all. The kernel selects them, so that tables with
    /// a million other routes are not copied.
    pub fn owned_routes(&mut self, protocol: u8, table: Option<u32>) -> Result<Vec<OwnedRoute>> {
        let mut routes = Vec::new();
        for family in [AddressFamily::Inet, AddressFamily::Inet6] {
            let message = RouteNetlinkMessage::GetRoute(request(family, protocol, table));
            let selects = |is_on| {
                let set = self.conversation.socket.set_netlink_get_strict_chk(is_on);
                let call = "setsockopt(NETLINK_GET_STRICT_CHK)";
                set.map_err(|error| crate::Error::from_io(call, "", &error))
            };
            selects(true)?;
            let replies = self.ask("rtnetlink(RTM_GETROUTE)", "", &message, NLM_F_DUMP);
            let socket = &self.conversation.socket;
            // Other requests of this socket need no selection, and are valid with it.
            let _ = socket.set_netlink_get_strict_chk(false);
            let replies = match replies {
                // A table that was never used.
                Err(error) if error.is(libc::ENOENT) => continue,
                other => other?,
            };
            let listed = replies.iter().filter(|reply| reply.kind == libc::RTM_NEWROUTE);
            let listed = listed.filter_map(|reply| RouteMessage::parse(&reply.payload).ok());
            let listed = listed.filter_map(|message| OwnedRoute::from_message(&message));
            let is_meant = |one: &OwnedRoute| {
                one.protocol == protocol && table.is_none_or(|table| one.table == table)
            };
            routes.extend(listed.filter(is_meant));
        }
        Ok(routes)
    }
}

/// A request for the routes of an owner. Of the attributes, the kernel permits the table alone.
fn request(family: AddressFamily, protocol: u8, table: Option<u32>) -> RouteMessage {
    let mut message = RouteMessage::default();
    message.header = RouteHeader {
        address_family: family,
        protocol: RouteProtocol::from(protocol),
        kind: RouteType::BlackHole,
        ..RouteHeader::default()
    };
    message.attributes = table.map(RouteAttribute::Table).into_iter().collect();
    message
}

impl OwnedRoute {
    fn message(&self) -> RouteMessage {
        let mut message = RouteMessage::default();
        message.header = RouteHeader {
            address_family: family(self.to),
            destination_prefix_length: self.prefix,
            protocol: RouteProtocol::from(self.protocol),
            scope: RouteScope::Universe,
            kind: RouteType::BlackHole,
            ..RouteHeader::default()
        };
        message.attributes = vec![
            RouteAttribute::Destination(RouteAddress::from(self.to)),
            RouteAttribute::Table(self.table),
        ];
        message
    }

    fn from_message(message: &RouteMessage) -> Option<Self> {
        let header = &message.header;
        let mut route = Self {
            table: u32::from(header.table),
            to: unspecified(header.address_family)?,
            prefix: header.destination_prefix_length,
            protocol: header.protocol.into(),
        };
        for attribute in &message.attributes {
            match attribute {
                RouteAttribute::Destination(to) => route.to = ip(to)?,
                RouteAttribute::Table(table) => route.table = *table,
                _ => {}
            }
        }
        (header.kind == RouteType::BlackHole).then_some(route)
    }

    /// What an error calls it.
    fn object(&self) -> String {
        format!("blackhole {}/{} table {}", self.to, self.prefix, self.table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::emitted;

    fn route(to: &str, prefix: u8, table: u32) -> OwnedRoute {
        OwnedRoute { table, to: to.parse().unwrap(), prefix, protocol: 120 }
    }

    /// `struct rtmsg` and attributes (include/uapi/linux/rtnetlink.h), on a machine whose lowest
    /// byte is the first.
    #[cfg(target_endian = "little")]
    #[test]
    fn messages_are_those_of_the_kernel() {
        let v4 = [
            // Family, lengths of destination and source, TOS, table, protocol, scope, type, flags.
            &[2, 24, 0, 0, 0, 120, 0, 6, 0, 0, 0, 0][..],
            &[8, 0, 1, 0, 192, 0, 2, 0], // RTA_DST
            &[8, 0, 15, 0, 77, 0, 0, 0], // RTA_TABLE
        ];
        assert_eq!(emitted(&route("192.0.2.0", 24, 77).message()), v4.concat());
        let v6 = [
            &[10, 128, 0, 0, 0, 120, 0, 6, 0, 0, 0, 0][..],
            &[20, 0, 1, 0, 0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
            &[8, 0, 15, 0, 0, 0x28, 0x6b, 0xee],
        ];
        assert_eq!(emitted(&route("2001:db8::1", 128, 4_000_000_000).message()), v6.concat());
        let one = [&[2, 0, 0, 0, 0, 120, 0, 6, 0, 0, 0, 0][..], &[8, 0, 15, 0, 77, 0, 0, 0]];
        assert_eq!(emitted(&request(AddressFamily::Inet, 120, Some(77))), one.concat());
        let all = [10, 0, 0, 0, 0, 120, 0, 6, 0, 0, 0, 0];
        assert_eq!(emitted(&request(AddressFamily::Inet6, 120, None)), all);
    }

    #[test]
    fn what_is_listed_is_read_as_it_was_added() {
        for route in
            [route("192.0.2.1", 32, 77), route("2001:db8::", 32, 100_000), route("0.0.0.0", 0, 1)]
        {
            let bytes = emitted(&route.message());
            let message = RouteMessage::parse(&bytes).unwrap();
            assert_eq!(OwnedRoute::from_message(&message), Some(route));
        }
        let mut other = route("192.0.2.1", 32, 77).message();
        other.header.kind = RouteType::Unicast;
        assert_eq!(OwnedRoute::from_message(&other), None, "of another kind");
    }
}
