//! `Turns`: the steps of one wait.

use std::time::{Duration, Instant};

use super::{Deadline, Wait};
use crate::limits::LOOK;

/// One wait, step by step. The caller checks its condition between the steps.
#[derive(Debug)]
pub(crate) struct Turns {
    policy: Wait,
    deadline: Deadline,
    spin_until: Instant,
    look_at: Instant,
}

/// The next step of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// The deadline has passed.
    Over,
    /// Check that the socket still works, which `poll` does not report.
    Look,
    /// Check again without sleeping.
    Spin,
    /// Let a system call run the driver.
    Drive,
    /// Sleep at most this long.
    Sleep(Duration),
}

impl Turns {
    /// `spin` is how long an adaptive wait spins.
    pub fn new(policy: Wait, spin: Duration, deadline: Deadline, now: Instant) -> Self {
        Self { policy, deadline, spin_until: now + spin, look_at: now + LOOK }
    }

    pub fn next(&mut self, now: Instant) -> Turn {
        if self.deadline.is_over_at(now) {
            return Turn::Over;
        }
        if now >= self.look_at {
            self.look_at = now + LOOK;
            return Turn::Look;
        }
        match self.policy {
            Wait::Spin => Turn::Spin,
            Wait::BusyPoll => Turn::Drive,
            Wait::Adaptive if now < self.spin_until => Turn::Spin,
            Wait::Poll | Wait::Adaptive => {
                Turn::Sleep(self.deadline.left(now, self.look_at.saturating_duration_since(now)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPIN: Duration = Duration::from_micros(50);
    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn each_policy_does_its_own() {
        let now = Instant::now();
        let later = now + SPIN;
        let rest = LOOK - SPIN;
        let cases = [
            (Wait::Spin, Turn::Spin, Turn::Spin),
            (Wait::BusyPoll, Turn::Drive, Turn::Drive),
            (Wait::Poll, Turn::Sleep(LOOK), Turn::Sleep(rest)),
            (Wait::Adaptive, Turn::Spin, Turn::Sleep(rest)),
        ];
        for (policy, first, then) in cases {
            let mut turns = Turns::new(policy, SPIN, Deadline::from(now + SECOND), now);
            assert_eq!((turns.next(now), turns.next(later)), (first, then), "{policy:?}");
        }
    }

    #[test]
    fn a_sleep_ends_at_the_deadline_and_the_socket_is_looked_at() {
        let now = Instant::now();
        let soon = LOOK / 2;
        let mut turns = Turns::new(Wait::Poll, SPIN, Deadline::from(now + soon), now);
        assert_eq!(turns.next(now), Turn::Sleep(soon));
        assert_eq!(turns.next(now + soon), Turn::Over);
        for policy in [Wait::Spin, Wait::Poll, Wait::BusyPoll, Wait::Adaptive] {
            let mut turns = Turns::new(policy, SPIN, Deadline::NEVER, now);
            for round in 1..5 {
                let then = now + round * LOOK;
                assert_eq!(turns.next(then), Turn::Look, "{policy:?}");
                assert_ne!(turns.next(then), Turn::Look, "{policy:?}");
            }
        }
    }
}
