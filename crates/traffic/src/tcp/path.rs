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
        let routes = netlink.table_routes()?;
        let found = TableRoute::next_hop(&routes, to, link.ifindex);
        let (route, via) = found.ok_or_else(|| {
            let hint = "add one, or name the interface that has it";
            refused(format!("no route to {to} leads through it; {hint}"))
        })?;
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

const LOOK_EVERY: Duration = Duration::from_millis(5);
