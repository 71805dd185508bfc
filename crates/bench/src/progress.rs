//! Who is told while a run goes on.
//!
//! Rule: progress is a courtesy; whatever it does, the measurement is the same.

use report::Bench;

/// One value that was just measured.
#[derive(Clone, Copy, Debug)]
pub struct Told<'a> {
    pub arm: &'a str,
    /// 0 is the warm-up.
    pub round: usize,
    pub rounds: usize,
    pub value: f64,
    pub unit: &'a str,
}

/// Hears of a scenario's course, in this order: `begins`, values, `round_ends` after each round.
pub trait Progress {
    /// The arms that take turns, and how many rounds count.
    fn begins(&mut self, _arms: &[&str], _rounds: usize) {}

    fn value(&mut self, _told: Told<'_>) {}

    /// Something worth saying that is no value.
    fn says(&mut self, _text: &str) {}

    /// What was measured so far, warm-up left out; to be kept in case the run is cut off.
    fn round_ends(&mut self, _so_far: &Bench) {}
}

/// Tells nobody.
#[derive(Clone, Copy, Debug)]
pub struct Silent;

impl Progress for Silent {}
