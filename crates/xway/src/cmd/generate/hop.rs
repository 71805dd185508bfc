//! The next hop: to which Ethernet address frames for a destination go, through one interface.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use packet::Mac;
use sys::net::{Ifindex, Link, Neighbour, Netlink, TableRoute};
use sys::signal::Stop;

/// Resolves the next hop by the routes and neighbors of this namespace; the kernel resolves an
/// unknown neighbor. Only routes through `link` count, since frames are sent there.
pub fn resolve(netlink: &mut Netlink, link: &Link, to: IpAddr, stop: &Stop) -> Result<Mac> {
    if let Some(mac) = of_group(to) {
        return Ok(mac);
    }
    let routes = netlink.table_routes()?;
    let Some((_, hop)) = TableRoute::next_hop(&routes, to, link.ifindex) else {
        bail!(
            "no route to {to} leads through {}: add one, or give the next hop's address by \
             --dst-mac",
            link.name
        );
    };
    let end = Instant::now() + PATIENCE;
    let mut asked = false;
    loop {
        match neighbour(&netlink.neighbours()?, link.ifindex, hop) {
            Some(Neighbour { mac: Some(mac), .. }) => return Ok(mac),
            Some(known) if asked && known.has_failed() => break,
            _ => {}
        }
        if !asked {
            netlink.ask_neighbour(link.ifindex, hop)?;
            asked = true;
        }
        if Instant::now() >= end {
            break;
        }
        if stop.wait(POLL_INTERVAL)?.is_some() {
            bail!("stopped before {hop} had answered");
        }
    }
    bail!(
        "{hop} does not answer on {}: is it there, and the link up? Its address can be given by \
         --dst-mac",
        link.name
    )
}

/// Broadcast and multicast addresses are their own next hop (RFC 1112, RFC 2464).
fn of_group(to: IpAddr) -> Option<Mac> {
    match to {
        IpAddr::V4(v4) if v4.is_broadcast() => Some(Mac::BROADCAST),
        IpAddr::V4(v4) if v4.is_multicast() => {
            let [_, b, c, d] = v4.octets();
            Some(Mac([0x01, 0x00, 0x5e, b & 0x7f, c, d]))
        }
        IpAddr::V6(v6) if v6.is_multicast() => {
            let octets = v6.octets();
            Some(Mac([0x33, 0x33, octets[12], octets[13], octets[14], octets[15]]))
        }
        _ => None,
    }
}

fn neighbour(all: &[Neighbour], on: Ifindex, ip: IpAddr) -> Option<Neighbour> {
    let mut fitting = all.iter().filter(|one| one.ifindex == on && one.ip == ip);
    fitting.next().copied()
}

/// The kernel asks three times, a second apart.
const PATIENCE: Duration = Duration::from_secs(4);
const POLL_INTERVAL: Duration = Duration::from_millis(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_have_addresses_of_their_own() {
        for (to, mac) in [
            ("255.255.255.255", Some("ff:ff:ff:ff:ff:ff")),
            ("239.129.2.3", Some("01:00:5e:01:02:03")),
            ("ff02::1:ff00:7", Some("33:33:ff:00:00:07")),
            ("10.0.0.255", None),
            ("fd00::1", None),
        ] {
            let mac = mac.map(|mac: &str| mac.parse().unwrap());
            assert_eq!(of_group(to.parse().unwrap()), mac, "{to}");
        }
    }
}
