//! How often the instructions of an interface's programs run.
//!
//! A trial: the programs are composed again with a counter in each basic block
//! ([`spec::compose::count_blocks`]), and run until the counting ends. They share all maps with
//! what ran before, except program arrays (`composition::counting`), so nothing else changes, and a
//! process that is killed leaves counted programs that the next one replaces. Not here: counts of
//! runs and times (`status`, `chain`).

use std::collections::BTreeMap;
use std::fs::File;
use std::time::Instant;

use kernel::Map;
use serde::Serialize;
use spec::Map as _;
use spec::compose::{Block, HITS_MAP};
use sys::netns::NetNs;

use crate::Control;
use crate::chain;
use crate::composition::CountedMember;
use crate::error::{ChainError, Context as _, Error, Result};
use crate::filter::update::TRIAL;
use crate::inventory::listing::{ObjectProgram, object_listing};
use crate::state::{State, Trial};
use crate::target::{Target, find_link};

/// Counts while it exists.
#[derive(Debug)]
pub struct HitCounter {
    interface: String,
    members: Vec<(CountedMember, Map)>,
    trial: Trial,
    begin: Instant,
    /// Only one trial runs on an interface at a time.
    _claim: File,
}

/// The instructions of an interface's programs, with the numbers of their runs.
#[derive(Debug, Serialize)]
pub struct HitReport {
    /// Name of the interface.
    pub interface: String,
    /// Seconds for which runs were counted.
    pub seconds: f64,
    /// The programs in the order in which they run. After the program of a member come those that
    /// it calls through program arrays of its object.
    pub members: Vec<HitMember>,
}

/// A program of a member with the numbers of its instructions' runs.
#[derive(Debug, Serialize)]
pub struct HitMember {
    /// Name of the member.
    pub member: String,
    /// A program of its object.
    #[serde(flatten)]
    pub code: ObjectProgram,
}

impl HitCounter {
    /// Begins to count.
    ///
    /// # Errors
    /// Nothing of this project runs on the interface, or another trial does; the kernel refuses the
    /// programs with their counters.
    pub fn start(control: &Control, interface: &str) -> Result<Self> {
        let ifindex = find_link(interface)?.ifindex;
        let claim = State::claim(control, NetNs::current()?.id()?, ifindex, TRIAL)?;
        let claim = claim.map_err(Error::TrialRuns)?;
        let target = Target::open(control, interface)?;
        let mut chain = chain::open(&target)?;
        let members = chain.count_blocks()?;
        if members.is_empty() {
            return Err(ChainError::Nothing { interface: interface.to_owned() }.into());
        }
        let loaded = chain.load().context("the instructions cannot be counted")?;
        let map = |member: &CountedMember| loaded.map(&member.name, HITS_MAP)?.duplicate();
        let maps = members.iter().map(map).collect::<kernel::Result<Vec<_>>>()?;
        let trial = loaded.try_out()?;
        Ok(Self {
            interface: interface.to_owned(),
            members: members.into_iter().zip(maps).collect(),
            trial,
            begin: Instant::now(),
            _claim: claim,
        })
    }

    /// Whether the counted programs run: another process may have changed them.
    ///
    /// # Errors
    /// The interface cannot be read.
    pub fn runs(&self) -> Result<bool> {
        self.trial.runs()
    }

    /// Ends the counting.
    ///
    /// # Errors
    /// The counters cannot be read.
    pub fn finish(self) -> Result<HitReport> {
        let Self { interface, members, trial, begin, .. } = self;
        drop(trial);
        let seconds = begin.elapsed().as_secs_f64();
        // A program that was replaced may still run on another processor.
        sys::thread::wait_for_running_programs();
        let members = members.iter().map(|(member, map)| listed(member, map));
        let members = members.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
        Ok(HitReport { interface, seconds, members })
    }
}

/// The programs of a member.
fn listed(member: &CountedMember, map: &Map) -> Result<Vec<HitMember>> {
    let value = map.lookup(&[0; 4])?.unwrap_or_default();
    let (counters, _) = value.as_chunks::<8>();
    let programs = member.programs.iter();
    Ok(programs
        .map(|(program, blocks)| listed_program(member, program, blocks, counters))
        .collect())
}

fn listed_program(
    member: &CountedMember,
    program: &str,
    blocks: &[Block],
    counters: &[[u8; 8]],
) -> HitMember {
    let mut hits = BTreeMap::new();
    for block in blocks {
        let count = block.counter.and_then(|counter| counters.get(counter));
        let count = count.map(|bytes| u64::from_ne_bytes(*bytes));
        hits.extend((block.start..block.end).map(|slot| (slot, count)));
    }
    let programs: Vec<_> = member.spec.program(program).into_iter().collect();
    let mut listing = object_listing(&member.spec, &programs);
    let mut code = listing.programs.pop().unwrap_or_default();
    let functions = code.functions.iter_mut();
    for instruction in functions.flat_map(|function| &mut function.instructions) {
        instruction.hits = hits.get(&instruction.at).copied().flatten();
    }
    HitMember { member: member.name.clone(), code }
}
