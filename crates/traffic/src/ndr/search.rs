//! `Search`: the highest level that passes, from trials that somebody else makes.
//!
//! A level is whatever is asked for: packets a second, frames of a burst. Between the highest that
//! passed and the lowest that failed the next one is tried: in the middle, or where the device got
//! to under overload, since most devices deliver there what they can. A level that fails is tried
//! again before that counts, and the one that is found must pass more than once: one hiccup of the
//! machine is no limit of the device.
//!
//! Rule: the search ends, whatever it is told. Not here: traffic, time.

use crate::error::{Error, Result};

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
    /// more than this share of it, or by no more than this step.
    pub resolution: f64,
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
    /// Trials of this aim that are to be repeated.
    repeated: u32,
    confirmed: u32,
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
            repeated: 0,
            confirmed: 0,
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
        let seen = Seen { level: seen.level.min(self.options.ceiling), ..seen };
        self.trials += 1;
        let passes = seen.loss <= self.options.loss;
        if self.repeated < self.options.retries && self.is_doubtful(aim, seen) {
            self.repeated += 1;
        } else {
            // Failed once and then passed.
            self.steady &= self.repeated == 0 || !passes || self.is_short(aim, seen);
            self.repeated = 0;
            self.take(aim, seen);
            self.aim = self.choose();
        }
        let is_stuck = seen.level <= 0.0 || self.trials >= self.options.trials;
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
                (Some(_), _) => Binding::Device,
                (None, Some(_)) => Binding::Generator,
                (None, None) => Binding::Ceiling,
            },
            steady: self.steady,
            trials: self.trials,
        }
    }

    /// Whether a second look may show something else.
    fn is_doubtful(&self, aim: f64, seen: Seen) -> bool {
        seen.loss > self.options.loss || (self.is_short(aim, seen) && self.offered.is_none())
    }

    /// Whether less was offered than was asked for.
    fn is_short(&self, aim: f64, seen: Seen) -> bool {
        seen.level < aim * (1.0 - self.options.resolution)
    }

    fn take(&mut self, aim: f64, seen: Seen) {
        let confirms = self.passed.last().is_some_and(|best| best.level == aim);
        if seen.loss > self.options.loss {
            // What once passed must go, even when a little more was offered this time.
            let level = if confirms { seen.level.min(aim) } else { seen.level };
            self.fail(Seen { level, ..seen });
            return;
        }
        if confirms {
            self.confirmed += 1;
            return;
        }
        if self.is_short(aim, seen) {
            let most = self.offered.map_or(seen.level, |most| most.max(seen.level));
            self.offered = Some(most);
        }
        self.pass(seen);
    }

    fn pass(&mut self, seen: Seen) {
        self.confirmed = 0;
        self.reach = self.reach.map(|reach| reach * 2.0);
        let lowest = self.passed.last().map_or(0.0, |best| best.level);
        if seen.level > lowest {
            self.passed.push(seen);
        }
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
        let fail = |why: &str| Err(Error::Config(why.to_owned()));
        if !(0.0..1.0).contains(&self.loss) {
            return fail("the accepted loss is 0 or more, and less than 1");
        }
        if !(self.floor > 0.0 && self.floor <= self.ceiling && self.ceiling.is_finite()) {
            return fail("the lowest level is above zero, and not above the highest");
        }
        if !(1e-6..0.5).contains(&self.resolution) || !(0.0..f64::MAX).contains(&self.step) {
            return fail("the resolution is between a millionth and a half, the step not negative");
        }
        if self.trials == 0 {
            return fail("a search needs trials");
        }
        Ok(())
    }
}

/// Of the resolution; doubled by each trial that passes. Less than a half, so that a failure just
/// behind the first one ends the search even when offered levels are not quite those asked for.
const FIRST_REACH: f64 = 0.45;

#[cfg(test)]
mod tests;
