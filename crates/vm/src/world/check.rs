//! Checks that the parts of an environment are consistent.

use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};

use super::{Connection, Error, Interface, NextHop, Protocol, Route, Rule, Socket, World};
use super::{SocketState, TableId};
use crate::limits;

type Check = Result<(), Error>;

impl World {
    /// Finds the first contradiction.
    ///
    /// # Errors
    /// [`Error::Value`] with the key, without a line.
    pub fn check(&self) -> Check {
        require(
            (1..=limits::CPUS as u32).contains(&self.cpus),
            || "cpus".into(),
            || format!("a machine has 1 to {} processors", limits::CPUS),
        )?;
        require(
            self.clock.step_ns > 0,
            || "clock.step_ns".into(),
            || "a program that waits for the clock never ends where none passes".into(),
        )?;
        let names = self.check_interfaces()?;
        each(&self.routes, "routes", |route, key| check_route(&names, route, key))?;
        each(&self.rules, "rules", |rule, key| check_rule(&names, rule, key))?;
        each(&self.neighbours, "neighbours", |n, key| names.has(&n.dev, key, "dev"))?;
        each(&self.sockets, "sockets", |socket, key| check_socket(&names, socket, key))?;
        each(&self.connections, "connections", check_connection)
    }

    fn check_interfaces(&self) -> Result<Names<'_>, Error> {
        let mut names = Names(HashSet::new());
        let mut indexes = HashSet::new();
        each(&self.interfaces, "interfaces", |interface, key| {
            check_interface(interface, key)?;
            require(
                indexes.insert(interface.index),
                || format!("{key}.index"),
                || format!("another interface has the number {}", interface.index),
            )?;
            require(
                names.0.insert(interface.name.as_str()),
                || format!("{key}.name"),
                || format!("another interface is called `{}`", interface.name),
            )
        })?;
        Ok(names)
    }
}

/// Names of the existing interfaces.
struct Names<'a>(HashSet<&'a str>);

impl Names<'_> {
    fn has(&self, name: &str, key: &str, field: &str) -> Check {
        let known = || {
            let mut known: Vec<_> = self.0.iter().copied().collect();
            known.sort_unstable();
            if known.is_empty() { "none".to_owned() } else { known.join(", ") }
        };
        require(
            self.0.contains(name),
            || format!("{key}.{field}"),
            || format!("there is no interface `{name}`; there is {}", known()),
        )
    }

    fn has_if_any(&self, name: Option<&String>, key: &str, field: &str) -> Check {
        name.map_or(Ok(()), |name| self.has(name, key, field))
    }
}

fn check_interface(interface: &Interface, key: &str) -> Check {
    require(
        (1..=i32::MAX as u32).contains(&interface.index),
        || format!("{key}.index"),
        || "interfaces are numbered from 1".into(),
    )?;
    let name = &interface.name;
    require(
        !name.is_empty() && name.len() < 16 && !name.contains(['/', ' ', '\n']),
        || format!("{key}.name"),
        || {
            format!(
                "invalid interface name `{name}`: expected 1 to 15 bytes without slash and space"
            )
        },
    )?;
    require(
        (68..=65536).contains(&interface.mtu),
        || format!("{key}.mtu"),
        || "an MTU is 68 to 65536 bytes".into(),
    )
}

fn check_route(names: &Names<'_>, route: &Route, key: &str) -> Check {
    let network = route.to.network();
    require(
        network == route.to,
        || format!("{key}.to"),
        || format!("host bits are set; did you mean {network}?"),
    )?;
    names.has_if_any(route.dev.as_ref(), key, "dev")?;
    let own = route.via.is_some() || route.dev.is_some();
    require(
        own == route.next_hops.is_empty() || !route.kind.has_device(),
        || key.to_owned(),
        || "a route needs `dev` or `via`, or else `next_hops`".into(),
    )?;
    check_gateway(route.to.address(), route.via, &format!("{key}.via"))?;
    each(&route.next_hops, &format!("{key}.next_hops"), |hop, key| {
        check_next_hop(names, route.to.address(), hop, key)
    })?;
    require(
        route.source.is_none_or(|source| source.is_ipv4() == route.to.is_ipv4()),
        || format!("{key}.source"),
        || "of another family than the destination".into(),
    )
}

fn check_next_hop(names: &Names<'_>, to: IpAddr, hop: &NextHop, key: &str) -> Check {
    names.has_if_any(hop.dev.as_ref(), key, "dev")?;
    require(
        hop.dev.is_some() || hop.via.is_some(),
        || key.to_owned(),
        || "a next hop needs `dev` or `via`".into(),
    )?;
    require(
        (1..=256).contains(&hop.weight),
        || format!("{key}.weight"),
        || "a weight is 1 to 256".into(),
    )?;
    check_gateway(to, hop.via, &format!("{key}.via"))
}

/// An IPv4 route may have an IPv6 gateway, but not the reverse.
fn check_gateway(to: IpAddr, via: Option<IpAddr>, key: &str) -> Check {
    require(
        to.is_ipv4() || via.is_none_or(|via| via.is_ipv6()),
        || key.to_owned(),
        || "an IPv6 route cannot go by way of an IPv4 router".into(),
    )
}

fn check_rule(names: &Names<'_>, rule: &Rule, key: &str) -> Check {
    names.has_if_any(rule.iif.as_ref(), key, "iif")?;
    names.has_if_any(rule.oif.as_ref(), key, "oif")?;
    require(
        rule.is_for(true) || rule.is_for(false),
        || key.to_owned(),
        || "`from`, `to` and `family` are not of one family".into(),
    )?;
    let fixed = [(0, TableId::LOCAL), (32766, TableId::MAIN), (32767, TableId::DEFAULT)];
    require(
        !fixed.contains(&(rule.priority, rule.table)),
        || format!("{key}.priority"),
        || "this rule is always there".into(),
    )
}

fn check_socket(names: &Names<'_>, socket: &Socket, key: &str) -> Check {
    names.has_if_any(socket.dev.as_ref(), key, "dev")?;
    let remote = socket.remote.is_none_or(|remote| same_family(remote, socket.local));
    require(remote, || format!("{key}.remote"), || "of another family than `local`".into())?;
    let listens = socket.state() == SocketState::Listen;
    require(
        !listens || (socket.protocol == Protocol::Tcp && socket.remote.is_none()),
        || format!("{key}.state"),
        || "only a TCP socket without a peer listens".into(),
    )?;
    require(
        listens || !socket.syncookies,
        || format!("{key}.syncookies"),
        || "only a listening socket hands out SYN cookies".into(),
    )
}

fn check_connection(connection: &Connection, key: &str) -> Check {
    let (there, back) = (connection.original, connection.reply());
    for (field, other) in
        [("original.to", there.to), ("reply.from", back.from), ("reply.to", back.to)]
    {
        require(
            same_family(there.from, other),
            || format!("{key}.{field}"),
            || "of another family than `original.from`".into(),
        )?;
    }
    Ok(())
}

fn same_family(one: SocketAddr, other: SocketAddr) -> bool {
    one.is_ipv4() == other.is_ipv4()
}

/// Checks each element of a list with its key, such as `routes[3]`.
fn each<'a, T>(list: &'a [T], key: &str, mut check: impl FnMut(&'a T, &str) -> Check) -> Check {
    list.iter().enumerate().try_for_each(|(at, one)| check(one, &format!("{key}[{at}]")))
}

fn require(holds: bool, key: impl FnOnce() -> String, why: impl FnOnce() -> String) -> Check {
    if holds { Ok(()) } else { Err(Error::value(key(), why())) }
}
