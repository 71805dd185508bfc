//! Selection of the source address of a host.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::device::{Address, is_link_local, scope};
use super::{Device, Devices, Net, Path, RouteEntry, bits};

impl Net {
    /// IPv4: the route's own source, else an address of its interface: preferably in the router's
    /// network, else any with a sufficient scope. Unspecified if there is none.
    pub fn source_ipv4(&self, route: &RouteEntry, path: Path) -> Ipv4Addr {
        if let Some(IpAddr::V4(source)) = route.source {
            return source;
        }
        let device = self.devices.at(path.device);
        let near = device.and_then(|device| of_device(device, path.gateway, route.scope));
        let any = || self.devices.iter().find_map(|device| far_reaching(device, route.scope));
        near.or_else(any).unwrap_or(Ipv4Addr::UNSPECIFIED)
    }

    /// IPv6: the route's own source, else the best by RFC 6724 section 5 (rules 1, 2, 5, 6, 8).
    pub fn source_ipv6(&self, route: &RouteEntry, device: u32, to: Ipv6Addr) -> Option<Ipv6Addr> {
        if let Some(IpAddr::V6(source)) = route.source {
            return Some(source);
        }
        best_ipv6(&self.devices, device, to)
    }
}

fn primary(device: &Device) -> impl Iterator<Item = (&Address, Ipv4Addr)> {
    device.addresses.iter().filter(|own| !own.secondary).filter_map(|own| match own.ip {
        IpAddr::V4(v4) => Some((own, v4)),
        IpAddr::V6(_) => None,
    })
}

fn of_device(device: &Device, gateway: Option<IpAddr>, reach: u8) -> Option<Ipv4Addr> {
    let fitting = || primary(device).filter(move |(own, _)| own.scope <= reach);
    let near = match gateway {
        Some(gateway) => fitting().find(|(own, _)| own.has(gateway)),
        None => None,
    };
    near.or_else(|| fitting().next()).map(|(_, ip)| ip)
}

fn far_reaching(device: &Device, reach: u8) -> Option<Ipv4Addr> {
    let mut fitting =
        primary(device).filter(|(own, _)| own.scope != scope::LINK && own.scope <= reach);
    fitting.next().map(|(_, ip)| ip)
}

fn best_ipv6(devices: &Devices, out: u32, to: Ipv6Addr) -> Option<Ipv6Addr> {
    let own_only = reach(to) <= REACH_LINK;
    let mut best: Option<(Score, Ipv6Addr)> = None;
    for device in devices.iter().filter(|device| !own_only || device.index == out) {
        for own in &device.addresses {
            let IpAddr::V6(ip) = own.ip else { continue };
            let score = score(ip, own.length, device.index == out, to);
            if best.is_none_or(|(other, _)| score > other) {
                best = Some((score, ip));
            }
        }
    }
    best.map(|(_, ip)| ip)
}

/// Compared in this order: same address, sufficient scope, interface, label, no ORCHID for others,
/// number of common bits.
type Score = (bool, i32, bool, bool, bool, u32);

fn score(own: Ipv6Addr, length: u8, same_device: bool, to: Ipv6Addr) -> Score {
    let reaches = match reach(own) {
        enough if enough >= reach(to) => -enough,
        short => short - 128,
    };
    let same_label = label(own) == label(to);
    let same_orchid = is_orchid(own) == is_orchid(to);
    let common = bits::common(own.to_bits(), to.to_bits()).min(length.into());
    (own == to, reaches, same_device, same_label, same_orchid, common)
}

/// Scope of an address (RFC 4007); loopback has that of a link, an unspecified address none.
fn reach(ip: Ipv6Addr) -> i32 {
    match ip {
        ip if ip.is_unspecified() => -1,
        ip if ip.is_loopback() || is_link_local(ip) => REACH_LINK,
        ip if ip.is_multicast() => i32::from(ip.segments()[0] & 0xf),
        ip if ip.segments()[0] & 0xffc0 == 0xfec0 => REACH_SITE,
        _ => REACH_GLOBAL,
    }
}

/// Default label of an address in Linux: longest prefix of its policy table.
fn label(ip: Ipv6Addr) -> u32 {
    let found =
        LABELS.iter().find(|(prefix, length, _)| bits::cut(ip.to_bits() ^ prefix, *length) == 0);
    found.map_or(1, |(_, _, label)| *label)
}

fn is_orchid(ip: Ipv6Addr) -> bool {
    bits::cut(ip.to_bits() ^ (0x2001_0010 << 96), 28) == 0
}

const REACH_LINK: i32 = 2;
const REACH_SITE: i32 = 5;
const REACH_GLOBAL: i32 = 14;

/// `net/ipv6/addrlabel.c` at v6.18, longest prefixes first.
const LABELS: [(u128, u8, u32); 9] = [
    (1, 128, 0),
    (0, 96, 3),
    (0xffff << 32, 96, 4),
    (0x2001_0000 << 96, 32, 6),
    (0x2001_0010 << 96, 28, 7),
    (0x3ffe << 112, 16, 12),
    (0x2002 << 112, 16, 2),
    (0xfec0 << 112, 10, 11),
    (0xfc00 << 112, 7, 5),
];
