//! The way to the destination: which route, whose hardware address, from which of our addresses.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use packet::Mac;
use sys::net::{Ifindex, Netlink, TableRoute};

use crate::error::{Error, Result};
use crate::limits;

/// What headers need to know.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    pub ifindex: Ifindex,
    pub mtu: u32,
    pub mac: Mac,
    pub next_hop: Mac,
    pub source: IpAddr,
}

impl Path {
    /// Asks for the next hop's hardware address if need be, on this interface alone.
    ///
    /// # Errors
    /// [`Error::Interface`] when nothing leads to the destination through this interface, or when
    /// it has no address to send from; [`Error::Peer`] when the next hop does not answer.
    pub fn find(interface: &str, to: IpAddr, source: Option<IpAddr>) -> Result<Self> {
        let refused = |why: String| Error::Interface { interface: interface.to_owned(), why };
        let mut netlink = Netlink::open()?;
        let link = netlink.link(interface)?;
        if !link.running {
            return Err(refused("is down or has no carrier; set it up first".to_owned()));
        }
        if netlink.is_local(to)? {
            return Err(refused(format!("{to} is an address of this host: name another's")));
        }
        let route = best(netlink.table_routes()?, to, link.ifindex).ok_or_else(|| {
            let hint = "add one, or name the interface that has it";
            refused(format!("no route to {to} leads through it; {hint}"))
        })?;
        let hop = route.hops.iter().find(|hop| hop.ifindex == link.ifindex);
        let via = hop.and_then(|hop| hop.via).unwrap_or(to);
        let source = match source.or(route.source) {
            Some(source) => source,
            None => own(&mut netlink, link.ifindex, to)?.ok_or_else(|| {
                refused(format!("has no address to reach {to} from; add one or name a source"))
            })?,
        };
        let mac = link.mac.ok_or_else(|| refused("has no hardware address".to_owned()))?;
        let next_hop = resolve(&mut netlink, link.ifindex, via)?;
        Ok(Self { ifindex: link.ifindex, mtu: link.mtu, mac, next_hop, source })
    }
}

/// The longest prefix, then the lowest metric, of routes through the interface.
fn best(routes: Vec<TableRoute>, to: IpAddr, ifindex: Ifindex) -> Option<TableRoute> {
    let fits = |route: &TableRoute| {
        route.kind == UNICAST
            && contains(route.to, route.prefix, to)
            && route.hops.iter().any(|hop| hop.ifindex == ifindex)
    };
    let order = |route: &TableRoute| (route.prefix, u32::MAX - route.metric);
    routes.into_iter().filter(fits).max_by_key(order)
}

fn contains(network: IpAddr, prefix: u8, ip: IpAddr) -> bool {
    let prefix = u32::from(prefix);
    match (network, ip) {
        (IpAddr::V4(a), IpAddr::V4(b)) => {
            (a.to_bits() ^ b.to_bits()).checked_shr(32 - prefix).unwrap_or(0) == 0
        }
        (IpAddr::V6(a), IpAddr::V6(b)) => {
            (a.to_bits() ^ b.to_bits()).checked_shr(128 - prefix).unwrap_or(0) == 0
        }
        _ => false,
    }
}

/// The interface's first address of the destination's kind.
fn own(netlink: &mut Netlink, ifindex: Ifindex, to: IpAddr) -> Result<Option<IpAddr>> {
    let fits = |ip: IpAddr| match (ip, to) {
        (IpAddr::V4(_), IpAddr::V4(_)) => true,
        (IpAddr::V6(own), IpAddr::V6(to)) => {
            own.is_unicast_link_local() == to.is_unicast_link_local()
        }
        _ => false,
    };
    let addresses = netlink.addresses()?;
    let mut own = addresses.iter().filter(|address| address.ifindex == ifindex);
    Ok(own.find(|address| fits(address.ip)).map(|address| address.ip))
}

fn resolve(netlink: &mut Netlink, ifindex: Ifindex, ip: IpAddr) -> Result<Mac> {
    let known = |netlink: &mut Netlink| -> Result<_> {
        let entries = netlink.neighbours()?;
        Ok(entries.into_iter().find(|entry| entry.ifindex == ifindex && entry.ip == ip))
    };
    if let Some(mac) = known(netlink)?.and_then(|entry| entry.mac) {
        return Ok(mac);
    }
    netlink.ask_neighbour(ifindex, ip)?;
    let start = Instant::now();
    while start.elapsed() < limits::NEIGHBOUR {
        let entry = known(netlink)?;
        if let Some(mac) = entry.and_then(|entry| entry.mac) {
            return Ok(mac);
        }
        if entry.is_some_and(|entry| entry.has_failed()) {
            break;
        }
        std::thread::sleep(LOOK_EVERY);
    }
    let why = "does not answer ARP or neighbour discovery; is it up, and on this link?".to_owned();
    Err(Error::Peer { peer: ip.to_string(), why })
}

/// `RTN_UNICAST`.
const UNICAST: u8 = 1;
const LOOK_EVERY: Duration = Duration::from_millis(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_hold_their_addresses() {
        for (network, prefix, ip, inside) in [
            ("10.0.0.0", 24, "10.0.0.9", true),
            ("10.0.0.0", 24, "10.0.1.9", false),
            ("0.0.0.0", 0, "192.0.2.1", true),
            ("10.0.0.1", 32, "10.0.0.1", true),
            ("10.0.0.1", 32, "10.0.0.2", false),
            ("fd00::", 64, "fd00::2", true),
            ("fd00::", 64, "fd00:0:0:1::2", false),
            ("::", 0, "fd00::2", true),
            ("::", 0, "10.0.0.1", false),
        ] {
            let (network, ip) = (network.parse().unwrap(), ip.parse().unwrap());
            assert_eq!(contains(network, prefix, ip), inside, "{network}/{prefix} {ip}");
        }
    }
}
