//! Progress of a scenario: the values of each arm so far, and the remaining time.
//!
//! Rule: a plain value that receives events with their durations; it reads no clock.

use std::time::Duration;

use bench::{Measurement, Plan};
use report::Samples;
use report::number::human;

/// The state of `xway bench run` while a scenario is measured.
#[derive(Clone, Debug, Default)]
pub struct ScenarioState {
    /// Title of the scenario.
    pub title: String,
    pub arms: Vec<ArmState>,
    /// 0 is the warm-up.
    pub round: usize,
    pub rounds: usize,
    /// The arm whose turn it is.
    pub now: Option<usize>,
    /// The last message.
    pub message: String,
    /// The last event in a line, for output without a picture.
    pub line: String,
    window: Duration,
}

/// One arm.
#[derive(Clone, Debug, Default)]
pub struct ArmState {
    pub name: String,
    pub unit: String,
    /// Values of the rounds that count.
    values: Vec<f64>,
    /// Value of the warm-up, used until there is a round that counts.
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

    pub fn value(&mut self, measurement: Measurement<'_>, took: Duration) {
        self.line = format!(
            "{}, {}: {}",
            measurement.arm,
            self.called(measurement.round),
            human(measurement.value, measurement.unit)
        );
        if let Some(arm) = self.ended(took) {
            arm.unit = measurement.unit.to_owned();
            match measurement.round {
                0 => arm.warm = Some(measurement.value),
                _ => arm.values.push(measurement.value),
            }
        }
    }

    pub fn missed(&mut self, arm: &str, reason: &str, took: Duration) {
        self.message(&format!("{arm}, {}: no value: {reason}", self.called(self.round)));
        self.ended(took);
    }

    pub fn excluded(&mut self, arm: &str, reason: &str, took: Duration) {
        self.message(&format!("{arm} is excluded: {reason}"));
        if let Some(arm) = self.ended(took) {
            arm.is_out = true;
        }
    }

    pub fn message(&mut self, text: &str) {
        text.clone_into(&mut self.message);
        text.clone_into(&mut self.line);
    }

    /// The name of a round: "round 2 of 5".
    pub fn called(&self, round: usize) -> String {
        match round {
            0 => "warm-up".to_owned(),
            round => format!("round {round} of {}", self.rounds),
        }
    }

    /// The time of the remaining turns: each as long as the arm's earlier ones; without these, as
    /// the other arms' turns; at the beginning, the window and the set-up.
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

    /// Ends the turn of the current arm.
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

    /// Mean time of its turns.
    fn mean(&self) -> Option<Duration> {
        (self.turns > 0).then(|| self.took.div_f64(self.turns as f64))
    }
}

/// A time that is not known exactly.
pub fn rough(time: Duration) -> String {
    match time.as_secs_f64().round() as u64 {
        0 | 1 => "1 second".to_owned(),
        seconds @ ..100 => format!("{seconds} seconds"),
        seconds => format!("{} minutes", (seconds + 30) / 60),
    }
}

/// Time that an arm takes besides its window, until it is known.
const SET_UP: Duration = Duration::from_millis(100);
