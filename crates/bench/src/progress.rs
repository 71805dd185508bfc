//! Progress of a run, for a view.
//!
//! Rule: a view does not influence the measurement.

use std::time::Duration;

use report::Bench;

/// The arms and rounds of a scenario.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// Names of the arms; each has one turn per round.
    pub arms: &'a [&'a str],
    /// Rounds that count; one warm-up round precedes them.
    pub rounds: usize,
    /// Duration of each turn without its set-up.
    pub window: Duration,
}

/// One value, as soon as it is measured.
#[derive(Clone, Copy, Debug)]
pub struct Measurement<'a> {
    /// The arm that was measured.
    pub arm: &'a str,
    /// Number of the round; 0 is the warm-up.
    pub round: usize,
    /// Number of rounds of the arm.
    pub rounds: usize,
    /// The value of the turn.
    pub value: f64,
    /// Unit of the value.
    pub unit: &'a str,
}

/// Receives the events of a scenario in this order: `begin`; then for each turn of an arm `turns`,
/// and `value`, `missed` or `excluded`; `round_ended` after each round. A scenario may begin more
/// than once.
pub trait Progress {
    fn begin(&mut self, _plan: Plan<'_>) {}

    /// The turn of this arm in `round` starts; round 0 is the warm-up.
    fn turns(&mut self, _arm: &str, _round: usize) {}

    fn value(&mut self, _told: Measurement<'_>) {}

    /// The arm has no value in this round for a transient reason.
    fn missed(&mut self, _arm: &str, _reason: &str) {}

    /// The arm failed and has no more turns.
    fn excluded(&mut self, _arm: &str, _reason: &str) {}

    /// A message for the user.
    fn message(&mut self, _text: &str) {}

    /// An instruction that the user must follow before the run continues; always shown.
    fn prompt(&mut self, _text: &str) {}

    /// All values so far without the warm-up, to be saved in case the run is interrupted.
    fn round_ended(&mut self, _so_far: &Bench) {}
}

/// Ignores all events.
#[derive(Clone, Copy, Debug)]
pub struct Silent;

impl Progress for Silent {}
