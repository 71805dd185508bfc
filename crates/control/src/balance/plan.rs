//! What a change of services moves, before it is made.

use std::collections::BTreeSet;

use functions::balancer::choice::{self, SLOTS};
use functions::balancer::{Config, Service, table};
use serde::Serialize;

/// What another file of services would move.
#[derive(Clone, Debug, Serialize)]
pub struct PlanReport {
    /// Share of slots that get another backend, of the slots of all services: 0 to 1.
    pub moved: f64,
    /// Most slots of a backend relative to its share, after the change, in any service; 1 is even.
    pub even: f64,
    /// Services of either file.
    pub services: Vec<ServicePlan>,
}

/// What a change moves in a service.
#[derive(Clone, Debug, Serialize)]
pub struct ServicePlan {
    /// Name of the service.
    pub name: String,
    /// Whether it is `added`, `removed`, or `in-both` files.
    pub change: &'static str,
    /// Slots that get another backend, of 65,536.
    pub moved: u32,
    /// Number of those that must move: a backend of theirs leaves or joins, or has another weight.
    pub required: u32,
    /// Most slots of a backend relative to its share after the change; 0 without backends.
    pub even: f64,
}

/// Compares two files of services.
///
/// # Errors
/// A service has too many backends.
pub fn plan(old: &Config, new: &Config) -> Result<PlanReport, choice::Error> {
    let all = old.services.iter().chain(&new.services).map(|one| one.name.clone());
    let mut services = Vec::new();
    for name in all.collect::<BTreeSet<_>>() {
        let (was, is) = (find(old, &name), find(new, &name));
        let before = was.map_or(Ok(None), |one| chosen(old, one))?;
        let after = is.map_or(Ok(None), |one| chosen(new, one))?;
        let change = match (was, is) {
            (None, _) => "added",
            (_, None) => "removed",
            _ => "in-both",
        };
        let (moved, required) = match (&before, &after) {
            (Some(before), Some(after)) => {
                let plan = choice::plan(before, after);
                (plan.moved, plan.required)
            }
            (None, None) => (0, 0),
            _ if change == "in-both" => (SLOTS as u32, SLOTS as u32),
            _ => (0, 0),
        };
        let even = after.map_or(0.0, |table| choice::evenness(&table).max);
        services.push(ServicePlan { name, change, moved, required, even });
    }
    let both = services.iter().filter(|one| one.change == "in-both");
    let slots = (both.count() * SLOTS).max(1) as f64;
    let moved: u32 = services.iter().map(|one| one.moved).sum();
    let even = services.iter().map(|one| one.even).fold(0.0, f64::max);
    Ok(PlanReport { moved: f64::from(moved) / slots, even, services })
}

fn find<'c>(config: &'c Config, name: &str) -> Option<&'c Service> {
    config.services.iter().find(|one| one.name == name)
}

/// The table of a service; `None` if no backend gets new connections.
fn chosen(config: &Config, service: &Service) -> Result<Option<choice::Table>, choice::Error> {
    match table(config, service) {
        Ok(table) => Ok(Some(table)),
        Err(choice::Error::NoneAvailable) => Ok(None),
        Err(error) => Err(error),
    }
}
