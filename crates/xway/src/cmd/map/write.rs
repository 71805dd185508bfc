//! Changing entries, and why the kernel would not.

use anyhow::{Result, bail};
use control::inventory::{self, Types};
use kernel::{Error, Map, PerCpu};
use spec::{Expect, Map as _, MapKind};
use sys::errno::{E2BIG, EEXIST, EINVAL, ENOENT, ENOSPC, EPERM};

use super::bytes;
use crate::args::Ref;
use crate::cmd::{Context, Exit, prog};
use crate::view::map::{Changed, Outcome};

pub fn expectation(noexist: bool, exist: bool) -> Expect {
    match (noexist, exist) {
        (true, _) => Expect::Absent,
        (_, true) => Expect::Present,
        _ => Expect::Any,
    }
}

pub fn update(
    map: &Map,
    key: &str,
    value: &str,
    expect: Expect,
    context: &Context,
) -> Result<Exit> {
    let key = bytes("key", key, map.info().key_size)?;
    let outcome = match put(map, &key, value, expect)? {
        Ok(()) => Outcome::Set,
        Err(error) if expect == Expect::Absent && is(&error, EEXIST) => Outcome::Present,
        Err(error) if expect == Expect::Present && is(&error, ENOENT) => Outcome::Absent,
        Err(error) => return Err(explained(map, &key, error)),
    };
    answer(map, &key, outcome, context)
}

pub fn delete(map: &Map, key: &str, context: &Context) -> Result<Exit> {
    let key = bytes("key", key, map.info().key_size)?;
    let outcome = match map.delete(&key) {
        Ok(true) => Outcome::Deleted,
        Ok(false) => Outcome::Absent,
        Err(error) if is(&error, EINVAL) && ARRAYS.contains(&map.kind()) => {
            bail!("entries of an array cannot be deleted: set {} to zero instead", map.name())
        }
        Err(error) => return Err(explained(map, &key, error)),
    };
    answer(map, &key, outcome, context)
}

fn answer(map: &Map, key: &[u8], outcome: Outcome, context: &Context) -> Result<Exit> {
    let done = matches!(outcome, Outcome::Set | Outcome::Deleted);
    let key = Types::of(map).key(key);
    context.show(&Changed { map: inventory::map_ref(map.info()), key, done, outcome })?;
    Ok(if done { Exit::Done } else { Exit::No })
}

/// The outer result is about what was typed, the inner one the kernel's.
fn put(map: &Map, key: &[u8], value: &str, expect: Expect) -> Result<kernel::Result<()>> {
    let holds_objects = map.kind() == MapKind::PROG_ARRAY || map.kind().is_map_of_maps();
    if holds_objects && expect != Expect::Any {
        bail!("`{}` holds kernel objects: it takes neither --exist nor --noexist", map.name());
    }
    if holds_objects {
        let object: Ref = value.parse().map_err(|wrong: String| anyhow::anyhow!(wrong))?;
        if map.kind().is_map_of_maps() {
            return Ok(map.put_map(key, &super::open(&object)?));
        }
        let index = u32::from_ne_bytes(key.try_into()?);
        return Ok(map.put_program(index, &prog::open(&object)?));
    }
    let mut value = bytes("value", value, map.info().value_size)?;
    if map.kind().is_per_cpu() {
        value = PerCpu::repeat(&value, sys::cpu::possible()?).into_bytes();
    }
    Ok(map.update(key, &value, expect))
}

/// The kernel's errno in terms of this map.
fn explained(map: &Map, key: &[u8], error: Error) -> anyhow::Error {
    let (name, most) = (map.name(), map.max_entries());
    let text = match error.errno() {
        Some(EPERM) if inventory::descriptor(map).frozen => {
            format!("map `{name}` is frozen: only programs may write to it")
        }
        Some(E2BIG) if ARRAYS.contains(&map.kind()) => {
            format!("map `{name}` has {most} entries: the last index is {}", most.saturating_sub(1))
        }
        Some(E2BIG | ENOSPC) => {
            format!("map `{name}` is full: it takes {most} entries; delete one first")
        }
        Some(EEXIST) if ARRAYS.contains(&map.kind()) => {
            format!("map `{name}` is an array: every entry is there already")
        }
        _ => format!("cannot change {} in `{name}`", Types::of(map).key(key)),
    };
    anyhow::Error::new(error).context(text)
}

fn is(error: &Error, errno: i32) -> bool {
    error.errno() == Some(errno)
}

const ARRAYS: &[MapKind] = &[MapKind::ARRAY, MapKind::PERCPU_ARRAY, MapKind::ARRAY_OF_MAPS];
