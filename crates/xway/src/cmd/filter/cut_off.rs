//! What rules cut off where they are loaded: whether this command runs in an SSH session.

use filter::Ruleset;
use filter::language::lint::Warning;
use filter::model::cut_off::{Session, Surroundings, cut_off};

use crate::cmd::generate::guard;
use crate::view::say;

/// The SSH session that this command runs in.
pub fn session() -> Option<Session> {
    guard::connection().as_deref().and_then(Session::parse)
}

/// Warnings for rules that may be loaded on any interface.
pub fn anywhere(rules: &Ruleset, session: Option<Session>) -> Vec<Warning> {
    cut_off(rules, &Surroundings { interface: None, session })
}

/// Warnings for rules on an interface. A session that another interface carries is not affected.
fn warnings(rules: &Ruleset, interface: &str) -> Vec<Warning> {
    let carried = || guard::carried(interface).is_ok_and(|client| client.is_some());
    let session = session().filter(|_| carried());
    cut_off(rules, &Surroundings { interface: Some(interface.to_owned()), session })
}

/// Prints them for rules that are loaded, on standard error.
pub fn warn(rules: &Ruleset, interface: &str) {
    for warning in warnings(rules, interface) {
        say(&format!("xway: warning: {}", warning.text));
    }
}
