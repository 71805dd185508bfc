//! The forwarding decision of one address family: rules, tables, and the best path of a route.
//!
//! Two properties of Linux matter: without custom rules the IPv4 tables `local` and `main` are one,
//! so that the longest prefix of both wins; and among routes of one metric IPv6 *prefers* the
//! requested interface, where IPv4 requires it.

use std::collections::HashMap;

use packet::AddressPrefix;

use super::device::scope;
use super::flow::Flow;
use super::policy::Policy;
use super::table::{Path, RouteEntry, Routes, Table};
use super::{Devices, bits};
use crate::world::{Error, Route, RouteKind, TableId, World};

/// The tables of one family.
#[derive(Debug)]
pub(crate) struct Fib {
    ipv4: bool,
    tables: HashMap<TableId, Table>,
    policies: Vec<Policy>,
    /// Whether there are custom rules.
    custom: bool,
}

/// Why there is no path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Miss {
    /// No route, or one that continues the search.
    Nothing,
    Blackhole,
    Unreachable,
    Prohibited,
}

type Found<'a> = Result<(&'a RouteEntry, Path), Miss>;

impl Fib {
    pub fn new(world: &World, devices: &Devices, ipv4: bool) -> Result<Self, Error> {
        let policies = Policy::all(&world.rules, devices, ipv4);
        let custom = world.rules.iter().any(|rule| rule.is_for(ipv4));
        let mut fib = Self { ipv4, tables: HashMap::new(), policies, custom };
        if world.connected_routes {
            fib.connect(devices);
        }
        for (route, at) in world.routes.iter().zip(0..) {
            if route.to.is_ipv4() == ipv4 {
                let entry = entry(route, devices).map_err(|error| error.error(at))?;
                fib.add(route.table, entry);
            }
        }
        Ok(fib)
    }

    /// Searches one table. `None`: there is no such table.
    pub fn in_table(&self, table: TableId, flow: &Flow, devices: &Devices) -> Option<Found<'_>> {
        let id = if table.0 == 0 { TableId::MAIN } else { table };
        Some(self.search(self.tables.get(&self.merged(id))?, flow, devices))
    }

    /// Searches the tables that the rules name.
    pub fn by_rules(&self, flow: &Flow, devices: &Devices) -> Found<'_> {
        if self.ipv4 && !self.custom {
            return self.without_rules(flow, devices);
        }
        for policy in self.policies.iter().filter(|policy| policy.matches(flow)) {
            match self.in_table(policy.table, flow, devices) {
                None | Some(Err(Miss::Nothing)) => {}
                Some(found) => return found,
            }
        }
        Err(Miss::Nothing)
    }

    /// Searches the default tables. The table `default` is searched after every failure, including
    /// a blackhole.
    fn without_rules(&self, flow: &Flow, devices: &Devices) -> Found<'_> {
        let main = self.in_table(TableId::MAIN, flow, devices).unwrap_or(Err(Miss::Nothing));
        if main.is_ok() {
            return main;
        }
        self.in_table(TableId::DEFAULT, flow, devices).unwrap_or(main)
    }

    fn search<'a>(&'a self, table: &'a Table, flow: &Flow, devices: &Devices) -> Found<'a> {
        for routes in table.matching(flow.destination) {
            let found = if self.ipv4 {
                first(routes, flow, devices)
            } else {
                best(routes, flow, devices).map(Ok)
            };
            if let Some(found) = found {
                return found;
            }
        }
        Err(Miss::Nothing)
    }

    /// The path of a route that a flow takes. Linux hashes with a secret; here the choice depends
    /// on the addresses alone. A requested path is kept.
    pub fn choose(&self, route: &RouteEntry, found: Path, flow: &Flow, devices: &Devices) -> Path {
        let several = route.paths.len() > 1;
        if !several || flow.oif != 0 {
            return found;
        }
        let live = || route.paths.iter().filter(|path| devices.is_up(path.device));
        let total: u64 = live().map(|path| u64::from(path.weight)).sum();
        let mut share = (total * hash(flow)) >> 32;
        for path in live() {
            match share.checked_sub(path.weight.into()) {
                Some(rest) => share = rest,
                None => return *path,
            }
        }
        found
    }

    fn add(&mut self, table: TableId, mut entry: RouteEntry) {
        entry.local_table = table == TableId::LOCAL;
        let id = self.merged(table);
        self.tables.entry(id).or_default().add(entry);
    }

    fn merged(&self, table: TableId) -> TableId {
        let one = self.ipv4 && !self.custom && table == TableId::LOCAL;
        if one { TableId::MAIN } else { table }
    }

    /// Adds the routes that the addresses of interfaces imply.
    fn connect(&mut self, devices: &Devices) {
        let ipv4 = self.ipv4;
        for device in devices.iter().filter(|device| device.up) {
            for own in device.addresses.iter().filter(|own| own.ip.is_ipv4() == ipv4) {
                let to =
                    AddressPrefix::new(own.ip, own.length).unwrap_or(AddressPrefix::host(own.ip));
                for (table, kind, to) in connected(to, own.secondary, device.forward_ipv6) {
                    let metric = if ipv4 || table == TableId::LOCAL { 0 } else { 256 };
                    let paths = [Path { device: device.index, gateway: None, weight: 1 }];
                    let source = ipv4.then_some(own.ip);
                    let plain = plain(to, kind, metric);
                    self.add(table, RouteEntry { source, paths: Box::new(paths), ..plain });
                }
            }
        }
    }
}

/// Tables, types and destinations of the routes that an address implies.
fn connected(
    own: AddressPrefix,
    secondary: bool,
    forwards: bool,
) -> Vec<(TableId, RouteKind, AddressPrefix)> {
    let network = own.network();
    let host = AddressPrefix::host(own.address());
    let loopback = own.address().is_loopback();
    let mut routes = vec![(TableId::LOCAL, RouteKind::Local, host)];
    if network != host && !secondary {
        routes.push(match loopback {
            true => (TableId::LOCAL, RouteKind::Local, network),
            false => (TableId::MAIN, RouteKind::Unicast, network),
        });
    }
    if own.is_ipv4() && own.length() < 31 && !secondary {
        let last = bits::of(network.address()) | !bits::cut(u128::MAX, own.length());
        let last = AddressPrefix::host(bits::address(last, true));
        routes.push((TableId::LOCAL, RouteKind::Broadcast, last));
    }
    if !own.is_ipv4() && own.length() < 127 && forwards {
        let any = AddressPrefix::host(network.address());
        routes.push((TableId::LOCAL, RouteKind::Anycast, any));
    }
    routes
}

/// IPv4: the first route with a usable path out of the requested interface.
fn first<'a>(routes: Routes<'a>, flow: &Flow, devices: &Devices) -> Option<Found<'a>> {
    for route in routes.iter() {
        if route.tos != 0 && route.tos != flow.tos & LEGACY_TOS {
            continue;
        }
        match route.kind {
            RouteKind::Blackhole => return Some(Err(Miss::Blackhole)),
            RouteKind::Unreachable => return Some(Err(Miss::Unreachable)),
            RouteKind::Prohibit => return Some(Err(Miss::Prohibited)),
            RouteKind::Throw => return Some(Err(Miss::Nothing)),
            _ => {}
        }
        let fits =
            |path: &&Path| devices.is_up(path.device) && (flow.oif == 0 || flow.oif == path.device);
        if let Some(path) = route.paths.iter().find(fits) {
            return Some(Ok((route, *path)));
        }
    }
    None
}

/// IPv6: the route through the requested interface, of those with the lowest metric; if none is
/// usable, that of all others.
fn best<'a>(routes: Routes<'a>, flow: &Flow, devices: &Devices) -> Option<(&'a RouteEntry, Path)> {
    let lowest = routes.iter().next()?.metric;
    let pick = |lowest_only: bool| {
        let mut best: Option<(bool, &RouteEntry, Path)> = None;
        for route in routes.iter().filter(|route| (route.metric == lowest) == lowest_only) {
            for path in &route.paths {
                let alive = !route.kind.has_device() || devices.is_up(path.device);
                let wanted = flow.wanted() == 0 || flow.wanted() == path.device;
                if alive && best.is_none_or(|(other, _, _)| wanted && !other) {
                    best = Some((wanted, route, *path));
                }
            }
        }
        best.map(|(_, route, path)| (route, path))
    };
    pick(true).or_else(|| pick(false))
}

/// Hash of the addresses in 32 bits (the finalizer of SplitMix64).
fn hash(flow: &Flow) -> u64 {
    let both = flow.source ^ flow.destination.rotate_left(1);
    let mut bits = (both >> 64) as u64 ^ both as u64;
    for factor in [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb] {
        bits = (bits ^ bits >> 30).wrapping_mul(factor);
    }
    bits >> 32
}

/// A route with the numbers of its interfaces.
fn entry(route: &Route, devices: &Devices) -> Result<RouteEntry, NoInterface> {
    let mut paths = Vec::new();
    let own = (route.via, route.dev.as_ref(), 1, NoInterface { next_hop: None });
    let several = route.next_hops.iter().enumerate().map(|(at, hop)| {
        (hop.via, hop.dev.as_ref(), hop.weight, NoInterface { next_hop: Some(at) })
    });
    let several: Vec<_> = several.collect();
    for (gateway, dev, weight, error) in if several.is_empty() { vec![own] } else { several } {
        let device = match (dev, gateway) {
            (Some(name), _) => devices.index_of(name),
            (None, Some(gateway)) => devices.towards(gateway).ok_or(error)?,
            // IPv6 routes without an interface belong to the loopback interface.
            (None, None) => devices.index_of("lo"),
        };
        paths.push(Path { device, gateway, weight });
    }
    let gateway = paths.iter().any(|path| path.gateway.is_some());
    let scope = match route.kind {
        RouteKind::Local => scope::HOST,
        RouteKind::Unicast if !gateway => scope::LINK,
        RouteKind::Broadcast | RouteKind::Anycast => scope::LINK,
        _ => scope::UNIVERSE,
    };
    Ok(RouteEntry {
        tos: route.tos,
        source: route.source,
        mtu: route.mtu,
        scope,
        paths: paths.into(),
        ..plain(route.to, route.kind, route.metric)
    })
}

/// A route to a link, without paths.
fn plain(to: AddressPrefix, kind: RouteKind, metric: u32) -> RouteEntry {
    RouteEntry {
        kind,
        network: bits::of(to.network().address()),
        length: to.length(),
        metric,
        tos: 0,
        source: None,
        mtu: None,
        scope: if kind == RouteKind::Local { scope::HOST } else { scope::LINK },
        paths: Box::new([]),
        local_table: false,
    }
}

/// A gateway that is in the network of no interface: that of a route, or of one of its next hops.
struct NoInterface {
    next_hop: Option<usize>,
}

impl NoInterface {
    fn error(&self, route: usize) -> Error {
        let key = match self.next_hop {
            None => format!("routes[{route}].via"),
            Some(hop) => format!("routes[{route}].next_hops[{hop}].via"),
        };
        Error::value(key, "no interface has an address of this router's network; specify `dev`")
    }
}

/// Bits of the type of service that routes compare: `INET_DSCP_LEGACY_TOS_MASK`.
const LEGACY_TOS: u8 = 0x1c;
