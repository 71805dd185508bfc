//! The SSH session of this process, and the interfaces that carry it.
//!
//! Rule: a session is only found by the environment of this process and of its ancestors. Not here:
//! what must not happen to the interface that carries it.

use std::net::IpAddr;

use packet::network_contains;
use sys::net::{Address, Ifindex, Link, Netlink, Route, underneath};

use crate::error::Result;

/// Addresses of both ends of an SSH session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Session {
    client: IpAddr,
    server: IpAddr,
}

/// Address of the SSH client of this process, if the named interface carries its session.
pub fn client_on(interface: &str) -> Result<Option<IpAddr>> {
    let Some(session) = connection().as_deref().and_then(Session::parse) else { return Ok(None) };
    let mut netlink = Netlink::open()?;
    let links = netlink.links()?;
    let Some(link) = links.iter().find(|link| link.name == interface) else { return Ok(None) };
    let surroundings = (netlink.addresses()?, netlink.routes()?);
    Ok(carries(link.ifindex, &links, &surroundings, session).then_some(session.client))
}

/// The variable `SSH_CONNECTION` of this process's environment, else of its ancestors': `sudo`
/// removes the variable.
pub fn connection() -> Option<String> {
    if let Ok(text) = std::env::var(VARIABLE) {
        return Some(text);
    }
    let parent = |pid: &u32| sys::proc::parent(*pid);
    let ancestors = std::iter::successors(Some(std::process::id()), parent).take(ANCESTORS);
    let mut found = ancestors.filter_map(|pid| sys::proc::variable(pid, VARIABLE));
    found.find(|text| Session::parse(text).is_some())
}

impl Session {
    /// Parses `CLIENT PORT SERVER PORT`.
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let client = address(words.next()?)?;
        let server = address(words.nth(1)?)?;
        Some(Self { client, server })
    }
}

/// Parses an address without its zone; an IPv4-mapped address becomes an IPv4 address.
fn address(word: &str) -> Option<IpAddr> {
    let plain = word.split('%').next()?;
    Some(plain.parse::<IpAddr>().ok()?.to_canonical())
}

/// Whether packets of the session pass this interface: it has the server's address, is below the
/// interface that has it (bridge, bond, VLAN), or leads to the client. A session that ends in
/// another namespace passes no interface of this one.
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

const VARIABLE: &str = "SSH_CONNECTION";
/// Largest number of processes between the user's shell and this one.
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
    fn interfaces_on_the_path_are_found() {
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
}
