//! Kinds of maps and what can be done with them.

use spec::{Expect, MapKind};
use sys::bpf::MapCreate;

use super::{Answer, words};
use crate::error::Result;
use crate::map::Map;

/// `shape`: bytes of key, bytes of value, entries.
pub(super) fn kind(kind: MapKind, shape: [u32; 3], flags: u32) -> Answer {
    made(kind, shape, flags).map(drop).map_err(|error| words(&error))
}

/// The batch command itself: the fallback to single calls would hide its absence.
pub(super) fn batch() -> Answer {
    let map = made(MapKind::HASH, [4, 4, 1], 0).map_err(|error| words(&error))?;
    map.batch_only(&[(vec![1; 4], vec![2; 4])], Expect::Any).map_err(|error| words(&error))
}

pub(super) fn freeze() -> Answer {
    let map = made(MapKind::ARRAY, [4, 4, 1], 0);
    map.and_then(|map| map.freeze()).map_err(|error| words(&error))
}

fn made(kind: MapKind, shape: [u32; 3], flags: u32) -> Result<Map> {
    let [key_size, value_size, max_entries] = shape;
    let kind = kind.0;
    let name = "xway_probe";
    let create =
        MapCreate { name, kind, key_size, value_size, max_entries, flags, ..Default::default() };
    Map::create(&create)
}
