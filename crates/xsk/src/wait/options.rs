//! Options of a socket that concern waiting.

use std::time::Duration;

use super::{BusyPoll, Interrupt, Wait, Waiter};
use crate::error::ConfigError;

#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    pub wait: Option<Wait>,
    pub busy_poll: Option<BusyPoll>,
    pub interrupt: Option<Interrupt>,
    pub longest_delay: Option<Duration>,
}

impl Options {
    pub fn check(&self) -> Result<(), ConfigError> {
        let Some(BusyPoll { microseconds, budget, .. }) = self.busy_poll else {
            return match self.wait {
                Some(Wait::BusyPoll) => Err(ConfigError::BusyPollUnset),
                _ => Ok(()),
            };
        };
        if microseconds == 0 || i32::try_from(microseconds).is_err() {
            return Err(ConfigError::BusyPollTime { microseconds });
        }
        if budget == 0 || budget > u32::from(u16::MAX) {
            return Err(ConfigError::BusyPollBudget { budget });
        }
        Ok(())
    }

    pub fn waiter(&self) -> Waiter {
        let wait = match self.busy_poll {
            Some(_) => Wait::BusyPoll,
            None => Wait::default(),
        };
        Waiter::new(self.wait.unwrap_or(wait), self.interrupt.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_options_are_rejected() {
        let busy = |microseconds, budget| {
            let busy_poll = Some(BusyPoll { microseconds, budget, prefer: false });
            Options { busy_poll, ..Options::default() }
        };
        let alone = Options { wait: Some(Wait::BusyPoll), ..Options::default() };
        let bad = [
            (alone, ConfigError::BusyPollUnset),
            (busy(0, 64), ConfigError::BusyPollTime { microseconds: 0 }),
            (busy(u32::MAX, 64), ConfigError::BusyPollTime { microseconds: u32::MAX }),
            (busy(20, 0), ConfigError::BusyPollBudget { budget: 0 }),
            (busy(20, 1 << 16), ConfigError::BusyPollBudget { budget: 1 << 16 }),
        ];
        for (options, error) in bad {
            assert_eq!(options.check(), Err(error));
        }
        assert!(Options::default().check().is_ok());
        let both = Options { wait: Some(Wait::BusyPoll), ..busy(20, 64) };
        assert!(both.check().is_ok());
    }
}
