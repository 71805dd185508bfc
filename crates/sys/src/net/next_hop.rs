//! The next hop of a destination through one interface, chosen from routes as they are listed.
//!
//! Not here: policy rules and table numbers, which only the kernel's own lookup follows; the next
//! hop's hardware address (`neighbour`).

use std::cmp::Reverse;
use std::net::IpAddr;

use super::{Ifindex, TableRoute};

impl TableRoute {
    /// The address to which frames for `to` go when they leave through this interface: a gateway,
    /// or `to` itself where it is on the link. `None` if no route leads there.
    pub fn next_hop(routes: &[Self], to: IpAddr, through: Ifindex) -> Option<(&Self, IpAddr)> {
        let route = Self::best(routes, to, through)?;
        let hop = route.hops.iter().find(|hop| hop.ifindex == through)?;
        Some((route, hop.via.unwrap_or(to)))
    }

    /// Selects the unicast route through the interface with the longest prefix, then with the
    /// lowest metric, then the first.
    fn best(routes: &[Self], to: IpAddr, through: Ifindex) -> Option<&Self> {
        let leads_there = |route: &&Self| {
            route.kind == libc::RTN_UNICAST
                && packet::network_contains(route.to, route.prefix, to)
                && route.hops.iter().any(|hop| hop.ifindex == through)
        };
        let order = |route: &&Self| (Reverse(route.prefix), route.metric);
        routes.iter().filter(leads_there).min_by_key(order)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Hop;
    use super::*;

    fn route(to: &str, prefix: u8, metric: u32, ifindex: u32, via: Option<&str>) -> TableRoute {
        let via = via.map(|via| via.parse().unwrap());
        TableRoute {
            to: to.parse().unwrap(),
            prefix,
            kind: libc::RTN_UNICAST,
            table: 254,
            tos: 0,
            metric,
            source: None,
            locked_mtu: None,
            hops: vec![Hop { ifindex: Ifindex(ifindex), via, weight: 1 }],
            besides: None,
        }
    }

    #[test]
    fn the_longest_prefix_then_the_lowest_metric_wins() {
        let routes = [
            route("0.0.0.0", 0, 600, 2, Some("10.0.0.9")),
            route("0.0.0.0", 0, 100, 2, Some("10.0.0.1")),
            route("0.0.0.0", 0, 100, 2, Some("10.0.0.2")),
            route("0.0.0.0", 0, 0, 3, Some("10.1.0.1")),
            route("10.0.0.0", 8, 900, 2, None),
            route("10.0.0.0", 24, 0, 3, None),
            TableRoute { kind: libc::RTN_BLACKHOLE, ..route("1.0.0.0", 8, 0, 2, None) },
            route("fd00::", 64, 0, 2, None),
        ];
        for (through, to, hop) in [
            (2, "1.1.1.1", Some("10.0.0.1")),
            (3, "1.1.1.1", Some("10.1.0.1")),
            (2, "10.5.0.1", Some("10.5.0.1")),
            (3, "10.0.0.1", Some("10.0.0.1")),
            (4, "10.0.0.1", None),
            (2, "fd00::7", Some("fd00::7")),
            (2, "fd01::7", None),
        ] {
            let found = TableRoute::next_hop(&routes, to.parse().unwrap(), Ifindex(through));
            let wanted = hop.map(|hop| hop.parse().unwrap());
            assert_eq!(found.map(|(_, hop)| hop), wanted, "{to} through {through}");
        }
    }
}
