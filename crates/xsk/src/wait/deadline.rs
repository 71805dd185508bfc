//! `Deadline`: the end of a wait.

use std::time::{Duration, Instant};

/// The end of a wait: from an [`Instant`], from a [`Duration`] from now on, or
/// [`NEVER`](Self::NEVER).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline(Option<Instant>);

impl Deadline {
    /// No deadline. An [`Interrupt`](super::Interrupt) still ends the wait.
    pub const NEVER: Self = Self(None);

    /// Whether the deadline has passed.
    pub fn is_over(&self) -> bool {
        self.is_over_at(Instant::now())
    }

    pub(crate) fn is_over_at(&self, now: Instant) -> bool {
        self.0.is_some_and(|at| now >= at)
    }

    /// Time left at `now`, at most `limit`.
    pub(crate) fn left(&self, now: Instant, limit: Duration) -> Duration {
        self.0.map_or(limit, |at| at.saturating_duration_since(now).min(limit))
    }
}

impl From<Duration> for Deadline {
    /// The deadline this time from now; [`NEVER`](Deadline::NEVER) if the clock cannot represent
    /// it.
    fn from(wait: Duration) -> Self {
        Self(Instant::now().checked_add(wait))
    }
}

impl From<Instant> for Deadline {
    fn from(at: Instant) -> Self {
        Self(Some(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_end_or_never_do() {
        let now = Instant::now();
        let second = Duration::from_secs(1);
        let deadline = Deadline::from(now + second);
        assert!(!deadline.is_over_at(now) && deadline.is_over_at(now + second));
        assert_eq!(deadline.left(now, Duration::MAX), second);
        assert_eq!(deadline.left(now, second / 2), second / 2);
        assert_eq!(deadline.left(now + 2 * second, second), Duration::ZERO);
        assert!(Deadline::from(Duration::ZERO).is_over());
        assert_eq!(Deadline::from(Duration::MAX), Deadline::NEVER);
        assert_eq!(Deadline::NEVER.left(now, second), second);
    }
}
