//! The routing tables and policy rules in full, as forwarding decisions see them.
//!
//! Not here: adding routes and the short list of unicast ones (`route`).

use std::net::IpAddr;

use netlink_packet_core::{NLM_F_DUMP, Parseable};
use netlink_packet_route::route::{RouteAttribute, RouteMessage, RouteMetric, RouteVia};
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use super::route::{ip, unspecified};
use super::{Ifindex, Netlink};
use crate::error::Result;

/// A route of any kind, with all that decides whether and where it leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableRoute {
    /// Destination network.
    pub to: IpAddr,
    /// Length of the destination's prefix in bits.
    pub prefix: u8,
    /// `RTN_*`.
    pub kind: u8,
    /// Routing table.
    pub table: u32,
    /// Type of service that packets must have; 0 for any.
    pub tos: u8,
    /// The lowest wins.
    pub metric: u32,
    /// Address that packets from here take.
    pub source: Option<IpAddr>,
    /// MTU that path MTU discovery cannot change.
    pub locked_mtu: Option<u32>,
    /// None for routes that lead nowhere, several where flows are spread.
    pub hops: Vec<Hop>,
    /// What this structure has no field for: the route depends on it.
    pub besides: Option<&'static str>,
}

/// One way of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Outgoing interface.
    pub ifindex: Ifindex,
    /// Gateway; `None` for a directly connected network.
    pub via: Option<IpAddr>,
    /// Share of the flows, from 1.
    pub weight: u32,
}

/// A policy rule that names a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableRule {
    /// Whether the rule is for IPv6.
    pub ipv6: bool,
    /// Priority; rules with lower numbers are evaluated first.
    pub priority: u32,
    /// Routing table that the rule selects.
    pub table: u32,
    /// Source network with the length of its prefix.
    pub from: Option<(IpAddr, u8)>,
    /// Destination network with the length of its prefix.
    pub to: Option<(IpAddr, u8)>,
    /// Names of interfaces.
    pub iif: Option<String>,
    /// Outgoing interface of local sockets.
    pub oif: Option<String>,
    /// Firewall mark to compare.
    pub mark: u32,
    /// Bits of the firewall mark that are compared.
    pub mask: u32,
    /// Routes with short prefixes, or through a group of interfaces, are not used.
    pub suppresses: bool,
    /// What this structure has no field for: the rule depends on it.
    pub besides: Option<&'static str>,
}

impl Netlink {
    /// Routes of all tables and kinds, both families, in the kernel's order.
    pub fn table_routes(&mut self) -> Result<Vec<TableRoute>> {
        Ok(self.route_messages()?.iter().filter_map(TableRoute::from_message).collect())
    }

    /// Policy rules of both families, in the order that they are tried.
    pub fn table_rules(&mut self) -> Result<Vec<TableRule>> {
        let mut rules = Vec::new();
        for family in [AddressFamily::Inet, AddressFamily::Inet6] {
            let mut message = RuleMessage::default();
            message.header.family = family;
            let message = RouteNetlinkMessage::GetRule(message);
            let replies = self.ask("rtnetlink(RTM_GETRULE)", "", &message, NLM_F_DUMP)?;
            let parsed = replies
                .iter()
                .filter(|reply| reply.kind == libc::RTM_NEWRULE)
                .filter_map(|reply| RuleMessage::parse(&reply.payload).ok());
            rules.extend(parsed.map(|message| TableRule::from_message(&message)));
        }
        Ok(rules)
    }
}

impl TableRoute {
    pub(super) fn from_message(message: &RouteMessage) -> Option<Self> {
        let header = &message.header;
        let mut route = Self {
            to: unspecified(header.address_family)?,
            prefix: header.destination_prefix_length,
            kind: header.kind.into(),
            table: u32::from(header.table),
            tos: header.tos,
            metric: 0,
            source: None,
            locked_mtu: None,
            hops: Vec::new(),
            besides: (header.source_prefix_length > 0).then_some("a source network"),
        };
        let mut hop = Hop { ifindex: Ifindex(0), via: None, weight: 1 };
        for attribute in &message.attributes {
            match attribute {
                RouteAttribute::Destination(to) => route.to = ip(to)?,
                RouteAttribute::Oif(ifindex) => hop.ifindex = Ifindex(*ifindex),
                RouteAttribute::Table(table) => route.table = *table,
                RouteAttribute::Priority(metric) => route.metric = *metric,
                RouteAttribute::PrefSource(source) => route.source = ip(source),
                RouteAttribute::Metrics(metrics) => route.locked_mtu = locked_mtu(metrics),
                RouteAttribute::Encap(_) => route.besides = Some("encapsulation"),
                RouteAttribute::MultiPath(hops) => {
                    route.hops = hops
                        .iter()
                        .map(|one| Hop {
                            ifindex: Ifindex(one.interface_index),
                            via: one.attributes.iter().find_map(gateway),
                            weight: u32::from(one.hops) + 1,
                        })
                        .collect();
                }
                other => hop.via = gateway(other).or(hop.via),
            }
        }
        if route.hops.is_empty() && (hop.via.is_some() || hop.ifindex.0 != 0) {
            route.hops.push(hop);
        }
        Some(route)
    }
}

fn gateway(attribute: &RouteAttribute) -> Option<IpAddr> {
    match attribute {
        RouteAttribute::Gateway(via) => ip(via),
        RouteAttribute::Via(RouteVia::Inet(v4)) => Some((*v4).into()),
        RouteAttribute::Via(RouteVia::Inet6(v6)) => Some((*v6).into()),
        _ => None,
    }
}

fn locked_mtu(metrics: &[RouteMetric]) -> Option<u32> {
    let locked = metrics
        .iter()
        .any(|metric| matches!(metric, RouteMetric::Lock(bits) if bits & 1 << RTAX_MTU != 0));
    let mtu = metrics.iter().find_map(|metric| match metric {
        RouteMetric::Mtu(mtu) => Some(*mtu),
        _ => None,
    });
    mtu.filter(|_| locked)
}

impl TableRule {
    fn from_message(message: &RuleMessage) -> Self {
        let header = &message.header;
        let mut rule = Self {
            ipv6: header.family == AddressFamily::Inet6,
            table: header.table.into(),
            besides: match (header.action, header.tos) {
                (RuleAction::ToTable, 0) => None,
                (RuleAction::ToTable, _) => Some("a type of service"),
                _ => Some("an action other than a table"),
            },
            ..Self::default()
        };
        let mut mask = None;
        for attribute in &message.attributes {
            match attribute {
                RuleAttribute::Source(from) => rule.from = Some((*from, header.src_len)),
                RuleAttribute::Destination(to) => rule.to = Some((*to, header.dst_len)),
                RuleAttribute::Iifname(name) => rule.iif = Some(name.clone()),
                RuleAttribute::Oifname(name) => rule.oif = Some(name.clone()),
                RuleAttribute::Priority(priority) => rule.priority = *priority,
                RuleAttribute::Table(table) => rule.table = *table,
                RuleAttribute::FwMark(mark) => rule.mark = *mark,
                RuleAttribute::FwMask(bits) => mask = Some(*bits),
                RuleAttribute::SuppressPrefixLen(u32::MAX) | RuleAttribute::Protocol(_) => {}
                RuleAttribute::Other(_) => {}
                RuleAttribute::SuppressPrefixLen(_) | RuleAttribute::SuppressIfGroup(_) => {
                    rule.suppresses = true;
                    rule.besides = rule.besides.or(Some("the length of routes' prefixes"));
                }
                _ => rule.besides = rule.besides.or(Some("ports, users, tunnels or the like")),
            }
        }
        rule.mask = mask.unwrap_or(if rule.mark == 0 { 0 } else { u32::MAX });
        rule
    }
}

/// Number of the MTU among a route's metrics, and its bit in their lock.
const RTAX_MTU: u32 = 2;
