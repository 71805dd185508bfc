//! `HealthEvent`: what checks changed, for logs and scripts.

use std::fmt;
use std::net::IpAddr;

use serde::Serialize;

/// What checks of backends changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HealthEvent {
    /// Name of the interface.
    pub interface: String,
    /// Name of the service; null if the event is of the balancer.
    pub service: Option<String>,
    /// The backend; null if the event is of the service.
    pub backend: Option<IpAddr>,
    /// `up`, `down`, `fail-open`, `fail-closed`, `announced`, `withdrawn`, `not-checked` or
    /// `not-applied`.
    pub event: HealthEventKind,
    /// Why, as a sentence; the network and table of `announced` and `withdrawn`; or
    /// empty.
    pub reason: String,
}

/// Kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HealthEventKind {
    /// A backend is in use again.
    Up,
    /// A backend is taken out.
    Down,
    /// Too many backends fail: no more is taken out.
    FailOpen,
    /// The limit is not reached any more.
    FailClosed,
    /// A network is announced, because a service has a backend again.
    Announced,
    /// A network is not announced any more, because no service has a backend.
    Withdrawn,
    /// A backend cannot be checked.
    NotChecked,
    /// A change was not applied, and is tried again.
    NotApplied,
}

impl fmt::Display for HealthEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.event {
            HealthEventKind::Up => "up",
            HealthEventKind::Down => "down",
            HealthEventKind::FailOpen => "nothing more is taken out",
            HealthEventKind::FailClosed => "the limit is not exceeded any more",
            HealthEventKind::Announced => "announced",
            HealthEventKind::Withdrawn => "withdrawn",
            HealthEventKind::NotChecked => "not checked",
            HealthEventKind::NotApplied => "health is not applied",
        };
        write!(f, "{}: ", self.interface)?;
        if let Some(service) = &self.service {
            write!(f, "{service}: ")?;
        }
        if let Some(backend) = self.backend {
            write!(f, "backend {backend} ")?;
        }
        f.write_str(what)?;
        if self.reason.is_empty() { Ok(()) } else { write!(f, ": {}", self.reason) }
    }
}
