//! Routes as written, and the rules of one.

use std::net::IpAddr;
use std::sync::Arc;

use super::component::{Body, Component, Kind};
use super::words::Words;
use crate::import_export::Error;
use crate::import_export::conjunction::{Conjunction, IPV4, IPV6};
use crate::language::names::Unique;
use crate::language::text::Span;
use crate::{Action, Addresses, Family, Field, Limit, Per, Rule, Side, Test, Unit, Values};

pub(super) struct Route {
    pub name: String,
    line: usize,
    /// By type, each once.
    pub components: Vec<Component>,
    pub then: Then,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    Accept,
    Discard,
    /// Bytes a second.
    RateLimit(u64),
}

pub(super) fn read(text: &str) -> Result<Vec<Route>, Error> {
    let mut words = Words::new(text);
    let has_head = words.take("flow");
    if has_head {
        words.expect("{")?;
    }
    let mut routes: Vec<Route> = Vec::new();
    let mut names = Unique::default();
    while words.take("route") {
        let route = Route::read(&mut words, routes.len() + 1)?;
        if !names.take(&route.name) {
            let place = format!("line {}", route.line);
            return Err(Error::new(place, "another route has this name").of(route.name));
        }
        routes.push(route);
    }
    if has_head {
        words.expect("}")?;
    }
    match words.next() {
        None => Ok(routes),
        Some(word) => Err(words.wrong(word, "expected `route NAME { match { … } then { … } }`")),
    }
}

impl Route {
    fn read(words: &mut Words<'_>, number: usize) -> Result<Self, Error> {
        let line = words.line();
        let name = match words.peek() {
            Some("{") | None => format!("flow-{number}"),
            Some(name) if Rule::is_name(name) => {
                words.next();
                name.to_owned()
            }
            Some(name) => {
                return Err(
                    words.wrong(name, "invalid name; expected letters, digits, `_`, `.`, `-`")
                );
            }
        };
        let mut route = Self { name, line, components: Vec::new(), then: Then::Accept };
        words.expect("{")?;
        words.expect("match")?;
        words.expect("{")?;
        while !words.take("}") {
            route.component(words)?;
        }
        route.components.sort_by_key(|component| component.kind);
        words.expect("then")?;
        words.expect("{")?;
        let mut has_decided = false;
        while !words.take("}") {
            let then = action(words)?;
            if std::mem::replace(&mut has_decided, true) {
                return Err(words.wrong("then", "one action stands here"));
            }
            route.then = then;
        }
        words.expect("}")?;
        Ok(route)
    }

    fn component(&mut self, words: &mut Words<'_>) -> Result<(), Error> {
        let statement = words.statement()?;
        let text = statement.join(" ");
        let (word, values) = statement.split_first().unwrap_or((&"", &[]));
        let Some(kind) = Kind::of(word) else {
            return Err(words.wrong(&text, "the filter knows no such component"));
        };
        if self.components.iter().any(|known| known.kind == kind) {
            return Err(words.wrong(&text, "this component is there already"));
        }
        let component = Component::read(kind, values);
        self.components.push(component.map_err(|reason| words.wrong(&text, reason))?);
        Ok(())
    }

    /// Adds what decides as the route does.
    pub fn add_to(&self, rules: &mut Vec<Rule>) -> Result<(), Error> {
        let fail = |reason| Error::new(format!("line {}", self.line), reason).of(&self.name);
        let all = self.alternatives().map_err(fail)?;
        if all.len() > 1 && matches!(self.then, Then::RateLimit(_)) {
            let reason = "`port` is source or destination, which are two rules with a limit each";
            return Err(fail(reason.to_owned()));
        }
        for (number, tests) in all.into_iter().enumerate() {
            let name = match number {
                0 => self.name.clone(),
                _ => format!("{}-{}", self.name, number + 1),
            };
            let tests = tests.into_tests();
            if let Then::RateLimit(bytes) = self.then {
                let (rate, unit) = (bytes * 8, Unit::Bits);
                let burst = Limit::usual_burst(rate, unit);
                let limit = Action::Limit(Limit { rate, unit, burst, per: Per::Rule, total: None });
                let name = format!("{name}-limit");
                rules.push(Rule { name, tests: tests.clone(), action: limit });
            }
            // What is below the limit is done with: later routes are not asked.
            let action = if self.then == Then::Discard { Action::Drop } else { Action::Pass };
            rules.push(Rule { name, tests, action });
        }
        Ok(())
    }

    /// Whether some packet may match both.
    pub fn meets(&self, other: &Self) -> Result<bool, Error> {
        let [one, two] = [self, other].map(|route| {
            let fail = |reason| Error::new(format!("line {}", route.line), reason).of(&route.name);
            Ok((route.is_v6().map_err(fail)?, route.alternatives().map_err(fail)?))
        });
        let ((is_v6, ours), (other_is_v6, theirs)) = (one?, two?);
        let family = if is_v6 { Family::Ipv6 } else { Family::Ipv4 };
        let both = |(one, other): (&Conjunction, &Conjunction)| {
            let tests = [one, other].into_iter().flat_map(|it| it.clone().into_tests()).collect();
            let rule = Rule { name: String::new(), tests, action: Action::Pass };
            rule.fields(family, |_| None).is_some()
        };
        let mut pairs = ours.iter().flat_map(|one| theirs.iter().map(move |other| (one, other)));
        Ok(is_v6 == other_is_v6 && pairs.any(both))
    }

    /// One conjunction, or with `port` one for each side.
    fn alternatives(&self) -> Result<Vec<Conjunction>, String> {
        let mut tests = Conjunction::default();
        let is_v6 = self.is_v6()?;
        tests.require_ether_type(if is_v6 { IPV6 } else { IPV4 })?;
        for component in &self.components {
            component.add_to(&mut tests, is_v6)?;
        }
        let port = self.components.iter().find(|component| component.kind == Kind::Port);
        let Some(Component { body: Body::Numbers { values, .. }, .. }) = port else {
            return Ok(vec![tests]);
        };
        let sides = [Field::SourcePort, Field::DestPort].map(|side| {
            let mut tests = tests.clone();
            // With `source-port` beside it, one of the sides may be out of question.
            tests.require(side, values).ok().map(|()| tests)
        });
        let sides: Vec<_> = sides.into_iter().flatten().collect();
        if sides.is_empty() { Err("no packet can match this".to_owned()) } else { Ok(sides) }
    }

    fn is_v6(&self) -> Result<bool, String> {
        let prefixes = self.components.iter().filter_map(|component| match &component.body {
            Body::Prefix(prefix) => Some(matches!(prefix.address(), IpAddr::V6(_))),
            Body::Numbers { .. } => None,
        });
        let families: Vec<bool> = prefixes.collect();
        match &families[..] {
            [one, other] if one != other => Err("one prefix is IPv4, the other IPv6".to_owned()),
            [is_v6, ..] => Ok(*is_v6),
            [] => Ok(false),
        }
    }
}

impl Then {
    /// Whether it matters which of two decides; each rate has a bucket of its own.
    pub fn differs(self, other: Self) -> bool {
        self != other || matches!(self, Self::RateLimit(_))
    }
}

impl Component {
    fn add_to(&self, tests: &mut Conjunction, is_v6: bool) -> Result<(), String> {
        let values = match &self.body {
            Body::Prefix(prefix) => {
                let is_source = self.kind == Kind::Source;
                let side = if is_source { Side::Source } else { Side::Dest };
                let addresses = Arc::new(Addresses::of([Span::from(*prefix)]));
                tests.push(Test::Address { side, addresses, negated: false });
                return Ok(());
            }
            Body::Numbers { values, .. } => values,
        };
        let icmp = || Values::one(if is_v6 { 58_u8 } else { 1 });
        // RFC 8955 section 4.2.2.4: of other protocols no packet has ports.
        let with_ports = || Values::new([(6, 6), (17, 17)]);
        match self.kind {
            Kind::Protocol => tests.require(Field::Protocol, values),
            Kind::Port => tests.require(Field::Protocol, &with_ports()),
            Kind::DestPort => {
                tests.require(Field::Protocol, &with_ports())?;
                tests.require(Field::DestPort, values)
            }
            Kind::SourcePort => {
                tests.require(Field::Protocol, &with_ports())?;
                tests.require(Field::SourcePort, values)
            }
            Kind::IcmpType => {
                tests.require(Field::Protocol, &icmp())?;
                let types = values.ranges().iter().map(|(a, b)| (a << 8, b << 8 | 0xff));
                tests.require(Field::Icmp, &Values::new(types))
            }
            Kind::IcmpCode => {
                tests.require(Field::Protocol, &icmp())?;
                let codes = (0..=0xff_u128).flat_map(|kind| {
                    values.ranges().iter().map(move |(a, b)| (kind << 8 | a, kind << 8 | b))
                });
                tests.require(Field::Icmp, &Values::new(codes))
            }
            Kind::TcpFlags => {
                tests.require(Field::Protocol, &Values::one(6_u8))?;
                tests.require(Field::TcpFlags, values)
            }
            Kind::PacketLength => tests.require(Field::Length, &frame_lengths(values)?),
            Kind::Dscp => tests.require(Field::Dscp, values),
            Kind::Fragment => tests.require(Field::Fragment, values),
            Kind::Destination | Kind::Source => Ok(()),
        }
    }
}

/// From lengths of packets to those of their frames, of which the shortest are filled up.
fn frame_lengths(values: &Values) -> Result<Values, String> {
    let filled = Values::new([(0, SHORTEST)]);
    let short = values.intersection(&filled);
    if !short.is_empty() && short != filled {
        return Err(format!(
            "Ethernet fills frames up: packets of up to {SHORTEST} bytes cannot be told apart"
        ));
    }
    let lengths = values
        .ranges()
        .iter()
        .map(|(first, last)| (if *first == 0 { 0 } else { first + HEADER }, last + HEADER));
    Ok(Values::new(lengths))
}

fn action(words: &mut Words<'_>) -> Result<Then, Error> {
    let statement = words.statement()?;
    match &statement[..] {
        ["accept"] => Ok(Then::Accept),
        ["discard"] => Ok(Then::Discard),
        ["rate-limit", rate] => match rate.parse() {
            Ok(0) => Ok(Then::Discard),
            Ok(rate) if rate <= MOST_BYTES => Ok(Then::RateLimit(rate)),
            _ => Err(words.wrong(&statement.join(" "), "expected a number of bytes per second")),
        },
        _ => Err(words.wrong(
            &statement.join(" "),
            "of actions, accept, discard and rate-limit can be taken over",
        )),
    }
}

/// Bytes of a packet that fills the shortest frame.
pub(crate) const SHORTEST: u128 = 46;
/// Bytes of an Ethernet header.
pub(crate) const HEADER: u128 = 14;
/// So that bits a second fit.
pub(crate) const MOST_BYTES: u64 = 1 << 40;
