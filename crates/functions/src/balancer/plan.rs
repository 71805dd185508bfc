//! What a change of the backends moves.

use std::collections::BTreeMap;

use super::backend::SLOTS;
use super::choice::Table;

/// The difference between two tables.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Slots whose owner changes, of [`SLOTS`].
    pub moved: u32,
    /// Moved slots whose owner is gone or has a lower weight, or whose new owner joins or has a
    /// higher weight.
    pub required: u32,
    /// Evenness of the old table.
    pub before: Evenness,
    /// Evenness of the new table.
    pub after: Evenness,
}

impl Plan {
    /// Moved slots between two backends that the change does not concern: what it costs others.
    #[must_use]
    pub fn incidental(&self) -> u32 {
        self.moved - self.required
    }
}

/// Loads of backends relative to their shares: slots × sum of weights ÷ ([`SLOTS`] × weight). 1 is
/// a share that is met exactly. Backends of weight 0 do not count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evenness {
    /// The most loaded backend.
    pub max: f64,
    /// The least loaded backend.
    pub min: f64,
}

/// Compares two tables by the identifiers of backends: indices can differ.
#[must_use]
pub fn plan(old: &Table, new: &Table) -> Plan {
    let (weights_before, weights_after) = (weights(old), weights(new));
    let weight = |weights: &BTreeMap<u64, u16>, id| weights.get(&id).copied().unwrap_or(0);
    let (mut moved, mut required) = (0, 0);
    for (&from, &to) in old.slots().iter().zip(new.slots()) {
        let from = old.backends()[usize::from(from)].id;
        let to = new.backends()[usize::from(to)].id;
        if from == to {
            continue;
        }
        moved += 1;
        let loses = weight(&weights_after, from) < weight(&weights_before, from);
        let gains = weight(&weights_after, to) > weight(&weights_before, to);
        required += u32::from(loses || gains);
    }
    Plan { moved, required, before: evenness(old), after: evenness(new) }
}

/// How well the loads in a table match the weights.
#[must_use]
pub fn evenness(table: &Table) -> Evenness {
    let total: u64 = table.backends().iter().map(|backend| u64::from(backend.weight)).sum();
    let mut found = Evenness { max: 0.0, min: f64::INFINITY };
    for (backend, load) in table.backends().iter().zip(table.loads()) {
        if backend.weight > 0 {
            let share = SLOTS as f64 * f64::from(backend.weight) / total as f64;
            found.max = found.max.max(f64::from(load) / share);
            found.min = found.min.min(f64::from(load) / share);
        }
    }
    found
}

fn weights(table: &Table) -> BTreeMap<u64, u16> {
    table.backends().iter().map(|backend| (backend.id, backend.weight)).collect()
}
