//! `Delay`: limits how long a packet waits for the others of its batch.

use std::time::{Duration, Instant};

/// The time since which the oldest packet waits. Reads the clock only if a longest delay is set.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Delay {
    longest: Option<Duration>,
    since: Option<Instant>,
}

impl Delay {
    pub fn new(longest: Option<Duration>) -> Self {
        Self { longest, since: None }
    }

    /// Notes a waiting packet; `true` when the oldest one has waited too long.
    #[inline]
    pub fn note(&mut self) -> bool {
        let Some(longest) = self.longest else { return false };
        self.since.get_or_insert_with(Instant::now).elapsed() >= longest
    }

    /// Whether a longest delay is set.
    pub fn is_set(&self) -> bool {
        self.longest.is_some()
    }

    /// As [`Delay::note`], without a new packet.
    #[inline]
    pub fn is_over(&self) -> bool {
        let Some(longest) = self.longest else { return false };
        self.since.is_some_and(|since| since.elapsed() >= longest)
    }

    /// Notes that no packet is waiting.
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
