//! The routing tables.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use netlink_packet_core::{Emitable, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, Parseable};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteNextHop, RouteProtocol,
    RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use super::address::family;
use super::batch::Batch;
use super::{Ifindex, Netlink};
use crate::error::Result;

/// A unicast route to add.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewRoute {
    /// Destination network; its family is the route's.
    pub to: IpAddr,
    /// Length of the destination's prefix in bits.
    pub prefix: u8,
    /// Gateway; `None` for a directly connected network.
    pub via: Option<IpAddr>,
    /// Outgoing interface.
    pub ifindex: Ifindex,
    /// 254 is the main table.
    pub table: u32,
}

/// A route as listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// Destination network.
    pub to: IpAddr,
    /// Length of the destination's prefix in bits.
    pub prefix: u8,
    /// Gateway; `None` for a directly connected network.
    pub via: Option<IpAddr>,
    /// `None` for routes without one interface: blackhole, several next hops.
    pub ifindex: Option<Ifindex>,
    /// Routing table.
    pub table: u32,
}

impl NewRoute {
    /// Number of the main routing table.
    pub const MAIN: u32 = 254;

    /// In the main table.
    pub fn new(to: IpAddr, prefix: u8, ifindex: Ifindex) -> Self {
        Self { to, prefix, via: None, ifindex, table: Self::MAIN }
    }

    /// Sets the gateway.
    #[must_use]
    pub fn via(mut self, gateway: IpAddr) -> Self {
        self.via = Some(gateway);
        self
    }

    fn message(&self) -> RouteMessage {
        let mut message = RouteMessage::default();
        message.header = RouteHeader {
            address_family: family(self.to),
            destination_prefix_length: self.prefix,
            protocol: RouteProtocol::Static,
            scope: if self.via.is_some() { RouteScope::Universe } else { RouteScope::Link },
            kind: RouteType::Unicast,
            ..RouteHeader::default()
        };
        if self.to.is_ipv6() {
            message.header.scope = RouteScope::Universe;
        }
        message.attributes = vec![
            RouteAttribute::Destination(RouteAddress::from(self.to)),
            RouteAttribute::Oif(self.ifindex.0),
            RouteAttribute::Table(self.table),
        ];
        let via = self.via.map(|via| RouteAttribute::Gateway(RouteAddress::from(via)));
        message.attributes.extend(via);
        message
    }

    /// What an error calls it.
    fn object(&self) -> String {
        let via = self.via.map_or(String::new(), |via| format!(" via {via}"));
        format!("{}/{}{via}", self.to, self.prefix)
    }
}

impl Netlink {
    /// Adds a route.
    pub fn add_route(&mut self, route: NewRoute) -> Result<()> {
        let (object, message) = (route.object(), RouteNetlinkMessage::NewRoute(route.message()));
        self.ask(CALL, &object, &message, NLM_F_CREATE | NLM_F_EXCL)?;
        Ok(())
    }

    /// Adds a route with several next hops on the route's interface, each as often as the others;
    /// the route's own gateway is ignored.
    pub fn add_multipath(&mut self, route: NewRoute, gateways: &[IpAddr]) -> Result<()> {
        let route = NewRoute { via: None, ..route };
        let mut message = route.message();
        message.header.scope = RouteScope::Universe;
        message.attributes.retain(|attribute| !matches!(attribute, RouteAttribute::Oif(_)));
        let hop = |gateway: &IpAddr| {
            let mut hop = RouteNextHop::default();
            hop.interface_index = route.ifindex.0;
            hop.attributes = vec![RouteAttribute::Gateway(RouteAddress::from(*gateway))];
            hop
        };
        message.attributes.push(RouteAttribute::MultiPath(gateways.iter().map(hop).collect()));
        let message = RouteNetlinkMessage::NewRoute(message);
        self.ask(CALL, &route.object(), &message, NLM_F_CREATE | NLM_F_EXCL)?;
        Ok(())
    }

    /// Adds a route of the main table that drops the packets to a network.
    pub fn add_blackhole(&mut self, to: IpAddr, prefix: u8) -> Result<()> {
        let route = NewRoute::new(to, prefix, Ifindex(0));
        let mut message = route.message();
        message.header.kind = RouteType::BlackHole;
        message.header.scope = RouteScope::Universe;
        message.attributes.retain(|attribute| !matches!(attribute, RouteAttribute::Oif(_)));
        let message = RouteNetlinkMessage::NewRoute(message);
        self.ask(CALL, &route.object(), &message, NLM_F_CREATE | NLM_F_EXCL)?;
        Ok(())
    }

    /// Removes one that was added like this.
    pub fn remove_route(&mut self, route: NewRoute) -> Result<()> {
        let (object, message) = (route.object(), RouteNetlinkMessage::DelRoute(route.message()));
        self.ask("rtnetlink(RTM_DELROUTE)", &object, &message, 0)?;
        Ok(())
    }

    /// Many routes, about a thousand with each system call: for tables as large as the Internet's.
    ///
    /// # Errors
    /// The first error. Routes before the rejected one were added, later ones may have been.
    pub fn add_routes(&mut self, routes: &[NewRoute]) -> Result<()> {
        let mut batch = Batch::new(CALL, libc::RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL);
        let mut first = 0;
        for (number, route) in routes.iter().enumerate() {
            let message = route.message();
            batch.push(message.buffer_len(), |payload| message.emit(payload));
            if batch.is_full() || number + 1 == routes.len() {
                let object =
                    |place| routes.get(first + place).map_or_else(String::new, NewRoute::object);
                self.conversation.send_batch(&mut batch, object)?;
                first = number + 1;
            }
        }
        Ok(())
    }

    /// Whether packets to `ip` end in this namespace, as the routing tables have it now.
    pub fn is_local(&mut self, ip: IpAddr) -> Result<bool> {
        let mut message = RouteMessage::default();
        message.header.address_family = family(ip);
        message.header.destination_prefix_length = if ip.is_ipv4() { 32 } else { 128 };
        message.attributes = vec![RouteAttribute::Destination(RouteAddress::from(ip))];
        let message = RouteNetlinkMessage::GetRoute(message);
        match self.ask("rtnetlink(RTM_GETROUTE)", &ip.to_string(), &message, 0) {
            Ok(replies) => Ok(replies
                .iter()
                .filter_map(|reply| RouteHeader::parse(&reply.payload).ok())
                .any(|header| header.kind == RouteType::Local)),
            Err(error) if error.is(libc::ENETUNREACH) || error.is(libc::EHOSTUNREACH) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Unicast routes of all tables, both families.
    pub fn routes(&mut self) -> Result<Vec<Route>> {
        Ok(self
            .route_messages()?
            .iter()
            .filter(|message| message.header.kind == RouteType::Unicast)
            .filter_map(Route::from_message)
            .collect())
    }

    /// The kernel's reply to a request for all routes.
    pub(super) fn route_messages(&mut self) -> Result<Vec<RouteMessage>> {
        let message = RouteNetlinkMessage::GetRoute(RouteMessage::default());
        let replies = self.ask("rtnetlink(RTM_GETROUTE)", "", &message, NLM_F_DUMP)?;
        Ok(replies
            .iter()
            .filter(|reply| reply.kind == libc::RTM_NEWROUTE)
            .filter_map(|reply| RouteMessage::parse(&reply.payload).ok())
            .collect())
    }
}

impl Route {
    fn from_message(message: &RouteMessage) -> Option<Self> {
        let mut route = Self {
            to: unspecified(message.header.address_family)?,
            prefix: message.header.destination_prefix_length,
            via: None,
            ifindex: None,
            table: u32::from(message.header.table),
        };
        for attribute in &message.attributes {
            match attribute {
                RouteAttribute::Destination(to) => route.to = ip(to)?,
                RouteAttribute::Gateway(via) => route.via = ip(via),
                RouteAttribute::Oif(ifindex) => route.ifindex = Some(Ifindex(*ifindex)),
                RouteAttribute::Table(table) => route.table = *table,
                _ => {}
            }
        }
        Some(route)
    }
}

pub(super) fn unspecified(family: AddressFamily) -> Option<IpAddr> {
    match family {
        AddressFamily::Inet => Some(Ipv4Addr::UNSPECIFIED.into()),
        AddressFamily::Inet6 => Some(Ipv6Addr::UNSPECIFIED.into()),
        _ => None,
    }
}

pub(super) fn ip(address: &RouteAddress) -> Option<IpAddr> {
    match address {
        RouteAddress::Inet(v4) => Some((*v4).into()),
        RouteAddress::Inet6(v6) => Some((*v6).into()),
        _ => None,
    }
}

const CALL: &str = "rtnetlink(RTM_NEWROUTE)";
