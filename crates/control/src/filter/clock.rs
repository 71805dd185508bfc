//! `Clock`: measures consecutive parts of an operation.

use std::time::Instant;

/// A stopwatch for consecutive parts of an operation.
#[derive(Debug)]
pub struct Clock(Instant);

impl Clock {
    /// Starts the first part.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Seconds since the start or the previous lap.
    pub fn lap(&mut self) -> f64 {
        let now = Instant::now();
        let lap = now - self.0;
        self.0 = now;
        lap.as_secs_f64()
    }
}
