//! What the kernel would do with one packet: the route that decides, and the next hop of its flow.

use std::net::IpAddr;

use netlink_packet_core::{DefaultNla, Parseable};
use netlink_packet_route::AddressFamily;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::route::{RouteAddress, RouteAttribute, RouteFlags, RouteMessage};

use super::address::family;
use super::routing::{Hop, TableRoute};
use super::{Ifindex, Netlink};
use crate::error::{Error, Result};

/// A packet that arrives at an interface, by all that its route may depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteQuery {
    /// Destination address.
    pub to: IpAddr,
    /// Source address.
    pub from: IpAddr,
    /// The interface that it arrives at.
    pub iif: Ifindex,
    /// Type of service or traffic class, without the bits of ECN.
    pub tos: u8,
    /// Protocol number, source port and destination port; `None` for a packet without ports.
    pub service: Option<(u8, u16, u16)>,
    /// Firewall mark; 0 for none.
    pub mark: u32,
    /// Flow label of IPv6; kernels before Linux 6.14 ignore it.
    pub flow_label: u32,
}

/// The kernel's decision about a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteDecision {
    /// The route in its table, with all of its next hops.
    pub route: TableRoute,
    /// The next hop of this packet's flow; `None` for a route that leads nowhere.
    pub hop: Option<Hop>,
}

impl Netlink {
    /// The decision about a packet that arrives, as `ip route get` reports it, without and with
    /// `fibmatch`.
    ///
    /// # Errors
    /// The kernel refuses the packet, which includes routes of the types `unreachable`, `prohibit`
    /// and `blackhole`, and sources that fail the reverse path filter.
    pub fn decide(&mut self, query: &RouteQuery) -> Result<RouteDecision> {
        let chosen = self.query(query, RouteFlags::LookupTable)?;
        let route = self.query(query, RouteFlags::LookupTable | RouteFlags::FibMatch)?;
        Ok(RouteDecision { route, hop: chosen.hops.first().copied() })
    }

    /// The next hop of packets that this host sends to `ip`; `None` if there is no route.
    pub fn way_to(&mut self, ip: IpAddr) -> Result<Option<Hop>> {
        let mut message = RouteMessage::default();
        message.header.address_family = family(ip);
        message.header.destination_prefix_length = if ip.is_ipv4() { 32 } else { 128 };
        message.attributes = vec![RouteAttribute::Destination(RouteAddress::from(ip))];
        let message = RouteNetlinkMessage::GetRoute(message);
        match self.ask("rtnetlink(RTM_GETROUTE)", &ip.to_string(), &message, 0) {
            Ok(replies) => Ok(replies
                .iter()
                .filter_map(|reply| RouteMessage::parse(&reply.payload).ok())
                .filter_map(|message| TableRoute::from_message(&message))
                .find_map(|route| route.hops.first().copied())),
            Err(error) if error.is(libc::ENETUNREACH) || error.is(libc::EHOSTUNREACH) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn query(&mut self, query: &RouteQuery, flags: RouteFlags) -> Result<TableRoute> {
        let call = "rtnetlink(RTM_GETROUTE)";
        let object = query.to.to_string();
        let request = RouteNetlinkMessage::GetRoute(message(query, flags));
        let replies = self.ask(call, &object, &request, 0)?;
        let mut routes = replies
            .iter()
            .filter(|reply| reply.kind == libc::RTM_NEWROUTE)
            .filter_map(|reply| RouteMessage::parse(&reply.payload).ok())
            .filter_map(|message| TableRoute::from_message(&message));
        routes.next().ok_or_else(|| Error::new(call, &object, libc::ENOMSG))
    }
}

fn message(query: &RouteQuery, flags: RouteFlags) -> RouteMessage {
    let mut message = RouteMessage::default();
    let header = &mut message.header;
    header.address_family = family(query.to);
    let bits = if header.address_family == AddressFamily::Inet { 32 } else { 128 };
    (header.destination_prefix_length, header.source_prefix_length) = (bits, bits);
    header.tos = query.tos;
    header.flags = flags;
    message.attributes = vec![
        RouteAttribute::Destination(RouteAddress::from(query.to)),
        RouteAttribute::Source(RouteAddress::from(query.from)),
        RouteAttribute::Iif(query.iif.0),
    ];
    if let Some((protocol, source, destination)) = query.service {
        message.attributes.push(RouteAttribute::IpProto(protocol));
        message.attributes.push(RouteAttribute::Sport(source));
        message.attributes.push(RouteAttribute::Dport(destination));
    }
    if query.mark != 0 {
        message.attributes.push(RouteAttribute::Mark(query.mark));
    }
    if query.flow_label != 0 && query.to.is_ipv6() {
        let label = DefaultNla::new(RTA_FLOWLABEL, query.flow_label.to_be_bytes().to_vec());
        message.attributes.push(RouteAttribute::Other(label));
    }
    message
}

/// Since Linux 6.14.
const RTA_FLOWLABEL: u16 = 31;
