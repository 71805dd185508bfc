//! Probes for types of maps and for operations on them.

use spec::{Expect, MapKind};
use sys::bpf::MapCreate;

use super::Answer;
use crate::error::Result;
use crate::map::Map;

/// Creates a map; `shape` is the size of key and value in bytes, and the number of entries.
pub(super) fn kind(kind: MapKind, shape: [u32; 3], flags: u32) -> Answer {
    created(kind, shape, flags)?;
    Ok(())
}

/// Calls the batch command directly: the fallback to single calls would hide its absence.
pub(super) fn batch() -> Answer {
    let map = created(MapKind::HASH, [4, 4, 1], 0)?;
    Ok(map.batch_only(&[(vec![1; 4], vec![2; 4])], Expect::Any)?)
}

pub(super) fn freeze() -> Answer {
    Ok(created(MapKind::ARRAY, [4, 4, 1], 0)?.freeze()?)
}

fn created(kind: MapKind, shape: [u32; 3], flags: u32) -> Result<Map> {
    let [key_size, value_size, max_entries] = shape;
    let kind = kind.0;
    let name = "xway_probe";
    let create =
        MapCreate { name, kind, key_size, value_size, max_entries, flags, ..Default::default() };
    Map::create(&create)
}
