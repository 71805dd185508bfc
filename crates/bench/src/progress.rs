//! Who is told while a run goes on.
//!
//! Rule: progress is a courtesy; whatever it does, the measurement is the same.

use std::time::Duration;

use report::Bench;

/// What is about to be measured.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// By name; each has one turn a round.
    pub arms: &'a [&'a str],
    /// That count; one warm-up round comes before them.
    pub rounds: usize,
    /// Of each turn, its set-up not included.
    pub window: Duration,
}

/// One value that was just measured.
#[derive(Clone, Copy, Debug)]
pub struct Measurement<'a> {
    pub arm: &'a str,
    /// 0 is the warm-up.
    pub round: usize,
    pub rounds: usize,
    pub value: f64,
    pub unit: &'a str,
}

/// Hears of a scenario's course, in this order: `begins`; then for each turn of an arm `turns`,
/// and `value`, `misses` or `leaves`; `round_ends` after each
/// round. A scenario may begin more than once.
pub trait Progress {
    fn begin(&mut self, _plan: Plan<'_>) {}

    /// It is this arm's turn in `round`, of which 0 is the warm-up.
    fn turns(&mut self, _arm: &str, _round: usize) {}

    fn value(&mut self, _told: Measurement<'_>) {}

    /// The arm has no value of this round, because of something that may have passed by the next.
    fn missed(&mut self, _arm: &str, _reason: &str) {}

    /// The arm failed, and has no more turns.
    fn excluded(&mut self, _arm: &str, _reason: &str) {}

    /// Something worth saying that is no value.
    fn message(&mut self, _text: &str) {}

    /// Something that the user has to do before it goes on: to be shown whatever else is not.
    fn prompt(&mut self, _text: &str) {}

    /// What was measured so far, warm-up left out; to be kept in case the run is cut off.
    fn round_ended(&mut self, _so_far: &Bench) {}
}

/// Tells nobody.
#[derive(Clone, Copy, Debug)]
pub struct Silent;

impl Progress for Silent {}
