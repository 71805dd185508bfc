//! Sets of backends for tests, and what a table gives them.

use std::collections::BTreeMap;

use super::{Backend, SLOTS, Table, id};

/// Backends of weight 1 whose identifiers are hashes of 0, 1, 2, ….
pub fn equal(count: u64) -> Vec<Backend> {
    (0..count).map(|number| Backend { id: id(&number.to_be_bytes()), weight: 1 }).collect()
}

/// Backends with these weights.
pub fn weighted(weights: impl IntoIterator<Item = u16>) -> Vec<Backend> {
    let numbered = (0u64..).zip(weights);
    numbered.map(|(number, weight)| Backend { id: id(&number.to_be_bytes()), weight }).collect()
}

/// The set with another weight of one backend.
pub fn reweighted(mut backends: Vec<Backend>, index: usize, weight: u16) -> Vec<Backend> {
    backends[index].weight = weight;
    backends
}

/// A table of a set that has one.
pub fn table(seed: u64, backends: &[Backend]) -> Table {
    Table::new(seed, backends).expect("a backend has a weight")
}

/// Identifier of the owner of each slot.
pub fn owners(table: &Table) -> Vec<u64> {
    table.slots().iter().map(|&owner| table.backends()[usize::from(owner)].id).collect()
}

/// The number of moved slots between backends whose weights do not change, for any algorithm.
pub fn incidental(old: (&[Backend], &[u64]), new: (&[Backend], &[u64])) -> usize {
    let weights = |set: &[Backend]| -> BTreeMap<u64, u16> {
        set.iter().filter(|one| one.weight > 0).map(|one| (one.id, one.weight)).collect()
    };
    let (before, after) = (weights(old.0), weights(new.0));
    let unchanged = |id| before.get(id) == after.get(id);
    let pairs = old.1.iter().zip(new.1);
    pairs.filter(|(from, to)| from != to && unchanged(from) && unchanged(to)).count()
}

/// Fails if a backend has more than its share rounded up and more than 1.007 of its share.
pub fn assert_even(table: &Table) {
    let total: u64 = table.backends().iter().map(|one| u64::from(one.weight)).sum();
    for (backend, load) in table.backends().iter().zip(table.loads()) {
        let slots = SLOTS as u64 * u64::from(backend.weight);
        let most = slots.div_ceil(total).max(slots * 1007 / (total * 1000));
        assert!(u64::from(load) <= most, "{load} slots of at most {most}: {backend:?}");
    }
}
