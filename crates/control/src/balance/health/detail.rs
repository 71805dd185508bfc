//! `Details`: what is known about the health of backends, beside the balancer's maps.
//!
//! Rule: whether a backend is out is read from the balancer's maps; this adds since when, why, and
//! what damping remembers. Without it, those begin anew.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use functions::balancer::health::{Group, Member, State};
use serde::{Deserialize, Serialize};
use spec::Map as _;

use crate::error::Result;
use crate::map_names::HEALTH;
use crate::state::Generation;
use crate::text_map::create_text_map;

/// What is known, by service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Details {
    pub services: BTreeMap<String, ServiceDetails>,
}

/// What is known about a service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServiceDetails {
    /// Whether backends that fail are in use because too many do.
    pub fails_open: bool,
    pub backends: BTreeMap<IpAddr, Detail>,
}

/// What is known about a backend.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Detail {
    pub state: String,
    /// Milliseconds on the monotonic clock when its state began.
    pub since_ms: u64,
    /// How often it was taken out with short pauses.
    pub flaps: u32,
    /// Why its last failed check failed.
    pub reason: String,
}

impl Details {
    /// Reads what was kept beside a program.
    pub fn read(generation: &Generation) -> Result<Self> {
        let Some(map) = generation.map_if_kept(HEALTH)? else { return Ok(Self::default()) };
        let bytes = map.lookup(&[0; 4])?.unwrap_or_default();
        let text = std::str::from_utf8(&bytes).unwrap_or_default();
        Ok(toml::from_str(text).unwrap_or_default())
    }

    /// Keeps this in place of what was kept before.
    pub fn replace(&self, generation: &Generation) -> Result<()> {
        // The line break keeps the map from being empty, which the kernel refuses.
        let text = toml::to_string(self).unwrap_or_default() + "\n";
        generation.replace_map(HEALTH, &create_text_map(HEALTH, &text)?)
    }

    /// Adds what a group of backends knows.
    pub fn add(&mut self, service: &str, group: &Group) {
        let detail = |member: &Member| Detail {
            state: group.state(member).name().to_owned(),
            since_ms: member.since.as_millis() as u64,
            flaps: member.flaps,
            reason: member.reason.clone(),
        };
        let members = group.members().iter();
        let backends = members.map(|(backend, member)| (*backend, detail(member))).collect();
        let details = ServiceDetails { fails_open: group.is_open(), backends };
        self.services.insert(service.to_owned(), details);
    }

    /// What is known about a backend.
    #[must_use]
    pub fn find(&self, service: &str, backend: IpAddr) -> Option<&Detail> {
        self.services.get(service)?.backends.get(&backend)
    }

    /// The state from which checks of a backend continue, whether it is out as the maps have it.
    #[must_use]
    pub fn member(&self, service: &str, backend: IpAddr, is_out: bool, now: Duration) -> Member {
        let Some(detail) = self.find(service, backend) else {
            return Member::new(is_out, now);
        };
        let mut member = Member::new(is_out, Duration::from_millis(detail.since_ms).min(now));
        member.is_known = detail.state != State::Unknown.name();
        member.reason.clone_from(&detail.reason);
        member.flaps = detail.flaps;
        member
    }
}
