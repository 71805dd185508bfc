//! `Clock`: how long the parts of a change took, one after the other.

use std::time::Instant;

#[derive(Debug)]
pub struct Clock(Instant);

impl Clock {
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Seconds since it was started or asked the last time.
    pub fn lap(&mut self) -> f64 {
        let now = Instant::now();
        let lap = now - self.0;
        self.0 = now;
        lap.as_secs_f64()
    }
}
