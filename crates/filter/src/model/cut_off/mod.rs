//! Warnings about traffic that most hosts need and a ruleset drops: ARP, neighbor discovery,
//! replies to the host's own connections, DHCP, path MTU discovery, and the current SSH session.
//!
//! Rule: sample packets are judged by the model, so rules of any form count. Traffic is cut off
//! only if it passes from no source, to no destination and in no VLAN that a rule names. Not here:
//! the sample packets (`probe`).

mod probe;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use spec::Verdict;

use self::probe::{NEEDS, Place, Probe};
use crate::language::lint::{Kind, Warning};
use crate::{Action, Family, Field, Frame, Model, Reason, Rule, Ruleset, Side, Test};
use functions::PassOrDrop;

/// The interface that rules are for, and the current session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// The interface; `None` for any.
    pub interface: Option<String>,
    /// The SSH session, if it uses this interface.
    pub session: Option<Session>,
}

/// An SSH session, as seen from this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Session {
    pub client: SocketAddr,
    pub server: SocketAddr,
}

impl Session {
    /// Reads the environment variable `SSH_CONNECTION`: address and port of client and server.
    pub fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let mut end = || {
            let ip: IpAddr = words.next()?.parse().ok()?;
            Some(SocketAddr::new(ip.to_canonical(), words.next()?.parse().ok()?))
        };
        Some(Self { client: end()?, server: end()? })
    }
}

/// Warnings about the traffic that the rules cut off.
pub fn cut_off(rules: &Ruleset, place: &Surroundings) -> Vec<Warning> {
    let mut judge = Judge::new(rules, place);
    let mut warnings: Vec<_> = place.session.iter().filter_map(|one| judge.session(one)).collect();
    if rules.default == PassOrDrop::Drop {
        warnings.extend(NEEDS.iter().filter_map(|need| {
            let cut = need.families.iter().copied().filter(|one| judge.is_cut_off(need, *one));
            let cut: Vec<_> = cut.collect();
            (!cut.is_empty()).then(|| warning(need, &cut))
        }));
    }
    warnings
}

/// Why the rules end the session, as a sentence: they drop its packets, or those by which the hosts
/// on the link find each other's address. `None` if they do not.
pub fn session_end(rules: &Ruleset, place: &Surroundings) -> Option<String> {
    let session = place.session.as_ref()?;
    let mut judge = Judge::new(rules, place);
    if let Some(warning) = judge.session(session) {
        return Some(warning.text);
    }
    let (need, family) = neighbors(session);
    judge.drops_all((need, family)).then(|| {
        let (what, client, rule) = (need.what, session.client.ip(), (need.remedy)(family));
        format!(
            "the rules drop {what}, which the SSH session from {client} needs: put `{rule}` first"
        )
    })
}

/// Sample packets without which a session ends, each with its name: those of the session, and those
/// by which the hosts on the link find each other's address.
pub fn session_frames(session: &Session, mac: [u8; 6]) -> Vec<(String, Vec<u8>)> {
    let (need, family) = neighbors(session);
    let own =
        (format!("the SSH session from {}", session.client.ip()), probe::session(session, None));
    let neighbor = (need.frames)(family, &Place::default());
    let neighbor = neighbor.into_iter().map(|frame| (need.what.to_owned(), frame));
    let mut frames: Vec<_> = std::iter::once(own).chain(neighbor).collect();
    for (_, frame) in &mut frames {
        probe::address_to(frame, mac);
    }
    frames
}

/// ARP or neighbor discovery, whichever the session needs.
fn neighbors(session: &Session) -> (&'static Probe, Family) {
    match session.server.is_ipv4() {
        true => (&NEEDS[0], Family::Ipv4),
        false => (&NEEDS[1], Family::Ipv6),
    }
}

/// A warning that `default = "drop"` drops packets of these families.
fn warning(need: &Probe, families: &[Family]) -> Warning {
    let rules = families.iter().map(|family| format!("`{}`", (need.remedy)(*family)));
    let rules: BTreeSet<_> = rules.collect();
    let rules = rules.into_iter().collect::<Vec<_>>().join(" and ");
    let text = format!("the default drops {}: {}; add {rules}", need.what, need.why);
    Warning { kind: Kind::CutOff, rules: Vec::new(), because: Vec::new(), text }
}

struct Judge<'a> {
    rules: &'a Ruleset,
    model: Model<'a>,
    places: Vec<Place>,
}

impl<'a> Judge<'a> {
    fn new(rules: &'a Ruleset, place: &Surroundings) -> Self {
        let names = interfaces(rules);
        let index = |name: &str| names.iter().position(|one| *one == name).map(index_of);
        let own = place.interface.as_deref().and_then(index);
        let mut places = vec![Place { ifindex: own.unwrap_or_default(), ..Place::default() }];
        let passing = rules.rules.iter().filter(|rule| !drops(&rule.action));
        for rule in passing {
            let mut found = named(rule, index);
            if place.interface.is_some() {
                found.ifindex = own.unwrap_or_default();
            }
            if places.len() < PLACES && !places.contains(&found) {
                places.push(found);
            }
        }
        Self { rules, model: Model::new(rules, index), places }
    }

    /// Whether the default drops the packets of a probe at every place.
    fn is_cut_off(&mut self, need: &Probe, family: Family) -> bool {
        let model = &mut self.model;
        self.places.iter().all(|place| {
            (need.frames)(family, place).iter().any(|bytes| {
                let frame = Frame { bytes, ifindex: place.ifindex, queue: 0 };
                let judgement = model.judge(&frame, 0);
                judgement.verdict == Verdict::Drop && judgement.reason == Reason::Default
            })
        })
    }

    /// Whether some packets of a probe are dropped at every place, by a rule or by the default.
    fn drops_all(&mut self, (need, family): (&Probe, Family)) -> bool {
        let model = &mut self.model;
        self.places.iter().all(|place| {
            (need.frames)(family, place).iter().any(|bytes| {
                let frame = Frame { bytes, ifindex: place.ifindex, queue: 0 };
                model.judge(&frame, 0).verdict == Verdict::Drop
            })
        })
    }

    /// A warning if the packets of a session are dropped, by a rule or by the default.
    fn session(&mut self, session: &Session) -> Option<Warning> {
        let places: BTreeSet<_> = self.places.iter().map(|one| (one.ifindex, one.vlan)).collect();
        let mut by = None;
        for (ifindex, vlan) in places {
            let bytes = probe::session(session, vlan);
            let judgement = self.model.judge(&Frame { bytes: &bytes, ifindex, queue: 0 }, 0);
            if judgement.verdict != Verdict::Drop {
                return None;
            }
            by = by.or(Some(judgement.rule));
        }
        let (rule, client) = (by?, session.client.ip());
        let by = match rule {
            Some(number) => format!("rule {} `{}`", number + 1, self.rules.rules[number].name),
            None => "the default".to_owned(),
        };
        let port = session.server.port();
        let text = format!(
            "{by} drops the SSH session from {client} that this command runs in: put \
             `pass tcp dport {port} from {client}` before it"
        );
        let rules = rule.into_iter().collect();
        Some(Warning { kind: Kind::CutOff, rules, because: Vec::new(), text })
    }
}

const fn drops(action: &Action) -> bool {
    matches!(action, Action::Drop | Action::DropFor(_) | Action::Ban(_))
}

/// The names of interfaces in rules, which get artificial indices.
fn interfaces(rules: &Ruleset) -> Vec<&str> {
    let tests = rules.rules.iter().flat_map(|rule| &rule.tests);
    let names = tests.filter_map(|test| match test {
        Test::Interface { names, .. } => Some(names),
        _ => None,
    });
    names.flatten().map(String::as_str).collect::<BTreeSet<_>>().into_iter().collect()
}

fn index_of(place: usize) -> u32 {
    place as u32 + 1
}

/// A place where a rule may pass packets: the first address, interface and VLAN that it names.
fn named(rule: &Rule, index: impl Fn(&str) -> Option<u32>) -> Place {
    let mut place = Place::default();
    for test in &rule.tests {
        match test {
            Test::Address { side, addresses, negated: false } => {
                let first = |ranges: &[(u128, u128)]| ranges.first().map(|range| range.0);
                let v4 = first(addresses.v4.ranges()).map(|first| (first as u32).into());
                let v6 = first(addresses.v6.ranges()).map(Into::into);
                let ends = match side {
                    Side::Source => &mut place.source,
                    Side::Dest => &mut place.dest,
                };
                (ends.0, ends.1) = (v4.unwrap_or(ends.0), v6.unwrap_or(ends.1));
            }
            Test::Interface { names, negated: false } => {
                place.ifindex = names.first().and_then(|name| index(name)).unwrap_or_default();
            }
            Test::Is(Field::Vlan, values) => {
                place.vlan = values.ranges().first().map(|range| range.0 as u16);
            }
            _ => {}
        }
    }
    place
}

/// The most places that are tried.
const PLACES: usize = 16;
