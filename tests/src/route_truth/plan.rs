//! The router's surroundings, the same for both routers: ports, addresses and neighbors.
//!
//! ```text
//!   world                      router
//!   q0 ───────────────────────── p0   ingress, with a larger MTU
//!   q1, q2, q3 ───────── p1, p2, p3   egress, p2 and p3 with a smaller MTU
//! ```
//! Port N of the router is 10.0.N.1/24 and fd00:0:0:N::1/64. The world has no addresses: it sends
//! frames, and captures what leaves the router.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use packet::Mac;

/// Number of ports of a router.
pub const PORTS: u8 = 4;
/// MTU of each port, of the router's side alone where it is below 1500. Larger frames than others
/// can send come in through the first one; more than a page would need several buffers.
pub const MTUS: [u32; PORTS as usize] = [3400, 1500, 1300, 1400];
/// MTU of both sides of each port when they are made.
pub const LARGEST_MTUS: [u32; PORTS as usize] = [3400, 1500, 1500, 1500];
/// Hosts on each port whose Ethernet address the router knows; it cannot resolve any other.
pub const RESOLVED: [u8; 2] = [2, 3];
/// Hosts that routes lead through: the last one has no known Ethernet address.
pub const GATEWAYS: [u8; 3] = [2, 3, 77];

pub fn router_mac(port: u8) -> Mac {
    Mac([2, 0x78, 0x77, 0, port, 1])
}

/// Ethernet address of a resolved neighbor.
pub fn neighbor_mac(port: u8, host: u8) -> Mac {
    Mac([2, 0x78, 0x77, 1, port, host])
}

pub fn address(is_ipv6: bool, port: u8, host: u8) -> IpAddr {
    if is_ipv6 {
        Ipv6Addr::new(0xfd00, 0, 0, port.into(), 0, 0, 0, host.into()).into()
    } else {
        Ipv4Addr::new(10, 0, port, host).into()
    }
}

/// Destinations of marker packets: those of port N leave through it, in any tables and rules.
pub fn marker(is_ipv6: bool, port: u8) -> IpAddr {
    if is_ipv6 {
        Ipv6Addr::new(0xfd64, port.into(), 0, 0, 0, 0, 0, 2).into()
    } else {
        Ipv4Addr::new(100, 64, port, 2).into()
    }
}

/// Source of packets whose answers come back through port 0 in any tables: one for each case,
/// because the kernel limits IPv4 errors to each address.
pub fn client(is_ipv6: bool, case: usize) -> IpAddr {
    let [high, low] = (case as u16).to_be_bytes();
    if is_ipv6 {
        Ipv6Addr::new(0xfd64, 65, 0, 0, 0, 0, 0, case as u16).into()
    } else {
        Ipv4Addr::new(100, 65, high, low).into()
    }
}

/// Port number of markers that lead to a neighbor that does not answer.
pub const UNRESOLVED_MARKER: u8 = 9;

/// Commands of `ip -4 -batch` or `ip -6 -batch` for the routes of markers.
pub fn marker_commands(is_ipv6: bool) -> Vec<String> {
    let (all, length) = if is_ipv6 { ("fd64::/16", 32) } else { ("100.64.0.0/10", 24) };
    let mut commands = vec![format!("rule add to {all} lookup 99 pref 10")];
    for (port, gateway, egress) in
        (0..PORTS).map(|port| (port, 2, port)).chain([(UNRESOLVED_MARKER, 250, 1)])
    {
        let (to, via) = (marker(is_ipv6, port), address(is_ipv6, egress, gateway));
        let to = network(to, length);
        commands.push(format!("route add {to} via {via} dev p{egress} table 99"));
    }
    let clients = network(client(is_ipv6, 0), if is_ipv6 { 32 } else { 16 });
    commands.push(format!("route add {clients} via {} dev p0 table 99", address(is_ipv6, 0, 2)));
    commands
}

/// A prefix as text, with zeros after its length.
pub fn network(address: IpAddr, length: u8) -> String {
    let kept = |bits: u128, width: u8| match u32::from(width - length) {
        128 => 0,
        host => bits >> host << host,
    };
    match address {
        IpAddr::V4(v4) => {
            let bits = kept(u32::from(v4).into(), 32) as u32;
            format!("{}/{length}", Ipv4Addr::from(bits))
        }
        IpAddr::V6(v6) => format!("{}/{length}", Ipv6Addr::from(kept(v6.to_bits(), 128))),
    }
}
