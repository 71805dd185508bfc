//! `map list|show|dump|lookup|update|set|delete|pin`: maps in the kernel, of any owner.

mod read;
mod write;

use std::path::Path;

use anyhow::{Result, bail};
use control::assignment::AssignOptions;
use control::inventory::{self, parse_bytes};
use kernel::{Map, list};
use sys::errno::ENOENT;

use super::pick::{self, Candidate};
use super::{Context, Exit, rights};
use crate::args::{MapAction, Ref};

pub fn run(action: &MapAction, context: &Context) -> Result<Exit> {
    act(action, context).map_err(|error| rights::explained(error, rights::LISTING))
}

fn act(action: &MapAction, context: &Context) -> Result<Exit> {
    match action {
        MapAction::List => show_all(context),
        MapAction::Show { map } => show(&open(map)?, context),
        MapAction::Dump { map } => read::dump(&open(map)?, context),
        MapAction::Lookup { map, key } => read::lookup(&open(map)?, key, context),
        MapAction::Update { map, key, value, noexist, exist } => {
            let expect = write::expectation(*noexist, *exist);
            write::update(&open(map)?, key, value, expect, context)
        }
        MapAction::Set { map, assignments, cpu, noexist, exist } => {
            let expect = write::expectation(*noexist, *exist);
            write::set(&open(map)?, assignments, AssignOptions { expect, cpu: *cpu }, context)
        }
        MapAction::Delete { map, key } => write::delete(&open(map)?, key, context),
        MapAction::Pin { map, path } => pin(&open(map)?, path, context),
    }
}

fn show_all(context: &Context) -> Result<Exit> {
    context.show(&inventory::maps()?)?;
    Ok(Exit::Done)
}

fn show(map: &Map, context: &Context) -> Result<Exit> {
    context.show(&inventory::map(map)?)?;
    Ok(Exit::Done)
}

fn pin(map: &Map, path: &Path, context: &Context) -> Result<Exit> {
    context.show(&control::maps::pin(map, path)?)?;
    Ok(Exit::Done)
}

/// Opens what was named.
pub fn open(word: &Ref) -> Result<Map> {
    match word {
        Ref::Id(id) => by_id(*id),
        Ref::Pin(path) => Ok(control::maps::open_pin(path)?),
        Ref::Name(name) => {
            let all: Vec<_> = list::maps()?
                .into_iter()
                .map(|info| {
                    let about =
                        format!("{}, at most {}", inventory::map_kind(info.kind), info.max_entries);
                    Candidate { id: info.id, about, name: info.name }
                })
                .collect();
            by_id(pick::by_name("map", name, &all)?)
        }
    }
}

fn by_id(id: u32) -> Result<Map> {
    match Map::from_id(id) {
        Err(error) if error.errno() == Some(ENOENT) => {
            bail!("no map has the id {id}: see `xway map list`")
        }
        other => Ok(other?),
    }
}

/// A key or value as it was typed.
fn bytes(what: &str, text: &str, width: u32) -> Result<Vec<u8>> {
    parse_bytes(text, width as usize).map_err(|wrong| anyhow::anyhow!("{what} {wrong}"))
}
