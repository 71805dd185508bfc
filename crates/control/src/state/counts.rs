//! What a filter's rules counted, in this generation and in those before it.
//!
//! Rule: a count belongs to one generation at any moment: it is added to the next one's in the
//! same write that says so, after the old program's last run has ended and before its maps go.

use filter::Carried;
use filter::abi::Count;
use filter::carried::{self, CARRIED, COUNTS};
use kernel::Map;

use super::{Generation, Slot};
use crate::error::Result;

impl Slot {
    /// What each rule of a generation ever counted; the last is for rules that are gone. Empty
    /// for what is no filter.
    pub fn rule_counts(&self, generation: &Generation) -> Result<Vec<Count>> {
        self.counts_through(generation, DEEPEST)
    }

    /// Adds to a running generation what the one before it counted, unless that was done before.
    pub(super) fn settle(&self, running: &Generation) -> Result<()> {
        let Some((map, mut carried)) = read(running)? else { return Ok(()) };
        let Some(before) = carried.pending() else { return Ok(()) };
        sys::thread::wait_for_running_programs();
        carried.settle(&self.counts_of(before, DEEPEST)?);
        Ok(carried.write(&map)?)
    }

    fn counts_through(&self, generation: &Generation, depth: usize) -> Result<Vec<Count>> {
        let Some((_, mut carried)) = read(generation)? else { return Ok(Vec::new()) };
        let own = carried::counts(&generation.map(COUNTS)?)?;
        if let Some(before) = carried.pending().filter(|_| depth > 0) {
            carried.settle(&self.counts_of(before, depth - 1)?);
        }
        Ok(carried.totals(&own))
    }

    /// Nothing for a program that was not kept here.
    fn counts_of(&self, program: u32, depth: usize) -> Result<Vec<Count>> {
        let before = self.generation_of(program)?;
        before.map_or(Ok(Vec::new()), |before| self.counts_through(&before, depth))
    }
}

/// `None` for a generation that is not a filter's.
fn read(generation: &Generation) -> Result<Option<(Map, Carried)>> {
    let Some(map) = generation.map_if_kept(CARRIED)? else { return Ok(None) };
    Ok(Carried::read(&map)?.map(|carried| (map, carried)))
}

/// Generations that may wait for each other. One waits in all that this program makes; the bound
/// is against maps that another process wrote.
const DEEPEST: usize = 4;
