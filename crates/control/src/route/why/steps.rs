//! The steps that led to a verdict: what the program decided, and how the kernel routes the packet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use packet::dissect::dissect;
use packet::{IpPacket, Limits};
use packet::{IpProtocol, network_contains, word};
use serde::Serialize;
use sys::net::{Hop, Link, Neighbour, Netlink, RouteDecision, RouteQuery, TableRoute, TableRule};

use crate::error::Result;

/// A step on the way to the verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// `program`: what the program did; `rule`, `table`, `route` and `neighbor`: what the kernel
    /// has for the packet; `refused`: the kernel's error instead; `rewrite`: the changed fields;
    /// `answer`: the ICMP error that the program sends.
    pub step: &'static str,
    /// What was decided.
    pub text: String,
}

/// What was found about a packet.
#[derive(Debug, Default)]
pub struct Explained {
    pub next_hop: Option<IpAddr>,
    pub steps: Vec<Step>,
}

impl Explained {
    fn add(&mut self, step: &'static str, text: String) {
        self.steps.push(Step { step, text });
    }
}

/// Explains a verdict of the program about a packet, which it may have changed.
///
/// # Errors
/// The kernel's tables cannot be read.
pub fn explain(
    (verdict, reason): (&str, &str),
    [before, after]: [&[u8]; 2],
    (link, mark): (&Link, u32),
    links: &[Link],
) -> Result<Explained> {
    let mut explained = Explained::default();
    explained.add("program", format!("{verdict}: {reason}, {}", meaning(reason)));
    let is_answered = reason.starts_with(ANSWERED);
    // The route is that of the packet as it is translated.
    if let Some(query) = query(if is_answered { before } else { after }, link, mark) {
        kernel(&mut explained, &query, link, links)?;
    }
    if is_answered {
        explained.add("answer", dissect(after).summary);
    } else if before != after {
        explained.add("rewrite", rewrite(before, after));
    }
    Ok(explained)
}

/// How the kernel routes the packet.
fn kernel(
    explained: &mut Explained,
    query: &RouteQuery,
    link: &Link,
    links: &[Link],
) -> Result<()> {
    let mut netlink = Netlink::open()?;
    let RouteDecision { route, hop } = match netlink.decide(query) {
        Ok(decision) => decision,
        Err(error) => {
            explained.add("refused", error.to_string());
            return Ok(());
        }
    };
    let rules = netlink.table_rules()?;
    if let Some(rule) = rules.iter().find(|rule| applies(rule, query, link, route.table)) {
        explained.add("rule", rule_text(rule));
    }
    explained.add("table", table_name(route.table));
    explained.add("route", route_text(&route, links));
    let Some(hop) = hop.filter(|_| route.kind == RTN_UNICAST) else { return Ok(()) };
    let via = hop.via.unwrap_or(query.to);
    explained.next_hop = Some(via);
    let known = netlink.neighbours()?;
    let known = known.iter().find(|one| one.ifindex == hop.ifindex && one.ip == via);
    explained.add("neighbor", neighbour_text(via, hop, known, links));
    Ok(())
}

/// The packet as the kernel's tables see it; `None` if it is not IP.
pub(super) fn query(frame: &[u8], link: &Link, mark: u32) -> Option<RouteQuery> {
    let packet = IpPacket::find(frame, Limits::default()).ok()?;
    let addresses = frame.get(packet.addresses())?;
    let (from, to) = addresses.split_at(addresses.len() / 2);
    let header = frame.get(packet.network..)?;
    let class = match packet.is_ipv6 {
        true => (word(header, 0)? >> 4) as u8,
        false => *header.get(1)?,
    };
    let is_whole = packet.fragment == Default::default();
    let has_ports = matches!(packet.protocol, IpProtocol::TCP | IpProtocol::UDP);
    let ports = [0, 2].map(|offset| word(frame, packet.transport + offset));
    let service = match ports {
        [Some(source), Some(destination)] if is_whole && has_ports => {
            Some((packet.protocol.0, source, destination))
        }
        _ => None,
    };
    let tos = class & DSCP;
    let flow_label = match packet.is_ipv6 {
        true => u32::from_be_bytes(*header.first_chunk()?) & FLOW_LABEL,
        false => 0,
    };
    let (to, from, iif) = (address(to)?, address(from)?, link.ifindex);
    Some(RouteQuery { to, from, iif, tos, service, mark, flow_label })
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    if let Ok(v4) = <[u8; 4]>::try_from(bytes) {
        return Some(Ipv4Addr::from(v4).into());
    }
    <[u8; 16]>::try_from(bytes).ok().map(|v6| Ipv6Addr::from(v6).into())
}

/// Whether it can be the rule that selected the table: the kernel does not report which did. A
/// condition that is not known here counts as true.
fn applies(rule: &TableRule, query: &RouteQuery, link: &Link, table: u32) -> bool {
    let has = |network: Option<(IpAddr, u8)>, ip: IpAddr| {
        network.is_none_or(|(network, bits)| network_contains(network, bits, ip))
    };
    rule.ipv6 == query.to.is_ipv6()
        && rule.table == table
        && has(rule.from, query.from)
        && has(rule.to, query.to)
        && rule.iif.as_ref().is_none_or(|name| *name == link.name)
        && rule.oif.is_none()
        && (rule.mark ^ query.mark) & rule.mask == 0
}

fn rule_text(rule: &TableRule) -> String {
    let mut text = format!("{}:", rule.priority);
    let network = |(ip, bits): (IpAddr, u8)| format!("{ip}/{bits}");
    text += &format!(" from {}", rule.from.map_or_else(|| "all".to_owned(), network));
    if let Some(to) = rule.to {
        text += &format!(" to {}", network(to));
    }
    if let Some(iif) = &rule.iif {
        text += &format!(" iif {iif}");
    }
    if rule.mask != 0 {
        text += &format!(" fwmark {:#x}/{:#x}", rule.mark, rule.mask);
    }
    if let Some(besides) = rule.besides {
        text += &format!(" by {besides}");
    }
    text + &format!(" lookup {}", table_name(rule.table))
}

fn table_name(table: u32) -> String {
    match table {
        253 => "default".to_owned(),
        254 => "main".to_owned(),
        255 => "local".to_owned(),
        other => other.to_string(),
    }
}

fn route_text(route: &TableRoute, links: &[Link]) -> String {
    let kind = match route.kind {
        RTN_UNICAST => String::new(),
        other => format!("{} ", kind_name(other)),
    };
    let mut text = match route.prefix {
        0 => format!("{kind}default"),
        bits => format!("{kind}{}/{bits}", route.to),
    };
    for hop in &route.hops {
        if route.hops.len() > 1 {
            text += " nexthop";
        }
        if let Some(via) = hop.via {
            text += &format!(" via {via}");
        }
        text += &format!(" dev {}", name_of(hop, links));
        if route.hops.len() > 1 {
            text += &format!(" weight {}", hop.weight);
        }
    }
    if route.metric > 0 {
        text += &format!(" metric {}", route.metric);
    }
    if let Some(besides) = route.besides {
        text += &format!(" with {besides}");
    }
    text
}

fn kind_name(kind: u8) -> &'static str {
    const NAMES: [&str; 10] = [
        "unspecified",
        "unicast",
        "local",
        "broadcast",
        "anycast",
        "multicast",
        "blackhole",
        "unreachable",
        "prohibit",
        "throw",
    ];
    NAMES.get(usize::from(kind)).copied().unwrap_or("unknown")
}

fn name_of(hop: &Hop, links: &[Link]) -> String {
    let link = links.iter().find(|link| link.ifindex == hop.ifindex);
    link.map_or_else(|| hop.ifindex.0.to_string(), |link| link.name.clone())
}

fn neighbour_text(via: IpAddr, hop: Hop, known: Option<&Neighbour>, links: &[Link]) -> String {
    let dev = name_of(&hop, links);
    match known {
        Some(Neighbour { mac: Some(mac), .. }) => {
            let state = known.map_or("none", Neighbour::state_name);
            format!("{via} dev {dev} lladdr {mac} {state}")
        }
        Some(known) => format!("{via} dev {dev} {}", known.state_name()),
        None => format!("{via} dev {dev} is not known"),
    }
}

/// The fields that the program changed.
fn rewrite(before: &[u8], after: &[u8]) -> String {
    let [old, new] = [before, after].map(dissect);
    let shape = |one: &packet::dissect::Dissection| {
        one.layers.iter().map(|layer| (layer.name.clone(), layer.range.clone())).collect::<Vec<_>>()
    };
    if shape(&old) != shape(&new) {
        return format!("to {}", new.summary);
    }
    let layers = old.layers.iter().zip(&new.layers);
    let changed = layers.flat_map(|(old, new)| {
        let fields = old.fields.iter().zip(&new.fields).filter(|(old, new)| old != new);
        fields.map(|(was, is)| format!("{}.{} {} to {}", old.name, was.name, was.value, is.value))
    });
    changed.collect::<Vec<_>>().join(", ")
}

/// What a reason means for the packet.
fn meaning(reason: &str) -> &'static str {
    let known = MEANINGS.iter().find(|(name, _)| *name == reason);
    known.map_or("decided by the program", |(_, meaning)| meaning)
}

const MEANINGS: [(&str, &str); 32] = [
    ("sent-time-exceeded", "its TTL or hop limit is used up, which the program answers"),
    ("sent-unreachable", "the route answers that the destination cannot be reached"),
    ("sent-prohibited", "the route answers that the destination is prohibited"),
    ("sent-too-big", "larger than the MTU, which the program answers"),
    ("icmp-limit", "an ICMP error would be sent, but the limit of them is reached"),
    ("unanswerable", "cannot be forwarded, and no ICMP error may be sent about it"),
    ("reverse-path", "no route to its source, or one through another interface"),
    ("no-headroom", "no space before the frame for the VLAN tags to send it with"),
    ("forwarded", "sent to the next hop"),
    ("blackhole", "the route drops it"),
    ("unreachable", "the route answers that the destination cannot be reached"),
    ("prohibit", "the route answers that the destination is prohibited"),
    ("not-forwarded", "for this host, or without a route: the stack decides"),
    ("forwarding-off", "the interface does not forward (sysctl `forwarding`)"),
    ("encapsulates", "the route encapsulates, which only the stack can"),
    ("no-neighbour", "the stack resolves the address of the next hop"),
    ("too-big", "larger than the MTU: the stack fragments it or answers"),
    ("no-source", "the kernel has no source address for the route"),
    ("fib-error", "the kernel's lookup failed"),
    ("no-egress", "the egress interface is not one of the router's"),
    ("not-ip", "neither IPv4 nor IPv6: the stack's"),
    ("tagged", "in a VLAN that the router has no port for: the stack's"),
    ("not-routable", "multicast, broadcast, link-local or a loopback address: the stack's"),
    ("options", "IPv4 options or IPv6 extension headers: the stack's"),
    ("ttl-expired", "its TTL or hop limit is used up"),
    ("fragment", "a fragment, which no translation of the whole address covers"),
    ("no-translation", "translation is required, and there is none"),
    ("untranslatable", "a translation applies that this protocol cannot have here"),
    ("other-host", "sent to another MAC address than that of the interface"),
    ("truncated", "it ends within a header"),
    ("bad-header", "a header is malformed"),
    ("too-many-tags", "it has too many VLAN tags"),
];
/// How reasons begin for which the program sends an ICMP error.
pub(super) const ANSWERED: &str = "sent-";
/// Bits of the type of service that routes may depend on.
const DSCP: u8 = 0xfc;
/// Bits of the flow label in the first word of the IPv6 header.
const FLOW_LABEL: u32 = 0xf_ffff;
pub(super) const RTN_UNICAST: u8 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn routes_are_written_as_ip_writes_them() {
        let hop =
            |via: &str, weight| Hop { ifindex: sys::net::Ifindex(9), via: Some(ip(via)), weight };
        let mut route = TableRoute {
            to: ip("10.9.0.0"),
            prefix: 16,
            kind: RTN_UNICAST,
            table: 254,
            tos: 0,
            metric: 7,
            source: None,
            locked_mtu: None,
            hops: vec![hop("10.0.2.2", 1)],
            besides: None,
        };
        assert_eq!(route_text(&route, &[]), "10.9.0.0/16 via 10.0.2.2 dev 9 metric 7");
        route.hops.push(hop("10.0.2.3", 2));
        let text = route_text(&route, &[]);
        assert!(text.contains("nexthop via 10.0.2.3 dev 9 weight 2"), "{text}");
        let none = TableRoute { kind: 6, prefix: 0, metric: 0, hops: Vec::new(), ..route };
        assert_eq!(route_text(&none, &[]), "blackhole default");
    }
}
