//! How far a scenario is: what each arm gave so far, and how long the rest will take.
//!
//! Rule: a value that is told what happened and how long it took; it looks at no clock.

use std::time::Duration;

use bench::{Measurement, Plan};
use report::Samples;
use report::number::human;

/// The state of `xway bench run` while a scenario is measured.
#[derive(Clone, Debug, Default)]
pub struct ScenarioState {
    /// Of the scenario.
    pub title: String,
    pub arms: Vec<ArmState>,
    /// 0 is the warm-up.
    pub round: usize,
    pub rounds: usize,
    /// The arm whose turn it is.
    pub now: Option<usize>,
    /// Said last that is no value.
    pub message: String,
    /// What happened last, for where there is no picture.
    pub line: String,
    window: Duration,
}

/// One arm.
#[derive(Clone, Debug, Default)]
pub struct ArmState {
    pub name: String,
    pub unit: String,
    /// Of the rounds that count.
    values: Vec<f64>,
    /// Of the warm-up: better than nothing until there is a round that counts.
    warm: Option<f64>,
    pub is_out: bool,
    turns: usize,
    took: Duration,
}

impl ScenarioState {
    pub fn new(title: &str, plan: Plan<'_>) -> Self {
        let arm = |name: &&str| ArmState { name: (*name).to_owned(), ..ArmState::default() };
        let arms = plan.arms.iter().map(arm).collect();
        let (title, rounds, window) = (title.to_owned(), plan.rounds, plan.window);
        let mut this = Self { title, arms, rounds, window, ..Self::default() };
        this.line = this.estimate();
        this
    }

    pub fn turns(&mut self, arm: &str, round: usize) {
        self.now = self.arms.iter().position(|known| known.name == arm);
        self.round = round;
    }

    pub fn value(&mut self, told: Measurement<'_>, took: Duration) {
        self.line =
            format!("{}, {}: {}", told.arm, self.called(told.round), human(told.value, told.unit));
        if let Some(arm) = self.ended(took) {
            arm.unit = told.unit.to_owned();
            match told.round {
                0 => arm.warm = Some(told.value),
                _ => arm.values.push(told.value),
            }
        }
    }

    pub fn missed(&mut self, arm: &str, reason: &str, took: Duration) {
        self.message(&format!("{arm}, {}: nothing: {reason}", self.called(self.round)));
        self.ended(took);
    }

    pub fn excluded(&mut self, arm: &str, reason: &str, took: Duration) {
        self.message(&format!("{arm} is left out: {reason}"));
        if let Some(arm) = self.ended(took) {
            arm.is_out = true;
        }
    }

    pub fn message(&mut self, text: &str) {
        text.clone_into(&mut self.message);
        text.clone_into(&mut self.line);
    }

    /// "round 2 of 5".
    pub fn called(&self, round: usize) -> String {
        match round {
            0 => "warm-up".to_owned(),
            round => format!("round {round} of {}", self.rounds),
        }
    }

    /// The turns that are left, each as long as that arm's were; one that had none is like the
    /// others, and before there is any a turn is its window and a bit.
    pub fn left(&self) -> Duration {
        let had: usize = self.arms.iter().map(|arm| arm.turns).sum();
        let took: Duration = self.arms.iter().map(|arm| arm.took).sum();
        let usual = match had {
            0 => self.window + SET_UP,
            had => took.div_f64(had as f64),
        };
        let left = |arm: &ArmState| {
            let turns = (self.rounds + 1).saturating_sub(arm.turns) as f64;
            arm.mean().unwrap_or(usual).mul_f64(turns)
        };
        self.arms.iter().filter(|arm| !arm.is_out).map(left).sum()
    }

    fn estimate(&self) -> String {
        let (arms, rounds) = (self.arms.len(), self.rounds + 1);
        let (time, s) = (rough(self.left()), if arms == 1 { "" } else { "s" });
        format!("{}: about {time}: {arms} arm{s} x {rounds} rounds", self.title)
    }

    /// The arm whose turn it was.
    fn ended(&mut self, took: Duration) -> Option<&mut ArmState> {
        let arm = self.arms.get_mut(self.now?)?;
        arm.turns += 1;
        arm.took += took;
        Some(arm)
    }
}

impl ArmState {
    /// The running median.
    pub fn median(&self) -> Option<f64> {
        let samples = Samples::new(self.values.as_slice()).ok();
        samples.map(|samples| samples.stats().median).or(self.warm)
    }

    /// Whether the median is of rounds that count.
    pub fn counts(&self) -> bool {
        !self.values.is_empty()
    }

    /// Of its turns.
    fn mean(&self) -> Option<Duration> {
        (self.turns > 0).then(|| self.took.div_f64(self.turns as f64))
    }
}

/// A time that nobody knows exactly.
pub fn rough(time: Duration) -> String {
    match time.as_secs_f64().round() as u64 {
        0 | 1 => "1 second".to_owned(),
        seconds @ ..100 => format!("{seconds} seconds"),
        seconds => format!("{} minutes", (seconds + 30) / 60),
    }
}

/// What an arm takes on top of its window, as long as nobody knows.
const SET_UP: Duration = Duration::from_millis(100);
