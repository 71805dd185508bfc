//! Takes over the state of a balancer on the same host, into maps that may have other sizes.

use spec::Spec;
use spec::{Expect, Map};

use super::super::choice::SLOTS;
use super::super::live::{self, Live, Maps, NONE, key_of, write_table};
use super::super::service::{KEEPS_DATAGRAMS, NO_TABLE};
use super::super::{BACKENDS, COUNTS, Config, HOPS, SERVICES, TABLES, abi};

/// Sizes maps so that the state fits which a balancer has, beside what a change to the
/// configuration needs.
pub fn needs(spec: &mut Spec, live: &Live, config: &Config) {
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
            _ => continue,
        };
        def.max_entries = def.max_entries.max(least);
    }
}

/// Copies services, tables, backends with their numbers, and patterns into maps that nothing uses
/// yet. An update brings them to the new configuration then, as it would have the old ones.
/// Flows are not copied: see [`merge`](super::merge).
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
    for (key, entry) in &live.services {
        let (table, former) = (moved(entry.table), moved(entry.former));
        // The update gives it a set of QUIC ids of its own.
        let flags = entry.flags & KEEPS_DATAGRAMS;
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
