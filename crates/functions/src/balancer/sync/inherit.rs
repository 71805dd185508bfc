//! Takes over the state of a balancer on the same host, into maps that may have other sizes.

use std::collections::{BTreeMap, BTreeSet};

use spec::Spec;
use spec::{Expect, Map};

use super::super::choice::SLOTS;
use super::super::live::{self, Live, Maps, NONE, QUIC_SHIFT, key_of, write_table};
use super::super::service::{KEEPS_DATAGRAMS, NO_TABLE};
use super::super::{BACKENDS, COUNTS, Config, HOPS, SERVICES, TABLES, abi, quic};

/// Sizes maps so that the state fits which a balancer has, beside what a change to the
/// configuration needs.
///
/// # Errors
/// A map's own.
pub fn needs<M: Map>(spec: &mut Spec, maps: &Maps<'_, M>, config: &Config) -> Result<(), M::Error> {
    let live = Live::read(maps)?;
    let sets = live.sets();
    let id_lines = quic::Place::new(maps.quic, maps.ids, &sets)?.lines_used();
    let lines = (SLOTS * 2 / abi::Line::SIZE) as u32;
    let tables = live.tables().len() as u32 + 2 * config.services.len() as u32;
    let highest = live.backends.keys().next_back().map_or(0, |number| u32::from(*number) + 1);
    let joining: usize = config.services.iter().map(|one| one.backends.len()).sum();
    let keys = 2 * live.services.len() as u32;
    for def in &mut spec.maps {
        let least = match &*def.name {
            SERVICES => def.max_entries + keys,
            BACKENDS | HOPS | COUNTS => (highest + joining as u32).min(u32::from(NONE) + 1),
            TABLES => tables * lines,
            quic::CONFIGS => def.max_entries + quic::EACH * sets.len() as u32,
            quic::IDS => def.max_entries + id_lines,
            _ => continue,
        };
        def.max_entries = def.max_entries.max(least);
    }
    Ok(())
}

/// Copies services, tables, backends with their numbers, QUIC ids and patterns into maps that
/// nothing uses yet. An update brings them to the new configuration then, as it would have the old
/// ones. Flows are not copied: see [`merge`](super::merge).
///
/// # Errors
/// A map's own.
pub fn inherit<M: Map>(from: &Maps<'_, M>, to: &Maps<'_, M>) -> Result<(), M::Error> {
    let live = Live::read(from)?;
    for (number, backend) in &live.backends {
        to.backends.update(&key_of(*number), &backend.to_bytes(), Expect::Any)?;
    }
    let old: Vec<u32> = live.tables().into_iter().filter(|table| *table != NO_TABLE).collect();
    for (new, table) in old.iter().enumerate() {
        write_table(to.tables, new as u32, &live::slots(from.tables, *table)?)?;
    }
    let moved = |table: u32| {
        let place = old.iter().position(|one| *one == table);
        place.map_or(NO_TABLE, |place| place as u32)
    };
    let old_sets = quic::Place::new(from.quic, from.ids, &live.sets())?;
    let mut new_sets = quic::Place::new(to.quic, to.ids, &BTreeSet::new())?;
    let mut sets = BTreeMap::new();
    for number in live.sets() {
        // A set that does not fit is made again, without the ids of backends that left.
        let written = new_sets.write(&old_sets.read(number)?)?;
        sets.insert(number, written.unwrap_or_default());
    }
    for (key, entry) in &live.services {
        let (table, former) = (moved(entry.table), moved(entry.former));
        let set = sets[&(entry.flags >> QUIC_SHIFT)];
        let flags = entry.flags & KEEPS_DATAGRAMS | set << QUIC_SHIFT;
        let entry = abi::Service { table, former, flags, ..*entry };
        to.services.update(&key.to_bytes(), &entry.to_bytes(), Expect::Any)?;
    }
    for number in [0_u32, 1] {
        let key = number.to_le_bytes();
        if let Some(patterns) = from.patterns.lookup(&key)? {
            to.patterns.update(&key, &patterns, Expect::Any)?;
        }
    }
    let only = 0_u32.to_le_bytes();
    if let Some(active) = from.active.lookup(&only)? {
        to.active.update(&only, &active, Expect::Any)?;
    }
    Ok(())
}
