//! `Search`: the highest level that passes, from trials that somebody else makes.
//!
//! A level is whatever is asked for: packets a second, frames of a burst. Between the highest that
//! passed and the lowest that failed the next one is tried: in the middle, or where the device got
//! to under overload, since most devices deliver there what they can. A level that fails, or that
//! was not reached, is tried again before that counts, and the one that is found must pass more
//! than once: one hiccup of the machine is no limit of the device.
//!
//! Rule: the search ends, whatever it is told. Not here: traffic, time.

use crate::error::{ConfigError, Error, Result};

/// What to search for.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// A trial passes when it loses no more than this: 0 to 1.
    pub loss: f64,
    /// The lowest level that is tried; failing there ends the search.
    pub floor: f64,
    /// The highest one, and the first.
    pub ceiling: f64,
    /// The search ends when the lowest level that failed is above the highest that passed by no
    /// more than this share of it, or by no more than `step`.
    pub resolution: f64,
    /// Levels are told apart only by this.
    pub step: f64,
    /// How often a level that failed is tried again before it counts.
    pub retries: u32,
    /// How often the level that was found must pass again.
    pub confirmations: u32,
    /// Trials in all; then the best so far is the answer, and it is not called steady.
    pub trials: u32,
}

impl Default for Options {
    /// For packets a second: no loss, to one percent, whatever the generator can offer.
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

/// What one trial showed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// What was really offered, which may be less than what was asked for.
    pub level: f64,
    /// What was lost of it: 0 to 1.
    pub loss: f64,
}

/// What the search came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The highest level that passed, and what it lost. Nothing when even the floor failed.
    pub found: Option<Seen>,
    /// The lowest level above it that failed.
    pub above: Option<Seen>,
    pub binding: Binding,
    /// Whether no trial contradicted another one.
    pub steady: bool,
    pub trials: u32,
}

/// Why a level is not higher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// The device under test lost frames above it.
    Device,
    /// The generator could not offer more.
    Generator,
    /// Nothing more was asked for.
    Ceiling,
}

/// The search so far.
#[derive(Clone, Debug)]
pub struct Search {
    options: Options,
    /// What to try next; nothing when the search is over.
    aim: Option<f64>,
    /// In rising order.
    passed: Vec<Seen>,
    failed: Option<Seen>,
    /// The most that the generator offered when asked for more.
    offered: Option<f64>,
    /// The most that was offered in any trial.
    reached: f64,
    /// Trials of this aim.
    tries: Vec<Seen>,
    confirmed: u32,
    /// Aims that the generator could not reach, and that told nothing new for that reason.
    stalls: u32,
    /// How far above the highest that passed to try next, when the limit is thought to be near.
    reach: Option<f64>,
    trials: u32,
    steady: bool,
}

impl Search {
    /// # Errors
    /// Options that contradict each other.
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

    /// The level to try now; nothing when the search is over.
    pub fn next(&self) -> Option<f64> {
        self.aim
    }

    /// Takes what a trial of [`Search::next`] showed. After the end it changes nothing; a trial in
    /// which nothing was offered is the end.
    pub fn tell(&mut self, seen: Seen) {
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

    /// What was found so far, or in the end.
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

    /// Whether a second look can be spared.
    fn is_clear(&self, aim: f64, seen: Seen) -> bool {
        match self.passes(seen) {
            true => !self.is_short(aim, seen) || self.offered.is_some(),
            false => seen.loss > BEYOND_DOUBT,
        }
    }

    fn passes(&self, seen: Seen) -> bool {
        seen.loss <= self.options.loss
    }

    /// Whether less was offered than was asked for, not just a whole number instead of a fraction.
    fn is_short(&self, aim: f64, seen: Seen) -> bool {
        seen.level < aim * (1.0 - self.options.resolution) - self.options.step / 2.0
    }

    /// Judges an aim by its trials. One that passed at the level that was asked for counts alone.
    /// Of others those that offered most do: a generator that was held up for a moment offered
    /// less in the mean, but not when it sent.
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

    /// The level that was too much.
    fn lost_at(&self, aim: f64, failed: Seen) -> f64 {
        let confirms = self.passed.last().is_some_and(|best| best.level == aim);
        let reached = self.reached >= aim * (1.0 - self.options.resolution);
        match self.is_short(aim, failed) {
            // The generator can send as fast as that: it did, but for a while.
            true if reached => aim,
            // What once passed must go, even when a little more was offered this time.
            false if confirms => failed.level.min(aim),
            _ => failed.level,
        }
    }

    /// Less was offered than was asked for, and passed: it is the most that there is, or a stall.
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

    /// Whether that is more than what had passed.
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

    /// Where to look next.
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

    /// The middle, unless the device showed where its limit may be.
    fn between(&mut self, low: f64, failed: Seen) -> f64 {
        let middle = f64::midpoint(low, failed.level);
        if let Some(reach) = self.reach {
            return middle.min(low + reach);
        }
        let near = 1.0 - self.options.resolution / 2.0;
        let delivered = failed.level * (1.0 - failed.loss) * near;
        // Trusted only as long as it narrows the search.
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
/// Of the resolution; doubled by each trial that passes. Less than a half, so that a failure just
/// behind the first one ends the search even when offered levels are not quite those asked for.
const FIRST_REACH: f64 = 0.45;

#[cfg(test)]
mod tests;
