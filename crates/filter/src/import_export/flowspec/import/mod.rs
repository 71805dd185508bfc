//! BGP FlowSpec routes (RFC 8955, 8956) in the text form that ExaBGP reads.
//!
//! ```text
//! flow {
//!     route ntp-reflection {
//!         match { destination 192.0.2.0/24; protocol udp; source-port =123; packet-length >300; }
//!         then { discard; }
//!     }
//! }
//! ```
//!
//! Rule: the order in the text has no meaning. Routes are evaluated in the order of RFC 8955,
//! section 5.1, so the rules are in that order. A route without a prefix matches IPv4.

mod component;
mod order;
mod route;
mod words;

pub(crate) use route::{HEADER, MAX_RATE, SHORTEST};

use crate::import_export::Error;
use crate::import_export::error::flowspec::ImportError;
use crate::language::bounds::{RANGES, Work, step};
use crate::{Policies, Rule, Ruleset};

/// Reads routes. A packet that matches no route passes.
///
/// # Errors
/// A route that is not in the supported subset, with its line.
pub fn import(text: &str) -> Result<Ruleset, Error> {
    let mut routes = route::read(text)?;
    routes.sort_by(|one, other| order::compare(&one.components, &other.components));
    let policies = Policies::of_imported_rules();
    let mut ruleset = Ruleset { policies, ..Ruleset::default() };
    let mut work = Work::of(RANGES);
    for route in routes {
        let first = ruleset.rules.len();
        route.add_to(&mut ruleset.rules)?;
        let ranges = ruleset.rules[first..].iter().map(Rule::own_ranges).sum();
        step(1 + ranges);
        if !work.spend(ranges) {
            return Err(Error::new("", ImportError::TooLarge(RANGES)));
        }
    }
    Ok(ruleset)
}

/// Two routes that routers do not evaluate in the order of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Misplaced {
    /// They match the same packets, so BGP keeps the last one only.
    Same(String, String),
    /// RFC 8955 evaluates the second one first, and they decide differently about some packets.
    Exchanged(String, String),
}

/// Two routes whose order in the text would lead to other decisions than that of RFC 8955.
///
/// # Errors
/// As [`import`].
pub(crate) fn misplaced(text: &str) -> Result<Option<Misplaced>, Error> {
    let routes = route::read(text)?;
    let mut sorted: Vec<_> = routes.iter().enumerate().collect();
    sorted.sort_by(|(_, one), (_, other)| order::compare(&one.components, &other.components));
    for (place, (number, route)) in sorted.iter().enumerate() {
        let names = |first: &route::Route| (first.name.clone(), route.name.clone());
        for (other, first) in &sorted[..place] {
            if order::compare(&first.components, &route.components).is_eq() {
                let (first, second) = names(first);
                return Ok(Some(Misplaced::Same(first, second)));
            }
            if other > number && first.then.differs(route.then) && first.meets(route)? {
                let (second, first) = names(first);
                return Ok(Some(Misplaced::Exchanged(first, second)));
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests;
