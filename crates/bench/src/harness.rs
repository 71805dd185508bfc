//! Rounds: every arm in turn, again and again, so that what drifts meets all of them alike.
//!
//! Rule: a round runs each arm once, and each round begins with another arm; the first round is
//! a warm-up and does not count. An arm that fails is left out from then on and told as such, an
//! interrupt ends the run between two arms, and either way what was measured is kept. An arm that
//! takes far longer than its window is left out too, so that a run ends about when it said. Not
//! here: what an arm does, and statistics (`report`).

use std::fmt;
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use report::Bench;

use crate::progress::{Plan, Progress, Told};

/// How much to measure, and who is told about it.
pub struct Harness<'p> {
    rounds: usize,
    window: Duration,
    progress: &'p mut dyn Progress,
    interrupt: Option<&'p dyn Fn() -> bool>,
}

/// One thing to measure against the others.
pub struct Arm<'a> {
    name: String,
    measure: Measure<'a>,
    is_out: bool,
}

/// One number that an arm's turn gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    pub row: String,
    pub unit: String,
    pub value: f64,
}

/// Runs for about the given time and returns its values, the one that counts most first.
type Measure<'a> = Box<dyn FnMut(Duration) -> Result<Vec<Value>> + 'a>;

impl fmt::Debug for Harness<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rounds, window, .. } = self;
        f.debug_struct("Harness")
            .field("rounds", rounds)
            .field("window", window)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Arm<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arm").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Value {
    pub fn new(row: impl Into<String>, unit: &str, value: f64) -> Self {
        Self { row: row.into(), unit: unit.into(), value }
    }
}

impl<'a> Arm<'a> {
    /// With one value, in the row of its name.
    pub fn new(
        name: &str,
        unit: &str,
        mut measure: impl FnMut(Duration) -> Result<f64> + 'a,
    ) -> Arm<'a> {
        let (row, unit) = (name.to_owned(), unit.to_owned());
        Self::wide(name, move |window| Ok(vec![Value::new(&row, &unit, measure(window)?)]))
    }

    /// With several values, each in a row of its own.
    pub fn wide(name: &str, measure: impl FnMut(Duration) -> Result<Vec<Value>> + 'a) -> Arm<'a> {
        Arm { name: name.into(), measure: Box::new(measure), is_out: false }
    }
}

impl<'p> Harness<'p> {
    /// `seconds` is what one arm takes in one round.
    pub fn new(rounds: usize, seconds: f64, progress: &'p mut dyn Progress) -> Self {
        let window = Duration::from_secs_f64(seconds);
        Self { rounds, window, progress, interrupt: None }
    }

    /// The run ends early once this says so; it is asked between two arms.
    pub fn interrupted_by(mut self, is_over: &'p dyn Fn() -> bool) -> Self {
        self.interrupt = Some(is_over);
        self
    }

    /// Something worth saying to whoever follows the run.
    pub fn say(&mut self, text: &str) {
        self.progress.says(text);
    }

    /// Something that the user has to do.
    pub(crate) fn ask(&mut self, text: &str) {
        self.progress.asks(text);
    }

    /// Runs all rounds of `arms` and adds their values to `bench`, so that ratios between any
    /// two of them are of one round.
    ///
    /// # Errors
    /// When not one arm gave a value that counts.
    pub fn interleave(&mut self, bench: &mut Bench, arms: &mut [Arm]) -> Result<()> {
        let names: Vec<&str> = arms.iter().map(|arm| arm.name.as_str()).collect();
        let (rounds, window) = (self.rounds, self.window);
        self.progress.begins(Plan { arms: &names, rounds, window });
        for round in 0..=self.rounds {
            for turn in 0..arms.len() {
                if self.is_interrupted() {
                    bench.cut(format!("interrupted in {}", self.called(round)));
                    return self.end(bench);
                }
                // The first round that counts begins with the first arm, so rows keep its order.
                let begin = round + arms.len() - 1;
                self.turn(bench, round, &mut arms[(begin + turn) % arms.len()]);
            }
            self.progress.round_ends(bench);
        }
        self.end(bench)
    }

    /// One arm's part of a round.
    fn turn(&mut self, bench: &mut Bench, round: usize, arm: &mut Arm) {
        if arm.is_out {
            return;
        }
        self.progress.turns(&arm.name, round);
        match self.measure(round, arm) {
            Ok(values) if round > WARM_UP => {
                values.iter().for_each(|Value { row, unit, value }| {
                    bench.round(row, unit, *value);
                });
            }
            Ok(_) => (),
            Err(fault) => {
                arm.is_out = true;
                let reason = format!("{}: {fault:#}", self.called(round));
                self.progress.leaves(&arm.name, &reason);
                bench.absent(&arm.name, reason);
            }
        }
    }

    fn measure(&mut self, round: usize, arm: &mut Arm) -> Result<Vec<Value>> {
        let begin = Instant::now();
        let values = (arm.measure)(self.window)?;
        let took = begin.elapsed();
        ensure!(took <= self.window + OVERTIME, "took {took:.1?} for {:.1?}", self.window);
        for Value { row, value, .. } in &values {
            ensure!(value.is_finite(), "{row}: {value} is no measurement");
        }
        let Some(Value { unit, value, .. }) = values.first() else { bail!("no value") };
        let (arm, rounds, value) = (arm.name.as_str(), self.rounds, *value);
        self.progress.value(Told { arm, round, rounds, value, unit });
        Ok(values)
    }

    fn end(&self, bench: &Bench) -> Result<()> {
        if let Some(absent) = bench.story().absent.first().filter(|_| bench.rounds().is_empty()) {
            bail!("{}: {}", absent.name, absent.reason);
        }
        ensure!(!bench.rounds().is_empty(), "nothing was measured before it was interrupted");
        Ok(())
    }

    /// Whether the run is to end early.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupt.is_some_and(|is_over| is_over())
    }

    fn called(&self, round: usize) -> String {
        match round {
            WARM_UP => "warm-up".into(),
            round => format!("round {round} of {}", self.rounds),
        }
    }
}

const WARM_UP: usize = 0;
/// That an arm may take for its set-up and its end, on top of its window.
const OVERTIME: Duration = Duration::from_secs(60);
/// Below five, a median says nothing.
pub const ROUNDS: RangeInclusive<usize> = 5..=1000;
/// That an arm may take in a round.
pub const SECONDS: RangeInclusive<f64> = 0.01..=600.0;

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use report::Host;

    use super::*;
    use crate::Silent;

    #[test]
    fn arms_take_turns_and_the_warm_up_does_not_count() {
        let order = RefCell::new(String::new());
        let clock = RefCell::new(0.0);
        let arm = |name: &'static str| {
            let (order, clock) = (&order, &clock);
            Arm::new(name, "pps", move |_| {
                order.borrow_mut().push_str(name);
                *clock.borrow_mut() += 1.0;
                Ok(*clock.borrow())
            })
        };
        let mut bench = Bench::new("turns");
        let mut harness = Silent;
        let mut harness = Harness::new(3, 0.01, &mut harness);
        harness.interleave(&mut bench, &mut [arm("a"), arm("b"), arm("c")]).unwrap();
        assert_eq!(order.borrow().as_str(), "cababcbcacab");
        let values: Vec<_> = bench.rounds().iter().map(|row| row.values.clone()).collect();
        assert_eq!(values, [[4.0, 9.0, 11.0], [5.0, 7.0, 12.0], [6.0, 8.0, 10.0]]);
        let report = bench.ratio("a", "b").finish(Host::default()).unwrap();
        assert_eq!(report.ratios[0].max, 9.0 / 7.0);
    }

    #[test]
    fn an_arm_that_fails_is_named_with_its_round_and_the_others_go_on() {
        let mut left = 2;
        let failing = Arm::new("native", "pps", move |_| {
            left -= 1;
            if left < 0 { bail!("link is down") } else { Ok(1.0) }
        });
        let empty = Arm::new("generic", "pps", |_| Ok(f64::NAN));
        let good = Arm::new("tc", "pps", |_| Ok(2.0));
        let mut bench = Bench::new("x");
        let mut silent = Silent;
        Harness::new(5, 0.01, &mut silent)
            .interleave(&mut bench, &mut [failing, empty, good])
            .unwrap();
        let absent: Vec<String> = bench
            .story()
            .absent
            .iter()
            .map(|gone| format!("{}: {}", gone.name, gone.reason))
            .collect();
        assert_eq!(
            absent,
            [
                "generic: warm-up: generic: NaN is no measurement",
                "native: round 2 of 5: link is down"
            ]
        );
        let rows: Vec<_> = bench.rounds().iter().map(|row| row.values.len()).collect();
        assert_eq!(rows, [1, 5]);

        let dead = Arm::new("native", "pps", |_| bail!("no such device"));
        let fault = Harness::new(5, 0.01, &mut silent)
            .interleave(&mut Bench::new("x"), &mut [dead])
            .unwrap_err();
        assert_eq!(fault.to_string(), "native: warm-up: no such device");
    }

    #[test]
    fn an_interrupt_keeps_what_was_measured() {
        let turns = Cell::new(0);
        let arm = |name: &str| {
            let turns = &turns;
            Arm::new(name, "pps", move |_| {
                turns.set(turns.get() + 1);
                Ok(1.0)
            })
        };
        let is_over = || turns.get() == 5;
        let mut bench = Bench::new("x");
        let mut silent = Silent;
        let harness = Harness::new(5, 0.01, &mut silent);
        harness.interrupted_by(&is_over).interleave(&mut bench, &mut [arm("a"), arm("b")]).unwrap();
        assert_eq!(turns.get(), 5);
        assert_eq!(bench.story().cut.as_deref(), Some("interrupted in round 2 of 5"));
        assert_eq!(bench.rounds()[0].values.len() + bench.rounds()[1].values.len(), 3);
    }
}
