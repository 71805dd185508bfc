//! The counts of a filter's rules, in this generation and in earlier ones.
//!
//! Rule: a count belongs to exactly one generation at any time. One write adds it to the next
//! generation and records that, after the old program's last run has ended and before its maps are
//! removed.

use filter::Carried;
use filter::abi::Count;
use filter::maps::{CARRIED, COUNTS};
use filter::runtime::carried_counts;
use kernel::Map;

use super::{Generation, Slot};
use crate::error::Result;

impl Slot {
    /// Counts of each rule of a generation since it was first loaded; the last is for rules that
    /// are no longer loaded. Empty for a program that is not a filter.
    pub fn rule_counts(&self, generation: &Generation) -> Result<Vec<Count>> {
        self.counts_through(generation, DEEPEST)
    }

    /// Adds the counts of the previous generation to the running one, unless they were added.
    pub(super) fn settle(&self, running: &Generation) -> Result<()> {
        let Some((map, mut carried)) = read(running)? else { return Ok(()) };
        let Some(before) = carried.pending() else { return Ok(()) };
        sys::thread::wait_for_running_programs();
        carried.settle(&self.counts_of(before, DEEPEST)?);
        Ok(carried.write(&map)?)
    }

    fn counts_through(&self, generation: &Generation, depth: usize) -> Result<Vec<Count>> {
        let Some((_, mut carried)) = read(generation)? else { return Ok(Vec::new()) };
        let own = carried_counts::counts(&generation.map(COUNTS)?)?;
        if let Some(before) = carried.pending().filter(|_| depth > 0) {
            carried.settle(&self.counts_of(before, depth - 1)?);
        }
        Ok(carried.totals(&own))
    }

    /// Counts of a program's generation; empty for a program without one.
    fn counts_of(&self, program: u32, depth: usize) -> Result<Vec<Count>> {
        for before in self.generations_of(program)? {
            let counts = self.counts_through(&before, depth)?;
            if !counts.is_empty() {
                return Ok(counts);
            }
        }
        Ok(Vec::new())
    }
}

/// Carried counts of a generation; `None` if it is not a filter's.
fn read(generation: &Generation) -> Result<Option<(Map, Carried)>> {
    let Some(map) = generation.map_if_kept(CARRIED)? else { return Ok(None) };
    Ok(Carried::read(&map)?.map(|carried| (map, carried)))
}

/// Largest number of generations whose counts were not added yet. This program leaves at most one;
/// the bound protects against maps that another process wrote.
const DEEPEST: usize = 4;
