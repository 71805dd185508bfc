//! The path to the destination: route, next hop, hardware addresses and source address.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use packet::Mac;
use sys::net::{Ifindex, Netlink, TableRoute};

use crate::error::{Error, InterfaceReason, Result};
use crate::limits;

/// The parts of a path that headers contain.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// The interface.
    pub ifindex: Ifindex,
    /// MTU of the interface in bytes.
    pub mtu: u32,
    /// Hardware address of the interface.
    pub mac: Mac,
    /// Hardware address of the next hop.
    pub next_hop: Mac,
    /// Source address.
    pub source: IpAddr,
}

impl Path {
    /// Finds the path through this interface, resolving the next hop's hardware address if
    /// necessary.
    ///
    /// # Errors
    /// [`Error::Interface`] when no route to the destination uses this interface, or when it has no
    /// address to send from; [`Error::NoNeighbor`] when the next hop does not answer.
    pub fn find(interface: &str, to: IpAddr, source: Option<IpAddr>) -> Result<Self> {
        let refused = |reason| Error::interface(interface, reason);
        let mut netlink = Netlink::open()?;
        let link = netlink.link(interface)?;
        if !link.running {
            return Err(refused(InterfaceReason::NoCarrier));
        }
        if netlink.is_local(to)? {
            return Err(refused(InterfaceReason::LocalDestination { destination: to }));
        }
        let routes = netlink.table_routes()?;
        let found = TableRoute::next_hop(&routes, to, link.ifindex);
        let no_route = || refused(InterfaceReason::NoRoute { destination: to });
        let (route, via) = found.ok_or_else(no_route)?;
        let source = match source.or(route.source) {
            Some(source) => source,
            None => own(&mut netlink, link.ifindex, to)?
                .ok_or_else(|| refused(InterfaceReason::NoSource { destination: to }))?,
        };
        let mac = link.mac.ok_or_else(|| refused(InterfaceReason::NoMac))?;
        let next_hop = resolve(&mut netlink, link.ifindex, via)?;
        Ok(Self { ifindex: link.ifindex, mtu: link.mtu, mac, next_hop, source })
    }
}

/// The interface's first address of the destination's family.
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
    while start.elapsed() < limits::NEIGHBOR {
        let entry = known(netlink)?;
        if let Some(mac) = entry.and_then(|entry| entry.mac) {
            return Ok(mac);
        }
        if entry.is_some_and(|entry| entry.has_failed()) {
            break;
        }
        std::thread::sleep(LOOK_EVERY);
    }
    Err(Error::NoNeighbor { peer: ip })
}

/// Interval of checks for the next hop's hardware address.
const LOOK_EVERY: Duration = Duration::from_millis(5);
