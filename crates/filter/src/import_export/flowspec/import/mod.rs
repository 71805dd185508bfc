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
//! Rule: the order of the text says nothing; routes decide in the order that RFC 8955 section 5.1
//! gives them, so that is the order of the rules. A route without a prefix is one of IPv4.

mod component;
mod order;
mod route;
mod words;

pub(crate) use route::{HEADER, MOST_BYTES, SHORTEST};

use crate::import_export::Error;
use crate::language::bounds::{RANGES, Work, step};
use crate::{Policies, Rule, Ruleset};

/// Reads routes. What no route matches passes.
///
/// # Errors
/// What is not in the subset, by line.
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
            let reason = format!("the routes have more than {RANGES} ranges of values");
            return Err(Error::new("", reason));
        }
    }
    Ok(ruleset)
}

/// Two routes of a text that do not decide in the order in which they stand there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Misplaced {
    /// They match the same packets, so that BGP keeps the one that comes last.
    Same(String, String),
    /// RFC 8955 asks the second one first, some packets match both, and it matters which decides.
    Exchanged(String, String),
}

/// Whether the routes of a text would decide otherwise in the order in which they stand there.
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
