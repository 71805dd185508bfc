//! Routes, and the rules that express one.

use std::net::IpAddr;
use std::sync::Arc;

use super::component::{Body, Component, Kind};
use super::words::Words;
use crate::import_export::Error;
use crate::import_export::conjunction::{Conjunction, IPV4, IPV6};
use crate::import_export::error::NoMatch;
use crate::import_export::error::flowspec::ImportError;
use crate::import_export::icmp;
use crate::language::names::Unique;
use crate::language::text::Span;
use packet::IpProtocol;

use crate::{Action, Addresses, Family, Field, Limit, Per, Rule, Side, Test, Unit, Values};

/// A route as it is written.
pub(super) struct Route {
    pub name: String,
    line: usize,
    /// Sorted by type; each type occurs once.
    pub components: Vec<Component>,
    pub then: Then,
}

/// The action of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    Accept,
    Discard,
    /// With the limit in bytes per second.
    RateLimit(u64),
}

/// Reads all routes of a text.
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
            return Err(Error::new(place, ImportError::DuplicateName).about(route.name));
        }
        routes.push(route);
    }
    if has_head {
        words.expect("}")?;
    }
    match words.next() {
        None => Ok(routes),
        Some(word) => Err(words.wrong(word, ImportError::Expected(ROUTE))),
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
                return Err(words.wrong(name, ImportError::Name));
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
                return Err(words.wrong("then", ImportError::SeveralActions));
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
            return Err(words.wrong(&text, ImportError::UnknownComponent));
        };
        if self.components.iter().any(|known| known.kind == kind) {
            return Err(words.wrong(&text, ImportError::DuplicateComponent));
        }
        let component = Component::read(kind, values);
        self.components.push(component.map_err(|cause| words.wrong(&text, cause))?);
        Ok(())
    }

    fn fail(&self, cause: ImportError) -> Error {
        Error::new(format!("line {}", self.line), cause).about(&self.name)
    }

    /// Adds rules that make the decisions of the route.
    pub fn add_to(&self, rules: &mut Vec<Rule>) -> Result<(), Error> {
        let all = self.alternatives().map_err(|cause| self.fail(cause))?;
        if all.len() > 1 && matches!(self.then, Then::RateLimit(_)) {
            return Err(self.fail(ImportError::LimitOfPorts));
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
            // Packets below the limit pass: later routes are not evaluated.
            let action = if self.then == Then::Discard { Action::Drop } else { Action::Pass };
            rules.push(Rule { name, tests, action });
        }
        Ok(())
    }

    /// Whether some packet may match both routes.
    pub fn meets(&self, other: &Self) -> Result<bool, Error> {
        let [one, two] = [self, other].map(|route| {
            let both = || Ok((route.is_v6()?, route.alternatives()?));
            both().map_err(|cause| route.fail(cause))
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

    /// The tests of the route; with `port`, once for each side.
    fn alternatives(&self) -> Result<Vec<Conjunction>, ImportError> {
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
            // Together with `source-port`, one of the sides may be impossible.
            tests.require(side, values).ok().map(|()| tests)
        });
        let sides: Vec<_> = sides.into_iter().flatten().collect();
        if sides.is_empty() { Err(NoMatch.into()) } else { Ok(sides) }
    }

    fn is_v6(&self) -> Result<bool, ImportError> {
        let prefixes = self.components.iter().filter_map(|component| match &component.body {
            Body::Prefix(prefix) => Some(matches!(prefix.address(), IpAddr::V6(_))),
            Body::Numbers { .. } => None,
        });
        let families: Vec<bool> = prefixes.collect();
        match &families[..] {
            [one, other] if one != other => Err(ImportError::MixedFamilies),
            [is_v6, ..] => Ok(*is_v6),
            [] => Ok(false),
        }
    }
}

impl Then {
    /// Whether it matters which of two actions applies; each rate has its own bucket.
    pub fn differs(self, other: Self) -> bool {
        self != other || matches!(self, Self::RateLimit(_))
    }
}

impl Component {
    fn add_to(&self, tests: &mut Conjunction, is_v6: bool) -> Result<(), ImportError> {
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
        if let Some(protocols) = self.protocols(is_v6) {
            tests.require(Field::Protocol, &protocols)?;
        }
        let (field, values) = match self.kind {
            Kind::Protocol => (Field::Protocol, values.clone()),
            Kind::DestPort => (Field::DestPort, values.clone()),
            Kind::SourcePort => (Field::SourcePort, values.clone()),
            Kind::TcpFlags => (Field::TcpFlags, values.clone()),
            Kind::Dscp => (Field::Dscp, values.clone()),
            Kind::Fragment => (Field::Fragment, values.clone()),
            Kind::PacketLength => (Field::Length, frame_lengths(values)?),
            Kind::IcmpType => (Field::Icmp, icmp::with_types(values)),
            Kind::IcmpCode => (Field::Icmp, icmp::with_codes(values)),
            // `port` is a test of either side; prefixes were added above.
            Kind::Port | Kind::Destination | Kind::Source => return Ok(()),
        };
        Ok(tests.require(field, &values)?)
    }

    /// The protocols of packets that have the component's field, if that restricts them.
    fn protocols(&self, is_v6: bool) -> Option<Values> {
        let numbers = match self.kind {
            // RFC 8955, section 4.2.2.4: only these protocols have ports.
            Kind::Port | Kind::DestPort | Kind::SourcePort => {
                vec![IpProtocol::TCP, IpProtocol::UDP]
            }
            Kind::TcpFlags => vec![IpProtocol::TCP],
            Kind::IcmpType | Kind::IcmpCode if is_v6 => vec![IpProtocol::ICMPV6],
            Kind::IcmpType | Kind::IcmpCode => vec![IpProtocol::ICMP],
            _ => return None,
        };
        Some(Values::new(numbers.into_iter().map(|it| (it.0.into(), it.0.into()))))
    }
}

/// The lengths of the frames of packets of these lengths. Ethernet pads the shortest frames.
fn frame_lengths(values: &Values) -> Result<Values, ImportError> {
    let filled = Values::new([(0, SHORTEST)]);
    let short = values.intersection(&filled);
    if !short.is_empty() && short != filled {
        return Err(ImportError::PaddedLength(SHORTEST));
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
            Ok(rate) if rate <= MAX_RATE => Ok(Then::RateLimit(rate)),
            _ => Err(words.wrong(&statement.join(" "), ImportError::Rate)),
        },
        _ => Err(words.wrong(&statement.join(" "), ImportError::UnknownAction)),
    }
}

const ROUTE: &str = "route NAME { match { … } then { … } }";
/// Length in bytes of the longest packet in a frame of minimum length.
pub(crate) const SHORTEST: u128 = 46;
/// Length in bytes of an Ethernet header.
pub(crate) const HEADER: u128 = 14;
/// The highest rate in bytes per second.
pub(crate) const MAX_RATE: u64 = 1 << 40;
