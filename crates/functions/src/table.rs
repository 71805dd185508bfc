//! The entries that a map should have, and the smallest change that gets a live map there.
//!
//! Rule: additions come before removals, and a change that fails is taken back, so packets meet
//! the old entries or the new ones and never neither.

use std::collections::BTreeMap;

use spec::{Expect, Map};

/// Keys and values as the map holds them.
pub type Table = BTreeMap<Vec<u8>, Vec<u8>>;

/// What a change did, in entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    pub added: usize,
    pub replaced: usize,
    pub removed: usize,
}

impl std::ops::AddAssign for Changed {
    fn add_assign(&mut self, other: Self) {
        self.added += other.added;
        self.replaced += other.replaced;
        self.removed += other.removed;
    }
}

/// Everything that a map holds now. Keys that vanish meanwhile are left out.
pub fn read<M: Map>(map: &M) -> Result<Table, M::Error> {
    let mut table = Table::new();
    for key in map.keys()? {
        if let Some(value) = map.lookup(&key)? {
            table.insert(key, value);
        }
    }
    Ok(table)
}

/// Brings the map to exactly `wanted`.
///
/// # Errors
/// The map's own, such as a full map; what was added or replaced before it is taken back.
pub fn apply<M: Map>(map: &M, wanted: &Table) -> Result<Changed, M::Error> {
    let live = read(map)?;
    let mut changed = add(map, &live, wanted)?;
    changed.removed = remove(map, &live, wanted)?;
    Ok(changed)
}

/// Brings each map to what it should hold: what is new in all of them first, in this order.
///
/// # Errors
/// A map's own; all of them are as they were.
pub(crate) fn apply_all<M: Map>(parts: &[(&M, &Table)]) -> Result<Changed, M::Error> {
    let mut live = Vec::new();
    for (map, _) in parts {
        live.push(read(*map)?);
    }
    let mut changed = Changed::default();
    for (number, (map, wanted)) in parts.iter().enumerate() {
        match add(*map, &live[number], wanted) {
            Ok(more) => changed += more,
            Err(error) => {
                for (before, (map, wanted)) in parts[..number].iter().enumerate() {
                    take_back(*map, &live[before], wanted);
                }
                return Err(error);
            }
        }
    }
    for ((map, wanted), live) in parts.iter().zip(&live) {
        changed.removed += remove(*map, live, wanted)?;
    }
    Ok(changed)
}

/// Adds and replaces, but removes nothing.
pub(crate) fn add<M: Map>(map: &M, live: &Table, wanted: &Table) -> Result<Changed, M::Error> {
    let mut changed = Changed::default();
    for (key, value) in new(live, wanted) {
        if let Err(error) = map.update(key, value, Expect::Any) {
            take_back(map, live, wanted);
            return Err(error);
        }
        match live.contains_key(key) {
            true => changed.replaced += 1,
            false => changed.added += 1,
        }
    }
    Ok(changed)
}

/// Removes what is not wanted; how many that were.
pub(crate) fn remove<M: Map>(map: &M, live: &Table, wanted: &Table) -> Result<usize, M::Error> {
    let stale = live.keys().filter(|key| !wanted.contains_key(*key));
    let mut removed = 0;
    for key in stale {
        removed += usize::from(map.delete(key)?);
    }
    Ok(removed)
}

/// Undoes [`add`], as far as the map lets us: the first error is the one to report.
pub(crate) fn take_back<M: Map>(map: &M, live: &Table, wanted: &Table) {
    for (key, _) in new(live, wanted) {
        let _ = match live.get(key) {
            Some(value) => map.update(key, value, Expect::Any),
            None => map.delete(key).map(drop),
        };
    }
}

/// Entries of `wanted` that `live` lacks or holds with another value.
fn new<'a>(live: &'a Table, wanted: &'a Table) -> impl Iterator<Item = (&'a Vec<u8>, &'a Vec<u8>)> {
    wanted.iter().filter(|(key, value)| live.get(*key) != Some(*value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use spec::MemoryMap;

    fn table(entries: &[(u8, u8)]) -> Table {
        entries.iter().map(|(key, value)| (vec![*key], vec![*value])).collect()
    }

    #[test]
    fn only_what_differs_is_touched() {
        let map = MemoryMap::new(1, 1, 8);
        apply(&map, &table(&[(1, 10), (2, 20), (3, 30)])).unwrap();
        map.writes.set(0);
        let changed = apply(&map, &table(&[(1, 10), (2, 21), (4, 40)])).unwrap();
        assert_eq!(changed, Changed { added: 1, replaced: 1, removed: 1 });
        assert_eq!(map.writes.get(), 3);
        assert_eq!(read(&map).unwrap(), table(&[(1, 10), (2, 21), (4, 40)]));
    }

    #[test]
    fn a_full_map_keeps_what_it_had() {
        let map = MemoryMap::new(1, 1, 3);
        let old = table(&[(1, 10), (2, 20)]);
        apply(&map, &old).unwrap();
        let error = apply(&map, &table(&[(1, 11), (3, 30), (4, 40)])).unwrap_err();
        assert_eq!(error.to_string(), "the map is full");
        assert_eq!(read(&map).unwrap(), old);
    }
}
