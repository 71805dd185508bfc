//! What ICMP errors state about the interfaces of a router (RFC 5837).

use std::net::IpAddr;

use functions::route::{self, Interface};
use kernel::Map;
use sys::net::{Address, Link};

use crate::error::Result;

/// Brings the extensions of a router's ports to these interfaces.
pub(super) fn update(
    links: &[Link],
    addresses: &[Address],
    [ports, extensions]: [&Map; 2],
) -> Result<()> {
    let interfaces: Vec<_> = links.iter().map(|link| interface(link, addresses)).collect();
    route::update_extensions(&interfaces, ports, extensions)?;
    Ok(())
}

/// The first address of each family, as `ip address` lists them, and rather a global one.
pub(super) fn interface(link: &Link, addresses: &[Address]) -> Interface {
    let mut own: Vec<IpAddr> = addresses
        .iter()
        .filter(|address| address.ifindex == link.ifindex && !address.tentative)
        .map(|address| address.ip)
        .collect();
    own.sort_by_key(|ip| matches!(ip, IpAddr::V6(v6) if v6.is_unicast_link_local()));
    Interface {
        ifindex: link.ifindex.0,
        name: link.name.clone(),
        mtu: link.mtu,
        ipv4: own.iter().find_map(|ip| if let IpAddr::V4(v4) = ip { Some(*v4) } else { None }),
        ipv6: own.iter().find_map(|ip| if let IpAddr::V6(v6) = ip { Some(*v6) } else { None }),
    }
}

#[cfg(test)]
mod tests {
    use sys::net::Ifindex;

    use super::*;

    #[test]
    fn global_addresses_are_preferred() {
        let address = |ifindex, ip: &str| Address {
            ifindex: Ifindex(ifindex),
            ip: ip.parse().unwrap(),
            prefix: 24,
            tentative: ip == "2001:db8::9",
        };
        let all = [
            address(7, "fe80::7"),
            address(7, "2001:db8::9"),
            address(7, "2001:db8::7"),
            address(8, "10.0.0.8"),
            address(7, "10.0.0.7"),
            address(7, "10.0.0.9"),
        ];
        let link = |ifindex| Link { ifindex: Ifindex(ifindex), mtu: 9000, ..Link::default() };
        let found = interface(&link(7), &all);
        assert_eq!(
            (found.ipv4, found.ipv6.map(|v6| v6.to_string())),
            (Some("10.0.0.7".parse().unwrap()), Some("2001:db8::7".to_owned()),)
        );
        assert_eq!(found.mtu, 9000);
        let only = interface(&link(7), &all[..1]);
        assert_eq!((only.ipv4, only.ipv6), (None, Some("fe80::7".parse().unwrap())));
    }
}
