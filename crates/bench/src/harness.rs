//! Interleaved rounds, so that a drift of the machine affects all arms alike.
//!
//! Rule: a round runs each arm once, and each round begins with another arm; the first round is a
//! warm-up and does not count. A turn that fails for a [`Transient`] reason is repeated a few
//! times; then the arm misses the round, and an arm that misses more than half of them has no
//! value. An arm that fails permanently, or takes far longer than its window, is excluded from then
//! on. An interrupt ends the run between two arms. Values measured before are kept in every case.
//! Not here: what an arm does, and statistics (`report`).

use std::fmt;
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use report::Bench;

use crate::progress::{Measurement, Plan, Progress};
use crate::selection::Selection;
use crate::transient::Transient;

/// Runs the arms of a scenario in rounds and reports progress.
pub struct Harness<'p> {
    rounds: usize,
    window: Duration,
    progress: &'p mut dyn Progress,
    interrupt: Option<&'p dyn Fn() -> bool>,
    selection: Selection,
}

/// One alternative that is measured against the others.
pub struct Arm<'a> {
    name: String,
    measure: Measure<'a>,
    is_out: bool,
    /// Rows for which it returned values.
    rows: Vec<String>,
    /// Counted rounds with values.
    had: usize,
    /// Counted rounds without values, and the reason of the last one.
    missed: usize,
    why: String,
}

/// One number that a turn measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// The row that the value belongs to.
    pub row: String,
    /// Unit of the value, such as `pps`.
    pub unit: String,
    /// The measured value.
    pub value: f64,
}

/// Runs for about the given time and returns its values, the main one first.
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
    /// A value of a row in a unit.
    pub fn new(row: impl Into<String>, unit: &str, value: f64) -> Self {
        Self { row: row.into(), unit: unit.into(), value }
    }
}

impl<'a> Arm<'a> {
    /// Creates an arm with one value, in the row of its name.
    pub fn new(
        name: &str,
        unit: &str,
        mut measure: impl FnMut(Duration) -> Result<f64> + 'a,
    ) -> Arm<'a> {
        let (row, unit) = (name.to_owned(), unit.to_owned());
        Self::wide(name, move |window| Ok(vec![Value::new(&row, &unit, measure(window)?)]))
    }

    /// Creates an arm with several values, each in a row of its own.
    pub fn wide(name: &str, measure: impl FnMut(Duration) -> Result<Vec<Value>> + 'a) -> Arm<'a> {
        let (name, measure) = (name.into(), Box::new(measure));
        Arm { name, measure, is_out: false, rows: vec![], had: 0, missed: 0, why: String::new() }
    }

    /// Records the values of a counted round.
    fn keep(&mut self, bench: &mut Bench, round: usize, values: &[Value]) {
        self.had += 1;
        for Value { row, unit, value } in values {
            bench.round_at(round, row, unit, *value);
            if !self.rows.contains(row) {
                self.rows.push(row.clone());
            }
        }
    }

    /// Counted rounds so far.
    fn rounds(&self) -> usize {
        self.had + self.missed
    }
}

impl<'p> Harness<'p> {
    /// Creates a harness; `seconds` is the duration of one turn.
    pub fn new(rounds: usize, seconds: f64, progress: &'p mut dyn Progress) -> Self {
        let window = Duration::from_secs_f64(seconds);
        let selection = Selection::default();
        Self { rounds, window, progress, interrupt: None, selection }
    }

    /// Ends the run early when `is_over` returns `true`; it is called between two arms.
    pub fn interrupted_by(mut self, is_over: &'p dyn Fn() -> bool) -> Self {
        self.interrupt = Some(is_over);
        self
    }

    /// Measures only some of the arms.
    pub fn only(mut self, selection: Selection) -> Self {
        self.selection = selection;
        self
    }

    /// Whether an arm of this name is measured, so that what it needs must be set up.
    pub(crate) fn measures(&self, arm: &str) -> bool {
        self.selection.contains(arm)
    }

    /// # Errors
    /// When nothing was measured because no arm was selected.
    pub(crate) fn check(&self, bench: &Bench) -> Result<()> {
        let is_empty = bench.rounds().is_empty() && !self.selection.is_everything();
        ensure!(
            !is_empty,
            "nothing was measured: `--only` selects none of the rows, or absent ones"
        );
        Ok(())
    }

    /// Shows a message to the user.
    pub fn say(&mut self, text: &str) {
        self.progress.message(text);
    }

    /// Shows an instruction to the user.
    pub(crate) fn ask(&mut self, text: &str) {
        self.progress.prompt(text);
    }

    /// Runs all rounds of `arms` and adds their values to `bench`, so that ratios between any
    /// two of them are of one round.
    ///
    /// # Errors
    /// When no arm returned a value that counts.
    pub fn interleave(&mut self, bench: &mut Bench, arms: &mut [Arm]) -> Result<()> {
        let mut arms: Vec<&mut Arm> =
            arms.iter_mut().filter(|arm| self.measures(&arm.name)).collect();
        if arms.is_empty() && !self.selection.is_everything() {
            return Ok(());
        }
        let names: Vec<&str> = arms.iter().map(|arm| arm.name.as_str()).collect();
        let (rounds, window) = (self.rounds, self.window);
        self.progress.begin(Plan { arms: &names, rounds, window });
        for round in 0..=self.rounds {
            for turn in 0..arms.len() {
                if self.is_interrupted() {
                    bench.cut(format!("interrupted in {}", self.called(round)));
                    return end(bench, &arms);
                }
                // The first round that counts begins with the first arm, so rows keep its order.
                let begin = round + arms.len() - 1;
                let count = arms.len();
                self.turn(bench, round, arms[(begin + turn) % count]);
            }
            self.progress.round_ended(bench);
        }
        end(bench, &arms)
    }

    /// Runs one arm's turn in a round.
    fn turn(&mut self, bench: &mut Bench, round: usize, arm: &mut Arm) {
        if arm.is_out {
            return;
        }
        self.progress.turns(&arm.name, round);
        match self.attempt(round, arm) {
            Ok(values) if round > WARM_UP => arm.keep(bench, round, &values),
            Ok(_) => (),
            Err(fault) if Transient::is_reason_of(&fault) => self.missed(round, arm, &fault),
            Err(fault) => {
                arm.is_out = true;
                let reason = format!("{}: {fault:#}", self.called(round));
                self.progress.excluded(&arm.name, &reason);
                bench.absent(&arm.name, reason);
            }
        }
    }

    /// Measures, and repeats a turn that failed for a transient reason.
    fn attempt(&mut self, round: usize, arm: &mut Arm) -> Result<Vec<Value>> {
        let tries = if round == WARM_UP { 1 } else { TRIES };
        for _ in 1..tries {
            match self.measure(round, arm) {
                Err(fault) if Transient::is_reason_of(&fault) && !self.is_interrupted() => (),
                done => return done,
            }
        }
        self.measure(round, arm)
    }

    /// Records a missed round; an arm that can no longer reach half of its rounds is excluded.
    fn missed(&mut self, round: usize, arm: &mut Arm, fault: &anyhow::Error) {
        let why = format!("{fault:#}");
        if round > WARM_UP {
            arm.missed += 1;
            arm.why.clone_from(&why);
        }
        arm.is_out = arm.missed * 2 > self.rounds;
        match arm.is_out {
            true => self.progress.excluded(&arm.name, &format!("missed most rounds: {why}")),
            false => self.progress.missed(&arm.name, &why),
        }
    }

    fn measure(&mut self, round: usize, arm: &mut Arm) -> Result<Vec<Value>> {
        let begin = Instant::now();
        let values = (arm.measure)(self.window)?;
        let took = begin.elapsed();
        ensure!(took <= self.window + OVERTIME, "took {took:.1?} for {:.1?}", self.window);
        for Value { row, value, .. } in &values {
            ensure!(value.is_finite(), "{row}: {value} is not a valid measurement");
        }
        let Some(Value { unit, value, .. }) = values.first() else { bail!("no value") };
        let (arm, rounds, value) = (arm.name.as_str(), self.rounds, *value);
        self.progress.value(Measurement { arm, round, rounds, value, unit });
        Ok(values)
    }

    /// Whether the run must end early.
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

/// Notes missing values in the report.
fn end(bench: &mut Bench, arms: &[&mut Arm]) -> Result<()> {
    let (few, some): (Vec<&Arm>, Vec<&Arm>) = arms
        .iter()
        .map(|arm| &**arm)
        .filter(|arm| arm.missed > 0)
        .partition(|arm| arm.had * 2 < arm.rounds());
    for arm in few {
        arm.rows.iter().for_each(|row| _ = bench.remove(row));
        let (missed, rounds, why) = (arm.missed, arm.rounds(), &arm.why);
        bench.absent(&arm.name, format!("failed in {missed} of {rounds} rounds: {why}"));
    }
    if let Some(last) = some.last() {
        let misses =
            some.iter().map(|arm| format!("{} {} of {}", arm.name, arm.missed, arm.rounds()));
        let (misses, why) = (misses.collect::<Vec<_>>().join(", "), &last.why);
        bench.note(format!("Rounds that failed {TRIES} times: {misses}. The last reason: {why}."));
    }
    if let Some(absent) = bench.notes().absent.first().filter(|_| bench.rounds().is_empty()) {
        bail!("{}: {}", absent.name, absent.reason);
    }
    ensure!(!bench.rounds().is_empty(), "nothing was measured before it was interrupted");
    Ok(())
}

const WARM_UP: usize = 0;
/// Attempts for a turn that fails for a transient reason.
const TRIES: usize = 3;
/// Longest time of a turn for set-up and end, in addition to its window.
const OVERTIME: Duration = Duration::from_secs(60);
/// Permitted numbers of rounds; a median of fewer than five is meaningless.
pub const ROUNDS: RangeInclusive<usize> = 5..=1000;
/// Permitted seconds of a turn.
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
            .notes()
            .absent
            .iter()
            .map(|gone| format!("{}: {}", gone.name, gone.reason))
            .collect();
        assert_eq!(
            absent,
            [
                "generic: warm-up: generic: NaN is not a valid measurement",
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

    /// An arm whose turns fail for a transient reason where a plan has a dash.
    fn moody<'a>(name: &str, plan: &'static str) -> Arm<'a> {
        let mut turns = plan.chars();
        Arm::wide(name, {
            let name = name.to_owned();
            move |_| {
                let Some(value) = turns.next().and_then(|turn| turn.to_digit(10)) else {
                    return Err(Transient::NoFrames.into());
                };
                let lost = Value::new(format!("lost/{name}"), "%", 0.0);
                Ok(vec![Value::new(&name, "pps", value.into()), lost])
            }
        })
    }

    #[test]
    fn what_passes_is_tried_again_and_then_costs_a_round() {
        // A warm-up of one try, then rounds of up to three.
        let arms = &mut [
            moody("steady", "012345"),
            moody("second-try", "-1-2--345"),
            moody("two-rounds-less", "01---2---3"),
            moody("two-rounds-only", "-1---2---"),
            moody("never", ""),
        ];
        let mut bench = Bench::new("x");
        let mut silent = Silent;
        Harness::new(5, 0.01, &mut silent).interleave(&mut bench, arms).unwrap();
        let rounds: Vec<(&str, Vec<(usize, f64)>)> = bench
            .rounds()
            .iter()
            .filter(|row| row.unit == "pps")
            .map(|row| (row.name.as_str(), row.numbered().collect()))
            .collect();
        let all = |values: [f64; 5]| (1..).zip(values).collect::<Vec<_>>();
        let want = [
            ("steady", all([1.0, 2.0, 3.0, 4.0, 5.0])),
            ("second-try", all([1.0, 2.0, 3.0, 4.0, 5.0])),
            ("two-rounds-less", vec![(1, 1.0), (3, 2.0), (5, 3.0)]),
        ];
        assert_eq!(rounds, want);
        let absent =
            bench.notes().absent.iter().map(|gone| format!("{}: {}", gone.name, gone.reason));
        let why = "rounds: no frame arrived in the window";
        let want = [
            format!("two-rounds-only: failed in 3 of 5 {why}"),
            format!("never: failed in 3 of 3 {why}"),
        ];
        assert_eq!(absent.collect::<Vec<_>>(), want);
        assert!(bench.rounds().iter().all(|row| !row.name.contains("only")), "with its details");
        let want = "Rounds that failed 3 times: two-rounds-less 2 of 5. \
                    The last reason: no frame arrived in the window.";
        assert_eq!(bench.notes().notes, [want]);
        let report = bench.ratio("steady", "two-rounds-less").finish(Host::default()).unwrap();
        assert_eq!(report.ratios[0].median, 1.5, "of rounds 1, 3 and 5");
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
        assert_eq!(bench.notes().cut.as_deref(), Some("interrupted in round 2 of 5"));
        assert_eq!(bench.rounds()[0].values.len() + bench.rounds()[1].values.len(), 3);
    }
}
