//! Counting the blocks of all members, and of the programs that they call through program arrays of
//! their own.
//!
//! Rule: the trial has program arrays of its own, with the counted programs. The arrays that run
//! are pinned under their names meanwhile, so neither what runs after the trial nor a change by
//! another process gets counted programs. Not here: how a block is counted (`spec::compose`).

use kernel::Map;
use spec::compose::{self, Block, CountedBlocks, HITS_MAP};
use spec::{Initial, Map as _, MapDef, Spec};

use super::Chain;
use super::link::ChainLink;
use crate::error::Result;
use crate::object::called;

/// A member whose blocks are counted.
#[derive(Debug)]
pub struct CountedMember {
    pub name: String,
    /// Its object without the counters.
    pub spec: Spec,
    /// Its program, then those that it calls, each with its blocks.
    pub programs: Vec<(String, Vec<Block>)>,
}

impl Chain<'_> {
    /// Counts the basic blocks of all members from now on.
    ///
    /// # Errors
    /// The blocks of a member cannot be counted.
    pub fn count_blocks(&mut self) -> Result<Vec<CountedMember>> {
        self.links.iter_mut().map(count).collect()
    }
}

fn count(link: &mut ChainLink) -> Result<CountedMember> {
    let (name, program) = (link.member.name.clone(), link.member.program.clone());
    let mut names = vec![program.clone()];
    if let Some(arrays) = arrays_as_filled(link, &program)? {
        link.apart = arrays;
        names.extend(called(&link.spec, &program));
    }
    let counted: Vec<&str> = names.iter().map(String::as_str).collect();
    let CountedBlocks { spec, blocks } = compose::count_blocks(&link.spec, &counted)?;
    let spec = std::mem::replace(&mut link.spec, spec);
    Ok(CountedMember { name, spec, programs: names.into_iter().zip(blocks).collect() })
}

/// The program arrays of a member that its object fills. `None` if it has none, or if one has other
/// entries now than those of the object, which a new array would lack.
fn arrays_as_filled(link: &ChainLink, program: &str) -> Result<Option<Vec<(String, Map)>>> {
    let mut arrays = Vec::new();
    for def in &link.spec.maps {
        let filled = filled(def);
        if filled.is_empty() {
            continue;
        }
        let is_itself =
            |number: &usize| link.spec.programs.get(*number).is_none_or(|one| one.name == program);
        let Some(running) = link.map(&def.name)? else { return Ok(None) };
        if filled.iter().any(|(_, number)| is_itself(number)) || !has_entries(&running, &filled)? {
            return Ok(None);
        }
        arrays.push((def.name.clone(), running));
    }
    Ok(Some(arrays).filter(|arrays| !arrays.is_empty()))
}

/// Index and number of each program with which the object fills a map.
fn filled(def: &MapDef) -> Vec<(u32, usize)> {
    let programs = def.initial.iter().filter_map(|initial| match initial {
        Initial::Program { index, program } => Some((*index, *program)),
        Initial::Map { .. } => None,
    });
    programs.collect()
}

/// Whether an array has programs at these indices and at no others.
fn has_entries(array: &Map, filled: &[(u32, usize)]) -> Result<bool> {
    for index in 0..array.info().max_entries {
        let is_filled = filled.iter().any(|(known, _)| *known == index);
        if array.lookup(&index.to_ne_bytes())?.is_some() != is_filled {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The maps of a member by the names under which they are pinned. An array of the trial needs a pin
/// as well: the kernel empties a program array that no process and no pin refers to.
pub fn pinned<'a>(
    link: &'a ChainLink,
    own: impl Iterator<Item = (String, &'a Map)>,
) -> impl Iterator<Item = (String, &'a Map)> {
    let running = link.apart.iter().map(|(name, map)| (name.clone(), map));
    let number = |name: &String| link.apart.iter().position(|(known, _)| known == name);
    let own = own.map(move |(name, map)| match number(&name) {
        Some(number) => (format!("{CALLS}{number}"), map),
        None => (name, map),
    });
    own.chain(running)
}

/// Whether a map belongs to the counting and not to what follows it.
pub fn is_of_counting(name: &str) -> bool {
    name == HITS_MAP || name.starts_with(CALLS)
}

/// Beginning of the names of program arrays with counted programs.
const CALLS: &str = "xway_hits_calls";
