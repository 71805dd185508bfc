//! Interfaces, routes, rules and neighbours.

use std::collections::BTreeMap;
use std::net::IpAddr;

use packet::AddressPrefix;
use sys::Result;
use sys::net::{Link, Netlink, TableRoute, TableRule};
use sys::netns::NetNs;
use vm::World;
use vm::world::{
    Interface, Mark, Neighbour, NeighbourState, NextHop, Route, RouteKind, Rule, RuleFamily,
    TableId,
};

use super::{Omission, Snapshot};

/// Names of interfaces by number.
type Names = BTreeMap<u32, String>;

pub(super) fn network() -> Result<Snapshot> {
    let mut netlink = Netlink::open()?;
    let links = netlink.links()?;
    let names: Names = links.iter().map(|link| (link.ifindex.0, link.name.clone())).collect();
    let mut omitted = Vec::new();
    let interfaces = interfaces(&mut netlink, &links, &mut omitted)?;
    let routes = netlink.table_routes()?;
    let routes = keep(&routes, &mut omitted, |found| route(found, &names));
    let rules = netlink.table_rules()?;
    let rules: Vec<_> = rules.into_iter().filter(|rule| !is_built_in(rule)).collect();
    let rules = keep(&rules, &mut omitted, rule);
    let neighbours = netlink.neighbours()?;
    let neighbours = neighbours.iter().filter_map(|found| {
        let dev = names.get(&found.ifindex.0)?.clone();
        let mac = found.mac.unwrap_or_default();
        Some(Neighbour { ip: found.ip, dev, mac, state: state(found.state)? })
    });
    let syncookies = NetNs::current()?.sysctl("ipv4/tcp_syncookies");
    let world = World {
        tcp_syncookies: syncookies.ok().and_then(|mode| mode.parse().ok()).unwrap_or(0),
        connected_routes: false,
        interfaces,
        routes,
        rules,
        neighbours: neighbours.collect(),
        ..World::default()
    };
    Ok(Snapshot { world, omitted })
}

/// Converts objects, and lists those that a world cannot represent.
fn keep<F, T>(
    found: &[F],
    omitted: &mut Vec<Omission>,
    convert: impl Fn(&F) -> std::result::Result<T, Omission>,
) -> Vec<T> {
    let mut kept = Vec::with_capacity(found.len());
    for one in found {
        match convert(one) {
            Ok(one) => kept.push(one),
            Err(omission) => omitted.push(omission),
        }
    }
    kept
}

fn interfaces(
    netlink: &mut Netlink,
    links: &[Link],
    omitted: &mut Vec<Omission>,
) -> Result<Vec<Interface>> {
    let netns = NetNs::current()?;
    let addresses = netlink.addresses()?;
    let number = |path: String| netns.sysctl(&path).ok().and_then(|text| text.parse::<u32>().ok());
    let mut interfaces = Vec::with_capacity(links.len());
    for link in links {
        let name = &link.name;
        let mtu = link.mtu.clamp(68, 65536);
        if mtu != link.mtu {
            let detail = format!("the MTU {} is replaced with {mtu}", link.mtu);
            omitted.push(Omission::new(name, detail));
        }
        if link.kind == "vrf" {
            omitted.push(Omission::new(name, "the routing table of its ports"));
        }
        let mtu_ipv6 = number(format!("ipv6/conf/{name}/mtu")).filter(|own| *own != mtu);
        let own = addresses.iter().filter(|one| one.ifindex == link.ifindex && !one.tentative);
        interfaces.push(Interface {
            mtu,
            mtu_ipv6,
            mac: link.mac.unwrap_or_default(),
            addresses: own.filter_map(|one| AddressPrefix::new(one.ip, one.prefix)).collect(),
            up: link.up,
            forward_ipv4: number(format!("ipv4/conf/{name}/forwarding")) == Some(1),
            forward_ipv6: number(format!("ipv6/conf/{name}/forwarding")) == Some(1),
            // Devices without a hardware address, such as tunnels, have no link-layer header.
            header_len: if link.mac.is_some() { ETHERNET_HEADER } else { 0 },
            ..Interface::new(link.ifindex.0, name)
        });
    }
    Ok(interfaces)
}

fn route(found: &TableRoute, names: &Names) -> std::result::Result<Route, Omission> {
    let omit = |detail: &str| {
        let object = format!("route {}/{} of table {}", found.to, found.prefix, found.table);
        Omission::new(object, detail)
    };
    if let Some(besides) = found.besides {
        return Err(omit(besides));
    }
    let to = AddressPrefix::new(found.to, found.prefix).ok_or_else(|| omit("its length"))?;
    let kind = KINDS.iter().find(|(number, _)| *number == found.kind);
    let kind = kind.ok_or_else(|| omit(&format!("its type {}", found.kind)))?.1;
    let name = |ifindex| names.get(&ifindex).cloned();
    let mut route = Route {
        metric: found.metric,
        source: found.source,
        mtu: found.locked_mtu,
        tos: found.tos,
        ..Route::new(to).kind(kind).table(TableId(found.table))
    };
    match found.hops.as_slice() {
        [] if kind.has_device() => return Err(omit("its next hop")),
        [] => {}
        [hop] => (route.via, route.dev) = (hop.via, name(hop.ifindex.0)),
        several => {
            let hops = several.iter();
            let hops = hops.map(|hop| NextHop {
                via: hop.via,
                dev: name(hop.ifindex.0),
                weight: hop.weight,
            });
            route.next_hops = hops.collect();
        }
    }
    Ok(route)
}

/// The rules that Linux starts with, which every world has.
fn is_built_in(rule: &TableRule) -> bool {
    let plain = TableRule {
        ipv6: rule.ipv6,
        priority: rule.priority,
        table: rule.table,
        ..TableRule::default()
    };
    let fixed = [(0, TableId::LOCAL), (32766, TableId::MAIN), (32767, TableId::DEFAULT)];
    *rule == plain && fixed.contains(&(rule.priority, TableId(rule.table)))
}

fn rule(found: &TableRule) -> std::result::Result<Rule, Omission> {
    if let Some(besides) = found.besides {
        let object = format!("rule {} to table {}", found.priority, found.table);
        return Err(Omission::new(object, besides));
    }
    let prefix =
        |network: Option<(IpAddr, u8)>| network.and_then(|(ip, len)| AddressPrefix::new(ip, len));
    Ok(Rule {
        family: if found.ipv6 { RuleFamily::Ipv6 } else { RuleFamily::Ipv4 },
        from: prefix(found.from),
        to: prefix(found.to),
        iif: found.iif.clone(),
        oif: found.oif.clone(),
        mark: (found.mask != 0).then_some(Mark { value: found.mark, mask: found.mask }),
        ..Rule::new(found.priority, TableId(found.table))
    })
}

fn state(number: u16) -> Option<NeighbourState> {
    STATES.iter().find(|(known, _)| *known == number).map(|(_, state)| *state)
}

/// States of a neighbor by the kernel's number (`NUD_*`).
const STATES: [(u16, NeighbourState); 8] = [
    (0x01, NeighbourState::Incomplete),
    (0x02, NeighbourState::Reachable),
    (0x04, NeighbourState::Stale),
    (0x08, NeighbourState::Delay),
    (0x10, NeighbourState::Probe),
    (0x20, NeighbourState::Failed),
    (0x40, NeighbourState::Noarp),
    (0x80, NeighbourState::Permanent),
];

/// Kinds of routes by the kernel's number (`RTN_*`).
const KINDS: [(u8, RouteKind); 9] = [
    (1, RouteKind::Unicast),
    (2, RouteKind::Local),
    (3, RouteKind::Broadcast),
    (4, RouteKind::Anycast),
    (5, RouteKind::Multicast),
    (6, RouteKind::Blackhole),
    (7, RouteKind::Unreachable),
    (8, RouteKind::Prohibit),
    (9, RouteKind::Throw),
];
const ETHERNET_HEADER: u32 = 14;
