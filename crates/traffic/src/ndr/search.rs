//! `Search`: finds the highest level that passes, from trials that the caller executes.
//!
//! A level is a rate in packets a second, or a number of frames of a burst. The next level is
//! between the highest that passed and the lowest that failed: in the middle, or at the throughput
//! of the device under overload, since most devices deliver their maximum there. A level that
//! failed, or was not reached, is tried again before the result counts, and the level that is found
//! must pass several times: a transient disturbance of the machine is not a limit of the device.
//!
//! Rule: the search ends for any sequence of results.

use serde::Serialize;

use crate::error::{ConfigError, Error, Result};

/// Options of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// A trial passes when it loses no more than this: 0 to 1.
    pub loss: f64,
    /// The lowest level that is tried; failing there ends the search.
    pub floor: f64,
    /// The highest level, which is tried first.
    pub ceiling: f64,
    /// The search ends when the lowest level that failed exceeds the highest that passed by at most
    /// this share of it, or by at most `step`.
    pub resolution: f64,
    /// The smallest difference between levels.
    pub step: f64,
    /// Number of repetitions of a level that failed before the failure counts.
    pub retries: u32,
    /// Number of times that the found level must pass again.
    pub confirmations: u32,
    /// Most trials; after them the best level so far is the result, and is not steady.
    pub trials: u32,
}

impl Default for Options {
    /// For packets a second: no loss, a precision of one percent, up to the highest rate of the
    /// generator.
    fn default() -> Self {
        Self {
            loss: 0.0,
            floor: 1_000.0,
            ceiling: *crate::limits::RATE.end() as f64,
            resolution: 0.01,
            step: 1.0,
            retries: 1,
            confirmations: 1,
            trials: 60,
        }
    }
}

/// The result of one trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// The offered level, which may be less than the requested one.
    pub level: f64,
    /// The lost share of it, 0 to 1.
    pub loss: f64,
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The highest level that passed, with its loss; `None` when even the floor failed.
    pub found: Option<Seen>,
    /// The lowest level above it that failed.
    pub above: Option<Seen>,
    /// Why the level is not higher.
    pub binding: Binding,
    /// Whether no trial contradicted another one.
    pub steady: bool,
    /// Number of trials.
    pub trials: u32,
}

/// Why a level is not higher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Binding {
    /// The device under test lost frames above it.
    Device,
    /// The generator could not offer more.
    Generator,
    /// No higher level was requested.
    Ceiling,
}

/// The state of a search.
#[derive(Clone, Debug)]
pub struct Search {
    options: Options,
    /// The next level to try; `None` when the search is over.
    aim: Option<f64>,
    /// Levels that passed, ascending.
    passed: Vec<Seen>,
    failed: Option<Seen>,
    /// The highest level that the generator offered when a higher one was requested.
    offered: Option<f64>,
    /// The highest level that was offered in any trial.
    reached: f64,
    /// Trials of the current aim.
    tries: Vec<Seen>,
    confirmed: u32,
    /// Number of aims that the generator did not reach, and that gave no new information for this
    /// reason.
    stalls: u32,
    /// Distance of the next level above the highest that passed, when the limit is expected to be
    /// near.
    reach: Option<f64>,
    trials: u32,
    steady: bool,
}

impl Search {
    /// # Errors
    /// [`Error::Config`] for options that contradict each other.
    pub fn new(options: Options) -> Result<Self> {
        options.check()?;
        Ok(Self {
            aim: Some(options.ceiling),
            options,
            passed: Vec::new(),
            failed: None,
            offered: None,
            reached: 0.0,
            tries: Vec::new(),
            confirmed: 0,
            stalls: 0,
            reach: None,
            trials: 0,
            steady: true,
        })
    }

    /// The level to try next; `None` when the search is over.
    pub fn next(&self) -> Option<f64> {
        self.aim
    }

    /// Records the result of a trial of [`Search::next`]. It has no effect after the end; a trial
    /// without offered frames ends the search.
    pub fn record(&mut self, seen: Seen) {
        let Some(aim) = self.aim else { return };
        self.trials += 1;
        self.reached = self.reached.max(seen.level);
        self.tries.push(Seen { level: seen.level.min(self.options.ceiling), ..seen });
        if self.is_clear(aim, seen) || self.tries.len() > self.options.retries as usize {
            self.conclude(aim);
            self.aim = self.choose();
        }
        let is_stuck =
            seen.level <= 0.0 || self.stalls >= STALLS || self.trials >= self.options.trials;
        if is_stuck && self.aim.is_some() {
            self.aim = None;
            self.steady = false;
        }
    }

    /// The result so far, or the final one.
    pub fn outcome(&self) -> Outcome {
        Outcome {
            found: self.passed.last().copied(),
            above: self.failed,
            binding: match (self.failed, self.offered) {
                _ if self.stalls >= STALLS => Binding::Generator,
                (Some(_), _) => Binding::Device,
                (None, Some(_)) => Binding::Generator,
                (None, None) => Binding::Ceiling,
            },
            steady: self.steady,
            trials: self.trials,
        }
    }

    /// Whether the result needs no repetition.
    fn is_clear(&self, aim: f64, seen: Seen) -> bool {
        match self.passes(seen) {
            true => !self.is_short(aim, seen) || self.offered.is_some(),
            false => seen.loss > BEYOND_DOUBT,
        }
    }

    fn passes(&self, seen: Seen) -> bool {
        seen.loss <= self.options.loss
    }

    /// Whether less was offered than requested, beyond rounding to a whole number.
    fn is_short(&self, aim: f64, seen: Seen) -> bool {
        seen.level < aim * (1.0 - self.options.resolution) - self.options.step / 2.0
    }

    /// Evaluates the trials of an aim. A trial that passed at the requested level decides alone.
    /// Otherwise the trials with the highest offered level decide: a generator that was delayed
    /// offered less on average, but not while it was sending.
    fn conclude(&mut self, aim: f64) {
        let tries = std::mem::take(&mut self.tries);
        let most = |passes: bool| {
            let alike = tries.iter().copied().filter(|seen| self.passes(*seen) == passes);
            alike.max_by(|one, other| one.level.total_cmp(&other.level))
        };
        let (passed, failed) = (most(true), most(false));
        let full = passed.filter(|passed| !self.is_short(aim, *passed));
        let confirms = self.passed.last().is_some_and(|best| best.level == aim);
        self.steady &= passed.is_none() || failed.is_none();
        match (full, failed, passed) {
            (Some(_), _, _) if confirms => self.confirmed += 1,
            (Some(full), _, _) => drop(self.pass(full)),
            (None, Some(failed), _) => {
                self.fail(Seen { level: self.lost_at(aim, failed), ..failed })
            }
            (None, None, Some(short)) => self.pass_short(short, confirms),
            (None, None, None) => {}
        }
    }

    /// The level at which a failed trial lost frames.
    fn lost_at(&self, aim: f64, failed: Seen) -> f64 {
        let confirms = self.passed.last().is_some_and(|best| best.level == aim);
        let reached = self.reached >= aim * (1.0 - self.options.resolution);
        match self.is_short(aim, failed) {
            // The generator reached this level, but only temporarily in this trial.
            true if reached => aim,
            // A level that passed before must be removed, even if slightly more was offered this
            // time.
            false if confirms => failed.level.min(aim),
            _ => failed.level,
        }
    }

    /// Less was offered than requested, and passed: it is the maximum of the generator, or a stall.
    fn pass_short(&mut self, short: Seen, confirms: bool) {
        let is_more = self.pass(short);
        if self.failed.is_some() {
            self.stalls += u32::from(!is_more);
            return;
        }
        self.offered = Some(self.offered.map_or(short.level, |most| most.max(short.level)));
        match confirms {
            true => self.confirmed += 1,
            false => self.stalls += u32::from(!is_more),
        }
    }

    /// Records a level that passed; returns whether it is a new maximum.
    fn pass(&mut self, seen: Seen) -> bool {
        self.reach = self.reach.map(|reach| reach * 2.0);
        let lowest = self.passed.last().map_or(0.0, |best| best.level);
        if seen.level <= lowest {
            return false;
        }
        self.confirmed = 0;
        self.passed.push(seen);
        true
    }

    fn fail(&mut self, seen: Seen) {
        let known = self.passed.len();
        self.passed.retain(|passed| passed.level < seen.level);
        self.steady &= self.passed.len() == known;
        self.confirmed = 0;
        self.reach = None;
        self.failed = Some(match self.failed {
            Some(lower) if lower.level < seen.level => lower,
            _ => seen,
        });
    }

    /// Selects the next level.
    fn choose(&mut self) -> Option<f64> {
        match (self.passed.last().copied(), self.failed) {
            (Some(best), None) => self.confirm(best),
            (Some(best), Some(failed)) if self.is_near(best.level, failed.level) => {
                self.confirm(best)
            }
            (Some(best), Some(failed)) => Some(self.between(best.level, failed)),
            (None, Some(failed)) if failed.level <= self.options.floor => None,
            (None, Some(failed)) if self.is_near(self.options.floor, failed.level) => {
                Some(self.options.floor)
            }
            (None, Some(failed)) => Some(self.between(self.options.floor, failed)),
            (None, None) => self.aim,
        }
    }

    fn confirm(&self, best: Seen) -> Option<f64> {
        (self.confirmed < self.options.confirmations).then_some(best.level)
    }

    fn is_near(&self, low: f64, high: f64) -> bool {
        high - low <= (self.options.resolution * high).max(self.options.step)
    }

    /// The middle, unless the throughput under overload indicates the limit.
    fn between(&mut self, low: f64, failed: Seen) -> f64 {
        let middle = f64::midpoint(low, failed.level);
        if let Some(reach) = self.reach {
            return middle.min(low + reach);
        }
        let near = 1.0 - self.options.resolution / 2.0;
        let delivered = failed.level * (1.0 - failed.loss) * near;
        // Used only as long as it narrows the search.
        let narrows = delivered > low && delivered < failed.level * near.powi(4);
        if !narrows {
            return middle;
        }
        self.reach = Some(FIRST_REACH * self.options.resolution * delivered);
        delivered
    }
}

impl Options {
    fn check(&self) -> Result<()> {
        let fail = |wrong| Err(Error::Config(wrong));
        if !(0.0..1.0).contains(&self.loss) {
            return fail(ConfigError::Loss);
        }
        if !(self.floor > 0.0 && self.floor <= self.ceiling && self.ceiling.is_finite()) {
            return fail(ConfigError::Levels);
        }
        if !(1e-6..0.5).contains(&self.resolution) || !(0.0..f64::MAX).contains(&self.step) {
            return fail(ConfigError::Resolution);
        }
        if self.trials == 0 {
            return fail(ConfigError::NoTrials);
        }
        Ok(())
    }
}

/// A loss that cannot be a transient disturbance: such a level is not tried again.
const BEYOND_DOUBT: f64 = 0.2;
/// Number of levels that the generator may miss although it reached higher ones, before the search
/// gives up.
const STALLS: u32 = 3;
/// Initial distance as a share of the resolution; doubled by each trial that passes. Less than a
/// half, so that a failure just after the first one ends the search even if offered levels deviate
/// slightly.
const FIRST_REACH: f64 = 0.45;

#[cfg(test)]
mod tests;
