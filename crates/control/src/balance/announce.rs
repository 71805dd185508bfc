//! `announce`: kernel routes to the networks of services that have a backend, by which routing
//! daemons of this host announce them.
//!
//! ```text
//!  balancers of the namespace ─▶ wanted routes ─▶ table of `announce` ─▶ BIRD ─▶ routers
//! ```
//!
//! Rule: which routes are wanted is a function of the balancers alone, so every process that
//! changes one of them, and the daemon, can bring the table there. It does so under the writers'
//! lock, and touches no route of another owner. A route remains when its process is killed, as the
//! balancer does.

use std::collections::BTreeSet;

use functions::balancer::{Config, Live, Out};
use packet::Prefix;
use sys::cap::{Cap, Caps};
use sys::errno::EPERM;
use sys::net::{Ifindex, Netlink, OwnedRoute};

use super::{Running, balancers, nat};
use crate::Control;
use crate::error::{Error, FunctionError, Result, full};
use crate::notice::Notice;
use crate::record::Record;
use crate::state::Writer;
use crate::target::Target;

/// Number of xway among the owners of routes (`/etc/iproute2/rt_protos`), which no other has there.
pub const PROTOCOL: u8 = 120;

/// Routes that were added and removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Announcements {
    pub announced: Vec<OwnedRoute>,
    pub withdrawn: Vec<OwnedRoute>,
}

/// Follows the balancers of a namespace, for a process that runs permanently.
#[derive(Debug, Default)]
pub struct Announcer {
    /// What was wanted when the tables were last as wanted; `None` before the first time.
    last: Option<BTreeSet<OwnedRoute>>,
}

impl Announcer {
    /// Brings the tables to what is wanted now. The first time, routes that are left in any table
    /// are removed; later, only tables of wanted routes are read.
    ///
    /// # Errors
    /// A route cannot be changed. The next step tries it again.
    pub fn step(&mut self, control: &Control) -> Result<Announcements> {
        let wanted = wanted(control, &[])?;
        let present = match &self.last {
            None => present(None)?,
            Some(last) => {
                let tables: BTreeSet<_> = last.union(&wanted).map(|one| one.table).collect();
                let mut all = BTreeSet::new();
                for table in tables {
                    all.extend(present(Some(table))?);
                }
                all
            }
        };
        let mut changed = Announcements::default();
        if present != wanted {
            let _lock = Writer::open(control)?;
            changed = settle(control)?;
        }
        self.last = Some(wanted);
        Ok(changed)
    }
}

/// Brings all tables to what is wanted. The caller has the writers' lock.
///
/// # Errors
/// A route cannot be changed; others were.
pub(super) fn settle(control: &Control) -> Result<Announcements> {
    bring(&wanted(control, &[])?)
}

/// As [`settle`], after a change that is made already: an error is a notice.
pub(super) fn update(control: &Control) {
    if let Err(error) = settle(control) {
        control.notify(&Notice::NotAnnounced(full(&error)));
    }
}

/// Brings the tables to what is wanted, after balancers were changed or removed; an error is a
/// notice.
pub(crate) fn follow(control: &Control) {
    match Writer::open(control) {
        Ok(_lock) => update(control),
        Err(error) => control.notify(&Notice::NotAnnounced(full(&error))),
    }
}

/// Withdraws what only the balancer of this interface announces, before it is detached. Returns
/// whether it announces anything.
///
/// # Errors
/// A route cannot be removed; then all are as before.
pub(crate) fn withdraw(control: &Control, target: &Target) -> Result<bool> {
    let Some(running) = Running::find(&target.slot, target.ifindex)? else { return Ok(false) };
    if !announces(&running) {
        return Ok(false);
    }
    let together = nat::together(control, &running)?;
    let all: Vec<_> = together.iter().map(|(_, one)| one.ifindex).collect();
    let withdrawn = wanted(control, &all).and_then(|rest| bring(&rest));
    if withdrawn.is_err() {
        update(control);
    }
    withdrawn.map(|_| true)
}

/// Whether a balancer announces services.
pub(super) fn announces(running: &Running) -> bool {
    let record = Record::read(&running.generation).ok().flatten();
    record.and_then(|one| one.balance).is_some_and(|config| config.announce.is_some())
}

/// # Errors
/// A balancer announces services, and this process may not change routes.
pub(super) fn require(running: &Running) -> Result<()> {
    let is_missing = || Caps::effective().is_ok_and(|caps| !caps.allows(Cap::NetAdmin));
    match announces(running) && is_missing() {
        true => Err(denied(sys::Error::new("rtnetlink(RTM_NEWROUTE)", "", EPERM))),
        false => Ok(()),
    }
}

/// # Errors
/// The kernel would drop packets of this host to services, because a rule selects the table.
pub(super) fn check(config: &Config) -> Result<()> {
    let Some(announce) = config.announce else { return Ok(()) };
    let rules = Netlink::open()?.table_rules()?;
    match rules.iter().find(|rule| rule.table == announce.table) {
        Some(rule) => {
            let (table, priority) = (announce.table, rule.priority);
            Err(FunctionError::AnnounceRule { table, priority }.into())
        }
        None => Ok(()),
    }
}

/// The networks of a balancer that are announced now; `None` if its file announces none.
pub(super) fn announced(config: &Config) -> Result<Option<BTreeSet<Prefix>>> {
    let Some(announce) = config.announce else { return Ok(None) };
    let routes = present(Some(announce.table))?.into_iter();
    Ok(Some(routes.filter_map(|one| Prefix::new(one.to, one.prefix)).collect()))
}

/// The routes that balancers of this namespace have to have, without those on some interfaces.
fn wanted(control: &Control, without: &[Ifindex]) -> Result<BTreeSet<OwnedRoute>> {
    let mut wanted = BTreeSet::new();
    for (_, running) in balancers(control)? {
        if without.contains(&running.ifindex) {
            continue;
        }
        let config = Record::read(&running.generation)?.and_then(|one| one.balance);
        let Some(config) = config.filter(|one| one.announce.is_some()) else { continue };
        let out = Live::read(&running.maps()?.named())?.out(&config);
        wanted.extend(routes(&config, &out));
    }
    Ok(wanted)
}

/// The routes of a configuration.
fn routes(config: &Config, out: &Out) -> Vec<OwnedRoute> {
    let Some(announce) = config.announce else { return Vec::new() };
    let route = |network: Prefix| OwnedRoute {
        table: announce.table,
        to: network.address(),
        prefix: network.length(),
        protocol: PROTOCOL,
    };
    config.announced(out).into_iter().map(route).collect()
}

fn present(table: Option<u32>) -> Result<BTreeSet<OwnedRoute>> {
    Ok(Netlink::open()?.owned_routes(PROTOCOL, table)?.into_iter().collect())
}

/// Adds what is missing, then removes the rest.
fn bring(wanted: &BTreeSet<OwnedRoute>) -> Result<Announcements> {
    let present = present(None)?;
    let (mut changed, mut outcome) = (Announcements::default(), Ok(()));
    if present == *wanted {
        return Ok(changed);
    }
    let mut netlink = Netlink::open()?;
    for route in wanted.difference(&present) {
        match netlink.add_owned_route(*route) {
            Ok(()) => changed.announced.push(*route),
            Err(error) => outcome = outcome.and(Err(denied(error))),
        }
    }
    for route in present.difference(wanted) {
        match netlink.remove_owned_route(*route) {
            Ok(()) => changed.withdrawn.push(*route),
            Err(error) => outcome = outcome.and(Err(denied(error))),
        }
    }
    outcome.map(|()| changed)
}

/// Names the capability that changes of routes need.
fn denied(error: sys::Error) -> Error {
    match error.is(EPERM) {
        true => {
            let missing = vec![Cap::NetAdmin];
            Error::MissingCapabilities { missing, cause: Box::new(error.into()) }
        }
        false => error.into(),
    }
}

/// A route as events have it.
#[must_use]
pub fn text(route: &OwnedRoute) -> String {
    format!("{}/{} in table {}", route.to, route.prefix, route.table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_are_those_of_services_with_a_backend() {
        let text = "announce = { table = 77 }\n\
            [[service]]\nname = 'web'\naddress = '192.0.2.0/24'\nprotocol = 'tcp'\nport = 80\n\
            backend = [{ address = '10.0.0.1' }]\n\
            [[service]]\nname = 'dns'\naddress = '2001:db8::1'\nprotocol = 'udp'\nport = 53\n\
            backend = [{ address = '10.0.0.1' }]\n";
        let config: Config = toml::from_str(text).unwrap();
        let route = |to: &str, prefix| {
            let to = to.parse().unwrap();
            OwnedRoute { table: 77, to, prefix, protocol: PROTOCOL }
        };
        let (web, dns) = (route("192.0.2.0", 24), route("2001:db8::1", 128));
        assert_eq!(routes(&config, &Out::new()), [web, dns]);
        let out = [("web".to_owned(), "10.0.0.1".parse().unwrap())].into();
        assert_eq!(routes(&config, &out), [dns]);
        assert_eq!(super::text(&dns), "2001:db8::1/128 in table 77");
        let config = Config { announce: None, ..config };
        assert!(routes(&config, &Out::new()).is_empty());
    }
}
