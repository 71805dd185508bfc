//! What the programs must know of the host and cannot ask the kernel's lookup for: its own IPv4
//! addresses, what of routes and rules the lookup ignores, and what ICMP errors state about its
//! interfaces.
//!
//! Rule: by the first two, packets are left to the stack, which decides; so what is too many costs
//! speed only. `xway daemon` follows all changes (`route_memory`).

use std::borrow::Borrow;
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use functions::route::{self, Ignored};
use kernel::Map;
use sys::net::{Address, Deciding, Link, Netlink, RouteEvents};

use super::extensions;
use crate::error::{Error, Result};

/// The state when a router starts.
#[derive(Debug)]
pub(crate) struct HostFacts {
    links: Vec<Link>,
    addresses: Vec<Address>,
    ignored: Ignored,
}

impl HostFacts {
    /// Reads all interfaces, addresses and routes of the namespace of the calling thread.
    pub fn read() -> Result<Self> {
        let mut netlink = Netlink::open()?;
        let (links, addresses) = (netlink.links()?, netlink.addresses()?);
        Ok(Self { links, addresses, ignored: ignored()? })
    }

    /// Writes them into the maps of a router, which has its ports.
    pub fn write<M: Borrow<Map>, E>(
        &self,
        map: impl Fn(&'static str) -> std::result::Result<M, E>,
    ) -> Result<()>
    where
        Error: From<E>,
    {
        route::set_own(map(route::OWN)?.borrow(), &own_addresses(&self.addresses))?;
        self.ignored.write(map(route::CONTROL)?.borrow())?;
        let (ports, errors) = (map(route::PORTS)?, map(route::EXTENSIONS)?);
        extensions::update(&self.links, &self.addresses, [ports.borrow(), errors.borrow()])
    }
}

/// IPv4 addresses of the host, and the broadcast addresses of its networks: whether packets from
/// the latter are forwarded depends on the kernel's rules.
pub(crate) fn own_addresses(addresses: &[Address]) -> Vec<Ipv4Addr> {
    addresses.iter().flat_map(refused).collect()
}

fn refused(address: &Address) -> Vec<Ipv4Addr> {
    let IpAddr::V4(own) = address.ip else { return Vec::new() };
    let host_bits = u32::MAX.checked_shr(address.prefix.into()).unwrap_or(0);
    if host_bits < 3 {
        return vec![own];
    }
    let network = own.to_bits() & !host_bits;
    vec![own, network.into(), (network | host_bits).into()]
}

/// Nothing if routes change all the time: then the daemon finds it.
fn ignored() -> Result<Ignored> {
    let mut events = RouteEvents::open()?;
    events.listen()?;
    let until = Instant::now() + PATIENCE;
    loop {
        events.take()?;
        match events.deciding() {
            Some(deciding) => return Ok(of_lookup(deciding)),
            None if Instant::now() >= until => return Ok(Ignored::default()),
            None if events.is_incomplete() => events.synchronize()?,
            None => {
                let _ = sys::poll::readable(
                    events.fd(),
                    until.saturating_duration_since(Instant::now()),
                )?;
            }
        }
    }
}

/// What of the present routes and rules the kernel's lookup ignores.
pub(crate) fn of_lookup(deciding: Deciding) -> Ignored {
    let [route_mtu4, route_mtu6] = deciding.route_mtus;
    Ignored { route_mtu4, route_mtu6, leaves6: deciding.suppresses6 }
}

/// Time for a full table: a million routes take a second.
const PATIENCE: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use sys::net::Ifindex;

    use super::*;

    #[test]
    fn an_address_has_the_broadcast_addresses_of_its_network() {
        let refused = |ip: [u8; 4], prefix| {
            let ip = IpAddr::from(ip);
            refused(&Address { ifindex: Ifindex(1), ip, prefix, tentative: false })
        };
        let host = |last| Ipv4Addr::new(10, 0, 1, last);
        assert_eq!(refused([10, 0, 1, 5], 24), [host(5), host(0), host(255)]);
        assert_eq!(refused([10, 0, 1, 5], 30), [host(5), host(4), host(7)]);
        assert_eq!(refused([10, 0, 1, 5], 31), [host(5)]);
        assert_eq!(refused([10, 0, 1, 5], 32), [host(5)]);
        assert_eq!(refused([127, 0, 0, 1], 0).len(), 3);
    }
}
