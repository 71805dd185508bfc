//! `Builder`: generates and loads the programs of a run's threads, and replaces them when they must
//! change, keeping maps and counters.

use std::sync::OnceLock;

use kernel::{Burst, LiveRun, LoadOptions, Map, Object, Program};
use spec::{Expect, Input, Map as _};

use super::config::{Action, Load};
use super::plan::Plan;
use super::user_program::UserProgram;
use crate::error::Result;
use crate::maps;
use crate::program::{self, Clock, Job, Made, ReplayJob, abi};
use crate::rate::Pace;

/// Generates the programs of one plan.
#[derive(Debug)]
pub(super) struct Builder {
    /// The caller's program for frames.
    user_program: Option<UserProgram>,
    /// Its maps, and the counters of its verdicts, shared by all threads.
    shared: OnceLock<Vec<Map>>,
}

/// A loaded program and all its maps.
#[derive(Debug)]
pub(super) struct Built {
    pub engine: Engine,
    pub maps: Vec<Map>,
}

/// A loaded program and the input of its live runs.
#[derive(Debug)]
pub(super) struct Engine {
    program: Program,
    live: LiveRun,
    pub paced: bool,
    /// The frames have stamps, so that the end of a stream can be announced.
    pub stamped: bool,
}

impl Builder {
    pub fn new(plan: &Plan) -> Result<Self> {
        let user_program = match &plan.config.action {
            Action::Program { object, name } => Some(UserProgram::read(object, name.as_deref())?),
            Action::Complete(completion) => Some(UserProgram::completing(completion)),
            Action::Transmit | Action::Inject => None,
        };
        Ok(Self { user_program, shared: OnceLock::new() })
    }

    /// Builds the program of one thread, with the `kept` maps of its previous program.
    pub fn build(&self, plan: &Plan, place: usize, pace: &Pace, kept: &[Map]) -> Result<Built> {
        let made = compile(plan, place, pace)?;
        let object = self.load(&made, place, kept)?;
        for (name, values) in &made.tables {
            fill(object.map(name)?, values)?;
        }
        let stamped = match &plan.config.load {
            Load::Streams(templates) => templates.iter().any(|template| template.stamp.is_some()),
            Load::Recording(_) => false,
        };
        let ingress_ifindex = match plan.config.action {
            Action::Transmit | Action::Complete(_) => 0,
            Action::Inject | Action::Program { .. } => plan.interface.ifindex.0,
        };
        let input = Input { packet: made.frame, ingress_ifindex, ..Input::default() };
        let live = LiveRun { input, batch: pace.group, ..LiveRun::default() };
        let program = object.program(abi::PROGRAM)?.duplicate()?;
        let (mine, others): (Vec<Map>, Vec<Map>) =
            object.into_parts().1.into_iter().partition(|map| made.spec.map(map.name()).is_some());
        let _first = self.shared.set(others);
        let engine = Engine { program, live, paced: pace.gaps.is_some(), stamped };
        Ok(Built { engine, maps: mine })
    }

    /// Maps of the caller's program.
    pub fn shared(&self) -> &[Map] {
        match &self.user_program {
            Some(user_program) => user_program.maps(self.shared.get().map_or(&[], Vec::as_slice)),
            None => &[],
        }
    }

    fn load(&self, made: &Made, place: usize, kept: &[Map]) -> Result<Object> {
        let known = self.shared.get().into_iter().flatten();
        let reuse = kept.iter().chain(known);
        let reuse = reuse.map(|map| Ok((map.name().to_owned(), map.duplicate()?)));
        let reuse = reuse.collect::<Result<_>>()?;
        match &self.user_program {
            Some(user_program) => user_program.load(&made.spec, place, reuse),
            None => {
                let options = LoadOptions { reuse, ..LoadOptions::default() };
                Ok(Object::load(&made.spec, &options)?)
            }
        }
    }
}

impl Built {
    pub fn map(&self, name: &str) -> Result<&Map> {
        maps::find(&self.maps, name)
    }
}

impl Engine {
    /// Runs the program at most `runs` times; a signal ends it earlier.
    pub fn run(&mut self, runs: u64) -> Result<Burst> {
        self.live.count = u32::try_from(runs).unwrap_or(LONGEST).min(LONGEST);
        Ok(self.program.live(&self.live)?)
    }
}

fn compile(plan: &Plan, place: usize, pace: &Pace) -> Result<Made> {
    let templates = match &plan.config.load {
        Load::Streams(templates) => templates,
        Load::Recording(recording) => {
            return program::replay(&ReplayJob {
                recording,
                exit: plan.exit(),
                thread: place as u32,
                threads: plan.cpus.len() as u32,
                group: pace.group,
            });
        }
    };
    program::compile(&Job {
        templates,
        exit: plan.exit(),
        thread: place as u32,
        threads: plan.cpus.len() as u32,
        seed: plan.config.seed,
        group: pace.group,
        pace: pace.gaps,
        rewrite: plan.rewrite,
        // Unpaced batches are sent back to back, and reading the clock is half of the cost of a
        // frame.
        clock: if pace.gaps.is_none() { Clock::Group } else { Clock::Frame },
    })
}

fn fill(map: &Map, values: &[Vec<u8>]) -> Result<()> {
    for (index, value) in values.iter().enumerate() {
        map.update(&(index as u32).to_ne_bytes(), value, Expect::Any)?;
    }
    Ok(())
}

/// Most runs of one call, far below the limit of the kernel's counter.
const LONGEST: u32 = 1 << 30;
