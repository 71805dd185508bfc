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

use super::Error;
use crate::filter::Ruleset;
use crate::filter::abi::{Policy, Reason};

/// Reads routes. What no route matches passes.
///
/// # Errors
/// What is not in the subset, by line.
pub fn read(text: &str) -> Result<Ruleset, Error> {
    let mut routes = route::read(text)?;
    routes.sort_by(|one, other| order::compare(&one.components, &other.components));
    let mut ruleset = Ruleset::default();
    for oddity in Reason::ALL {
        // A router judges them by its routes too.
        ruleset.policies.set(oddity, Policy::Judge);
    }
    for route in routes {
        route.add_to(&mut ruleset.rules)?;
    }
    Ok(ruleset)
}

#[cfg(test)]
mod tests;
