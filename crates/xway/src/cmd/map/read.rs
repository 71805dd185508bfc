//! Reading entries: all of them, or one.

use anyhow::{Context as _, Result, bail};
use kernel::{Map, PerCpu};
use spec::{Map as _, MapKind};

use super::types::Types;
use super::{bytes, facts};
use crate::cmd::{Context, Exit};
use crate::view::map::{Content, Entries, Entry, Found};
use crate::view::tree::Tree;

pub fn dump(map: &Map, context: &Context) -> Result<Exit> {
    let reference = facts::reference(map.info());
    if map.info().key_size == 0 {
        bail!("a {} has no keys: what is in it can only be taken out", reference.kind);
    }
    let types = Types::of(map);
    let raw = map.entries().with_context(|| format!("cannot read all of `{}`", map.name()))?;
    let mut entries: Vec<_> = raw
        .into_iter()
        .map(|(key, value)| Entry { key: types.key(&key), content: of(map, &types, value) })
        .collect();
    // Hash maps have no order; equal contents must be printed equally.
    entries.sort_by(|a, b| order(&a.key, &b.key));
    context.show(&Entries { map: reference, entries })?;
    Ok(Exit::Done)
}

pub fn lookup(map: &Map, key: &str, context: &Context) -> Result<Exit> {
    let key = bytes("key", key, map.info().key_size)?;
    let types = Types::of(map);
    let found = map.lookup(&key)?;
    let exit = if found.is_some() { Exit::Done } else { Exit::No };
    context.show(&Found {
        map: facts::reference(map.info()),
        found: found.is_some(),
        key: types.key(&key),
        content: found.map(|value| of(map, &types, value)),
    })?;
    Ok(exit)
}

fn of(map: &Map, types: &Types, value: Vec<u8>) -> Content {
    content(map.kind(), map.info().value_size, types, value)
}

/// A value as it is shown; `value_size` is one processor's.
pub fn content(kind: MapKind, value_size: u32, types: &Types, value: Vec<u8>) -> Content {
    if !kind.is_per_cpu() {
        return Content::One { value: types.value(&value) };
    }
    let values = PerCpu::new(value, value_size as usize);
    let cpus: Vec<_> = values.values().map(|value| types.value(value)).collect();
    let sum = Tree::sum(&cpus);
    Content::PerCpu { cpus, sum }
}

/// Numbers by size, all else by its text.
pub fn order(a: &Tree, b: &Tree) -> std::cmp::Ordering {
    match (a, b) {
        (Tree::Int(a), Tree::Int(b)) => a.cmp(b),
        _ => a.to_string().cmp(&b.to_string()),
    }
}
