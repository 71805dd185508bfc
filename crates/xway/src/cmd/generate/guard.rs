//! Keeps a user from cutting off his own SSH session: what would flood the interface that carries
//! it is refused, unless he insists.

use std::net::IpAddr;

use anyhow::{Result, bail};
use packet::network_contains;
use sys::net::{Address, Ifindex, Link, Netlink, Route, underneath};
use traffic::Rate;

/// Addresses of both ends of an SSH session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Session {
    client: IpAddr,
    server: IpAddr,
}

/// Refuses a rate above [`GENTLE`] on the interface that carries this process's session.
/// `bytes` is the mean length of a frame.
pub fn check(dev: &str, peak: Rate, bytes: f64) -> Result<()> {
    if is_gentle(peak, bytes) {
        return Ok(());
    }
    if let Some(client) = carried(dev)? {
        bail!(
            "{dev} carries your own SSH session (from {client}): a rate above {GENTLE_PPS} frames \
             or {} Mbit a second could cut you off; choose a lower --rate, another --dev, or say \
             --force",
            GENTLE_BPS / 1e6,
        );
    }
    Ok(())
}

/// Who has the SSH session of this process, if an interface of that name carries it.
pub fn carried(dev: &str) -> Result<Option<IpAddr>> {
    let Some(session) = session() else { return Ok(None) };
    let mut netlink = Netlink::open()?;
    let links = netlink.links()?;
    let Some(link) = links.iter().find(|link| link.name == dev) else { return Ok(None) };
    let surroundings = (netlink.addresses()?, netlink.routes()?);
    Ok(carries(link.ifindex, &links, &surroundings, session).then_some(session.client))
}

fn is_gentle(peak: Rate, bytes: f64) -> bool {
    let (pps, bps) = match peak {
        Rate::PacketsPerSecond(pps) => (pps, pps * bytes * 8.0),
        Rate::BitsPerSecond(bps) => (bps / (bytes.max(1.0) * 8.0), bps),
        Rate::Max => return false,
    };
    pps <= GENTLE_PPS && bps <= GENTLE_BPS
}

pub fn session() -> Option<Session> {
    Session::parse(&connection()?)
}

/// The variable `SSH_CONNECTION` of this process's environment, else of that of the processes it
/// was started by: `sudo` removes the variable.
pub fn connection() -> Option<String> {
    if let Ok(text) = std::env::var(VARIABLE) {
        return Some(text);
    }
    let above = |pid: &u32| sys::proc::parent(*pid);
    let ancestors = std::iter::successors(Some(std::process::id()), above).take(ANCESTORS);
    let mut found = ancestors.filter_map(|pid| sys::proc::variable(pid, VARIABLE));
    found.find(|text| Session::parse(text).is_some())
}

impl Session {
    /// `CLIENT PORT SERVER PORT`.
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let client = address(words.next()?)?;
        let server = address(words.nth(1)?)?;
        Some(Self { client, server })
    }
}

/// Without a zone, and IPv4 as such.
fn address(word: &str) -> Option<IpAddr> {
    let plain = word.split('%').next()?;
    Some(plain.parse::<IpAddr>().ok()?.to_canonical())
}

/// Whether packets of the session pass this interface: it has the server's address, lies below the
/// one that has it (bridge, bond, VLAN), or leads to the client. A session that ends in another
/// namespace passes none of this one's.
fn carries(
    dev: Ifindex,
    links: &[Link],
    (addresses, routes): &(Vec<Address>, Vec<Route>),
    session: Session,
) -> bool {
    let owner = addresses.iter().find(|address| address.ip == session.server);
    let Some(owner) = owner.map(|address| address.ifindex) else { return false };
    let covering =
        routes.iter().filter(|route| network_contains(route.to, route.prefix, session.client));
    let out = covering.max_by_key(|route| route.prefix).and_then(|route| route.ifindex);
    [Some(owner), out].into_iter().flatten().any(|used| underneath(used, links).contains(&dev))
}

/// A session lives beside this much.
const GENTLE_PPS: f64 = 10_000.0;
const GENTLE_BPS: f64 = 10e6;
const VARIABLE: &str = "SSH_CONNECTION";
/// Processes between the user's shell and this one.
const ANCESTORS: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: &str = "192.0.2.7 50122 10.0.0.1 22";

    fn link(index: u32, master: Option<u32>, lower: Option<u32>, kind: &str) -> Link {
        Link {
            ifindex: Ifindex(index),
            master: master.map(Ifindex),
            peer: lower.map(Ifindex),
            kind: kind.to_owned(),
            ..Link::default()
        }
    }

    fn route(to: &str, prefix: u8, ifindex: u32) -> Route {
        let to = to.parse().unwrap();
        Route { to, prefix, via: None, ifindex: Some(Ifindex(ifindex)), table: 254 }
    }

    #[test]
    fn sessions_are_read() {
        let session = Session::parse(SESSION).unwrap();
        assert_eq!(session.server, "10.0.0.1".parse::<IpAddr>().unwrap());
        let mapped = Session::parse("fe80::1%eth0 1 ::ffff:10.0.0.1 22").unwrap();
        assert_eq!(mapped.server, session.server);
        for wrong in ["", "192.0.2.7", "192.0.2.7 1", "a b c d"] {
            assert_eq!(Session::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn interfaces_on_the_way_are_found() {
        // 2 and 3 in bond 4, VLAN 5 on it has the server's address; 6 leads to the client; 7 is
        // another one, 8 and 9 a veth pair.
        let links = [
            link(2, Some(4), None, ""),
            link(3, Some(4), None, ""),
            link(4, None, None, "bond"),
            link(5, None, Some(4), "vlan"),
            link(6, None, None, ""),
            link(7, None, None, ""),
            link(8, None, Some(7), "veth"),
        ];
        let ip = "10.0.0.1".parse().unwrap();
        let at = |ifindex| Address { ifindex: Ifindex(ifindex), ip, prefix: 24, tentative: false };
        let routes = vec![route("0.0.0.0", 0, 7), route("192.0.2.0", 24, 6)];
        let session = Session::parse(SESSION).unwrap();
        for (owner, dev, carried) in [
            (5, 5, true),
            (5, 4, true),
            (5, 2, true),
            (5, 3, true),
            (5, 6, true),
            (5, 7, false),
            (8, 8, true),
            (8, 7, false),
        ] {
            let surroundings = (vec![at(owner)], routes.clone());
            let found = carries(Ifindex(dev), &links, &surroundings, session);
            assert_eq!(found, carried, "server at {owner}, sending from {dev}");
        }
        let elsewhere = (Vec::new(), routes);
        assert!(!carries(Ifindex(6), &links, &elsewhere, session), "another namespace's session");
    }

    #[test]
    fn little_is_allowed() {
        for (rate, bytes, gentle) in [
            (Rate::Max, 60.0, false),
            (Rate::PacketsPerSecond(10_000.0), 60.0, true),
            (Rate::PacketsPerSecond(10_001.0), 60.0, false),
            (Rate::PacketsPerSecond(10_000.0), 1514.0, false),
            (Rate::BitsPerSecond(1e6), 60.0, true),
            (Rate::BitsPerSecond(1e9), 1514.0, false),
        ] {
            assert_eq!(is_gentle(rate, bytes), gentle, "{rate:?} of {bytes} bytes");
        }
    }
}
