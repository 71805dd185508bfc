//! What rules cut off where they are loaded: whether this command runs in an SSH session.

use functions::filter::Ruleset;
use functions::filter::lint::{Session, Surroundings, Warning, cut_off};

use crate::cmd::generate::guard;
use crate::view::say;

/// On an interface, or on any. A session that another interface carries is none of this one's.
pub fn warnings(rules: &Ruleset, interface: Option<&str>) -> Vec<Warning> {
    let session = guard::connection().as_deref().and_then(Session::parse);
    let arrives = |dev: &str| guard::carried(dev).is_ok_and(|client| client.is_some());
    let session = session.filter(|_| interface.is_none_or(arrives));
    cut_off(rules, &Surroundings { interface: interface.map(str::to_owned), session })
}

/// Prints them for rules that are loaded, on standard error.
pub fn warn(rules: &Ruleset, interface: &str) {
    for warning in warnings(rules, Some(interface)) {
        say(&format!("xway: warning: {}", warning.text));
    }
}
