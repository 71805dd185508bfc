//! Changing entries: keys, values and objects as they were typed.

use anyhow::{Result, bail};
use control::assignment::{AssignOptions, Assignment, assign};
use control::maps::{self, Changed, Object};
use kernel::Map;
use spec::Expect;

use super::bytes;
use crate::args::Ref;
use crate::cmd::{Context, Exit, prog};

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
    let holds_objects = maps::holds_objects(map);
    if holds_objects && expect != Expect::Any {
        bail!("`{}` holds kernel objects: it takes neither --exist nor --noexist", map.name());
    }
    let changed = match holds_objects {
        true => maps::set_object(map, &key, &object(map, value)?)?,
        false => maps::set(map, &key, &bytes("value", value, map.info().value_size)?, expect)?,
    };
    answer(&changed, context)
}

pub fn set(
    map: &Map,
    assignments: &[Assignment],
    options: AssignOptions,
    context: &Context,
) -> Result<Exit> {
    let report = assign(map, assignments, options)?;
    context.show(&report)?;
    Ok(if report.is_done() { Exit::Done } else { Exit::No })
}

pub fn delete(map: &Map, key: &str, context: &Context) -> Result<Exit> {
    let key = bytes("key", key, map.info().key_size)?;
    answer(&maps::delete(map, &key)?, context)
}

fn answer(changed: &Changed, context: &Context) -> Result<Exit> {
    context.show(changed)?;
    Ok(if changed.done { Exit::Done } else { Exit::No })
}

/// Opens the object that was named, of the kind that the map holds.
fn object(map: &Map, value: &str) -> Result<Object> {
    let object: Ref = value.parse()?;
    Ok(match map.kind().is_map_of_maps() {
        true => Object::Map(super::open(&object)?),
        false => Object::Program(prog::open(&object)?),
    })
}
