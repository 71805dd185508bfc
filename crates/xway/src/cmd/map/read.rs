//! Reading entries: all of them, or one.

use anyhow::{Context as _, Result, bail};
use control::inventory;
use kernel::Map;

use super::bytes;
use crate::cmd::{Context, Exit};

pub fn dump(map: &Map, context: &Context) -> Result<Exit> {
    if map.info().key_size == 0 {
        let kind = inventory::map_kind(map.info().kind);
        bail!("a {kind} has no keys: its contents can only be removed one by one");
    }
    let entries = inventory::entries(map);
    context.show(&entries.with_context(|| format!("cannot read all of `{}`", map.name()))?)?;
    Ok(Exit::Done)
}

pub fn lookup(map: &Map, key: &str, context: &Context) -> Result<Exit> {
    let key = bytes("key", key, map.info().key_size)?;
    let found = inventory::found(map, &key)?;
    context.show(&found)?;
    Ok(if found.found { Exit::Done } else { Exit::No })
}
