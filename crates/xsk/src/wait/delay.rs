//! How long a packet may wait for others of its batch.

use std::time::{Duration, Instant};

/// Since when the oldest packet waits. Reads the clock only where a longest delay was asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Delay {
    longest: Option<Duration>,
    since: Option<Instant>,
}

impl Delay {
    pub fn new(longest: Option<Duration>) -> Self {
        Self { longest, since: None }
    }

    /// A packet waits; `true` when the oldest one did so for too long.
    #[inline]
    pub fn note(&mut self) -> bool {
        let Some(longest) = self.longest else { return false };
        self.since.get_or_insert_with(Instant::now).elapsed() >= longest
    }

    /// Whether there is a longest one.
    pub fn is_set(&self) -> bool {
        self.longest.is_some()
    }

    /// As [`Delay::note`], when no packet came.
    #[inline]
    pub fn is_over(&self) -> bool {
        let Some(longest) = self.longest else { return false };
        self.since.is_some_and(|since| since.elapsed() >= longest)
    }

    /// No packet waits any more.
    #[inline]
    pub fn end(&mut self) {
        self.since = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_packet_counts() {
        let mut none = Delay::new(None);
        assert!(!none.note() && !none.is_over());
        let mut soon = Delay::new(Some(Duration::ZERO));
        assert!(!soon.is_over(), "nothing waits");
        assert!(soon.note() && soon.is_over());
        soon.end();
        assert!(!soon.is_over());
        let mut late = Delay::new(Some(Duration::from_secs(3600)));
        assert!(!late.note() && !late.is_over());
        late.since = Instant::now().checked_sub(Duration::from_secs(3600));
        assert!(late.note() && late.is_over());
    }
}
