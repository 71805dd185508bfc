//! `Waiter`: how one half of a socket waits, adapted to its previous waits.

use std::hint::spin_loop;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use sys::poll::{self, Watch, Woken};

use super::turns::Turns;
use super::{Deadline, Interrupt, Wait};
use crate::Result;
use crate::limits::{FLOOD, LEAST_SPIN, LOOKS, MOST_SPIN};

/// The policy of one half, and the time to spin that results from previous waits.
#[derive(Clone, Debug)]
pub(crate) struct Waiter {
    policy: Wait,
    /// How long an adaptive wait spins before it sleeps.
    spin: Duration,
    interrupt: Option<Interrupt>,
}

impl Waiter {
    pub fn new(policy: Wait, interrupt: Option<Interrupt>) -> Self {
        Self { policy, spin: MOST_SPIN, interrupt }
    }

    pub fn set_policy(&mut self, policy: Wait) {
        self.policy = policy;
    }

    pub fn interrupt(&self) -> Option<&Interrupt> {
        self.interrupt.as_ref()
    }

    pub fn is_interrupted(&self) -> bool {
        self.interrupt.as_ref().is_some_and(Interrupt::is_raised)
    }

    pub fn begin(&self, deadline: Deadline, now: Instant) -> Turns {
        Turns::new(self.policy, self.spin, deadline, now)
    }

    /// Checks the condition a limited number of times; `true` once it holds.
    pub fn spin(mut is_there: impl FnMut() -> bool) -> bool {
        for _ in 0..LOOKS {
            if is_there() {
                return true;
            }
            spin_loop();
        }
        false
    }

    /// Sleeps until `watch`, if any, has an event, or the interrupt is raised.
    pub fn sleep(&self, watch: Option<Watch<'_>>, limit: Duration) -> Result<Woken> {
        let interrupt = self.interrupt.as_ref().map(|other| Watch::readable(other.as_fd()));
        let woken = match (watch, interrupt) {
            (Some(watch), Some(other)) => poll::wait(&mut [watch, other], Some(limit)),
            (Some(one), None) | (None, Some(one)) => poll::wait(&mut [one], Some(limit)),
            (None, None) => poll::wait(&mut [], Some(limit)),
        };
        Ok(woken?)
    }

    /// Adapts to a wait of `gap` that ended with `came` packets. Single packets in quick succession
    /// are worth spinning for. Many packets in a batch also accumulate during a sleep, which costs
    /// less per packet.
    pub fn learn(&mut self, gap: Duration, came: u32) {
        self.spin = match () {
            () if came >= FLOOD => Duration::ZERO,
            () if gap <= MOST_SPIN => MOST_SPIN,
            () => (self.spin / 2).max(LEAST_SPIN),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spinning_follows_the_traffic() {
        let mut waiter = Waiter::new(Wait::Adaptive, None);
        assert_eq!(waiter.spin, MOST_SPIN);
        for _ in 0..20 {
            waiter.learn(Duration::from_millis(1), 1);
        }
        assert_eq!(waiter.spin, LEAST_SPIN, "rare packets: sleep");
        waiter.learn(Duration::from_micros(20), 1);
        assert_eq!(waiter.spin, MOST_SPIN, "a quick answer: spin");
        waiter.learn(Duration::from_micros(20), FLOOD);
        assert_eq!(waiter.spin, Duration::ZERO, "a flood: sleep, and take many");
        waiter.learn(Duration::from_micros(20), 1);
        assert_eq!(waiter.spin, MOST_SPIN);
    }

    #[test]
    fn an_interrupt_ends_a_sleep() {
        let interrupt = Interrupt::new().unwrap();
        let waiter = Waiter::new(Wait::Poll, Some(interrupt.clone()));
        assert_eq!(waiter.sleep(None, Duration::ZERO).unwrap(), Woken::Late);
        interrupt.raise();
        assert!(waiter.is_interrupted());
        let woken = waiter.sleep(None, Duration::from_secs(3600)).unwrap();
        assert_eq!(woken, Woken::Ready(1));
    }
}
