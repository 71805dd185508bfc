//! `Trial`: new rules beside the active ones, on the same packets, without effect.
//!
//! Rule: the active rules decide, with their own maps, and the program that ran before is restored
//! when the trial ends. If the process is killed, the trial's program continues to decide by the
//! active rules, until the next process that changes or reads the state restores the previous one.
//! Loading other rules during a trial ends it.

use std::fs::File;
use std::time::{Duration, Instant};

use filter::Ruleset;
use filter::maps::{CHANGES, PAIRS};
use filter::runtime::trial::{self, ChangedPacket};
use kernel::{Map, RingBuffer};
use serde::Serialize;
use spec::Spec;
use sys::signal::Stop;

use super::load::{ApplyOptions, FilterPlacement};
use super::pair::Pair;
use super::ruleset::{self, Attempt};
use super::update::Update;
use crate::error::{Context as _, Error, Result};
use crate::{Control, state};

/// Why a trial ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// The time is over.
    Time,
    /// A signal arrived.
    Interrupted,
    /// Another process loaded other rules, or detached the filter.
    RulesChanged,
}

/// Two rule sets on the same packets: the active one decides, the other one has no effect. Dropping
/// the trial restores the active filter's own program.
#[derive(Debug)]
pub struct Trial {
    pairs: Map,
    changes: Map,
    /// Restores the previous program when dropped.
    trial: state::Trial,
    /// Declared after the trial, so that it is released later: one trial at a time.
    _claim: File,
}

impl Trial {
    /// Starts a trial of rules on the same packets as those of the active filter.
    ///
    /// # Errors
    /// Another trial runs on the interface, or the kernel refuses the program.
    pub fn start(control: &Control, update: &Update, new: &Ruleset) -> Result<Self> {
        let claim = update.claim(control)?;
        let globals = update.globals(&ApplyOptions::default())?;
        let (pairs, changes, trial) = ruleset::by_form(|Attempt { form, tentative }| {
            let refused = "the rules were not tried";
            let first = ruleset::compiled(new, false, &update.target, form);
            let mut first = first.context(refused)?;
            let active = update.compile_active(form).context(refused)?;
            globals.set(&mut first.spec)?;
            let asked = FilterPlacement::default();
            let separate = |first: &mut Spec, active: &mut Spec| {
                trial::make_new(first)?;
                trial::make_old(active)
            };
            let pair = Pair { first, active, tentative };
            pair.load(update, new, &asked, separate, |loaded| {
                let [pairs, changes] = [PAIRS, CHANGES].map(|name| loaded.map(name)?.duplicate());
                let (pairs, changes) = (pairs?, changes?);
                Ok((pairs, changes, loaded.try_out(update)?))
            })
        })?;
        Ok(Self { pairs, changes, trial, _claim: claim })
    }

    /// Packets by verdict and rule of both rule sets so far.
    pub fn pairs(&self) -> Result<Vec<trial::DecisionPair>> {
        Ok(trial::pairs(&self.pairs)?)
    }

    /// Passes packets that would get another verdict to `each`, until the time is over, a signal
    /// arrives, or other rules are loaded.
    pub fn watch<E: From<Error>>(
        &self,
        time: Duration,
        stop: &Stop,
        mut each: impl FnMut(ChangedPacket) -> Result<(), E>,
    ) -> Result<Ended, E> {
        let mut ring = RingBuffer::new(&self.changes).map_err(Error::from)?;
        let begin = Instant::now();
        for look in 1.. {
            let left = time.saturating_sub(begin.elapsed());
            let interrupted = stop.wait(left.min(POLL_INTERVAL)).map_err(Error::from)?.is_some();
            let mut records = Vec::new();
            ring.drain(|record| records.extend(ChangedPacket::parse(record)));
            records.into_iter().try_for_each(&mut each)?;
            let is_over = begin.elapsed() >= time;
            if (is_over || interrupted || look % CHECK_EVERY == 0) && !self.trial.runs()? {
                return Ok(Ended::RulesChanged);
            }
            if interrupted {
                return Ok(Ended::Interrupted);
            }
            if is_over {
                break;
            }
        }
        Ok(Ended::Time)
    }
}

/// Polls after which it checks whether its program still runs.
const CHECK_EVERY: u32 = 10;
/// How often the ring buffer is read.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
