//! Warnings for rules that would interrupt the network service of this host, or the SSH session of
//! this process.

use filter::Ruleset;
use filter::language::lint::Warning;
use filter::model::cut_off::{Session, Surroundings, cut_off};

use crate::session;

/// The SSH session of this process.
pub fn own_session() -> Option<Session> {
    session::connection().as_deref().and_then(Session::parse)
}

/// Warnings for rules that may be loaded on any interface.
pub fn warnings(rules: &Ruleset, session: Option<Session>) -> Vec<Warning> {
    cut_off(rules, &Surroundings { interface: None, session })
}

/// Warnings for rules on an interface. A session that another interface carries is not affected.
pub fn warnings_on(rules: &Ruleset, interface: &str) -> Vec<Warning> {
    let is_carried = || session::client_on(interface).is_ok_and(|client| client.is_some());
    let session = own_session().filter(|_| is_carried());
    cut_off(rules, &Surroundings { interface: Some(interface.to_owned()), session })
}
