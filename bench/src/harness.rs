//! Rounds: every arm in turn, again and again, so that what drifts meets all of them alike.
//!
//! Rule: a round runs each arm once, and each round begins with another arm; the first round is
//! a warm-up and does not count. Not here: what an arm does, and statistics (`report`).

use std::io::Write;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use report::Bench;
use report::number::human;

/// How much to measure, and where to tell about it.
pub struct Harness {
    rounds: usize,
    window: Duration,
    talk: Box<dyn Write>,
}

/// One thing to measure against the others.
pub struct Arm<'a> {
    name: String,
    unit: String,
    measure: Measure<'a>,
}

/// Runs for about the given time and returns one value in the arm's unit.
type Measure<'a> = Box<dyn FnMut(Duration) -> Result<f64> + 'a>;

impl<'a> Arm<'a> {
    pub fn new(
        name: &str,
        unit: &str,
        measure: impl FnMut(Duration) -> Result<f64> + 'a,
    ) -> Arm<'a> {
        Arm { name: name.into(), unit: unit.into(), measure: Box::new(measure) }
    }
}

impl Harness {
    /// `seconds` is what one arm takes in one round; progress is told to `talk`.
    pub fn new(rounds: usize, seconds: f64, talk: Box<dyn Write>) -> Harness {
        Harness { rounds, window: Duration::from_secs_f64(seconds), talk }
    }

    /// Runs all rounds of `arms` and adds their values to `bench`, so that ratios between any
    /// two of them are of one round.
    ///
    /// # Errors
    /// The first arm that fails, or gives no number, ends it; the error names arm and round.
    pub fn interleave(&mut self, bench: &mut Bench, arms: &mut [Arm]) -> Result<()> {
        for round in 0..=self.rounds {
            for turn in 0..arms.len() {
                // The first round that counts begins with the first arm, so rows keep its order.
                let begin = round + arms.len() - 1;
                let arm = &mut arms[(begin + turn) % arms.len()];
                let value = self.measure(round, arm)?;
                if round > WARM_UP {
                    bench.round(&arm.name, &arm.unit, value);
                }
            }
        }
        Ok(())
    }

    fn measure(&mut self, round: usize, arm: &mut Arm) -> Result<f64> {
        let Arm { name, unit, measure } = arm;
        let place = || format!("{name}, {}", self.called(round));
        let value = measure(self.window).with_context(place)?;
        ensure!(value.is_finite(), "{}: {value} is no measurement", place());
        // Progress is a courtesy: a closed stderr must not spoil the measurement.
        let _ = writeln!(self.talk, "{}: {}", place(), human(value, unit));
        Ok(value)
    }

    fn called(&self, round: usize) -> String {
        match round {
            WARM_UP => "warm-up".into(),
            round => format!("round {round} of {}", self.rounds),
        }
    }
}

/// The argument of `--rounds`: below five, a median says nothing.
pub fn rounds(text: &str) -> Result<usize, String> {
    let rounds: usize = text.parse().map_err(|_| format!("\"{text}\" is no number"))?;
    let is_bounded = (ROUNDS_MIN..=ROUNDS_MAX).contains(&rounds);
    is_bounded.then_some(rounds).ok_or(format!("from {ROUNDS_MIN} to {ROUNDS_MAX} rounds"))
}

/// The argument of `--seconds`.
pub fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("\"{text}\" is no number"))?;
    let is_bounded = (SECONDS_MIN..=SECONDS_MAX).contains(&seconds);
    is_bounded.then_some(seconds).ok_or(format!("from {SECONDS_MIN} to {SECONDS_MAX} seconds"))
}

const WARM_UP: usize = 0;
const ROUNDS_MIN: usize = 5;
const ROUNDS_MAX: usize = 1000;
const SECONDS_MIN: f64 = 0.01;
const SECONDS_MAX: f64 = 600.0;

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use anyhow::bail;
    use report::Host;

    use super::*;

    fn harness(rounds: usize) -> Harness {
        Harness::new(rounds, 0.01, Box::new(std::io::sink()))
    }

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
        harness(3).interleave(&mut bench, &mut [arm("a"), arm("b"), arm("c")]).unwrap();
        assert_eq!(order.borrow().as_str(), "cababcbcacab");
        let values: Vec<_> = bench.rounds().iter().map(|row| row.values.clone()).collect();
        assert_eq!(values, [[4.0, 9.0, 11.0], [5.0, 7.0, 12.0], [6.0, 8.0, 10.0]]);
        let report = bench.ratio("a", "b").finish(Host::default()).unwrap();
        assert_eq!(report.ratios[0].max, 9.0 / 7.0);
    }

    #[test]
    fn an_arm_that_fails_is_named_with_its_round() {
        let mut left = 2;
        let failing = Arm::new("native", "pps", |_| {
            left -= 1;
            if left < 0 { bail!("link is down") } else { Ok(1.0) }
        });
        let fault = harness(5).interleave(&mut Bench::new("x"), &mut [failing]).unwrap_err();
        assert_eq!(format!("{fault:#}"), "native, round 2 of 5: link is down");

        let empty = Arm::new("native", "pps", |_| Ok(f64::NAN));
        let fault = harness(5).interleave(&mut Bench::new("x"), &mut [empty]).unwrap_err();
        assert_eq!(fault.to_string(), "native, warm-up: NaN is no measurement");
    }
}
