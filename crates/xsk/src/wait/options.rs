//! What a socket is to be opened with, as far as waiting goes.

use std::time::Duration;

use super::{BusyPoll, Interrupt, Wait, Waiter};
use crate::{Error, Result};

#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    pub wait: Option<Wait>,
    pub busy_poll: Option<BusyPoll>,
    pub interrupt: Option<Interrupt>,
    pub longest_delay: Option<Duration>,
}

impl Options {
    pub fn check(&self) -> Result<()> {
        let Some(BusyPoll { microseconds, budget, .. }) = self.busy_poll else {
            return match self.wait {
                Some(Wait::BusyPoll) => Err(Error::Config(
                    "waiting by busy polling needs the socket's options for it: give `busy_poll`"
                        .to_owned(),
                )),
                _ => Ok(()),
            };
        };
        if microseconds == 0 || i32::try_from(microseconds).is_err() {
            return Err(Error::Config(format!(
                "busy polling for {microseconds} µs: have 1 or more, such as 20"
            )));
        }
        if budget == 0 || budget > u32::from(u16::MAX) {
            return Err(Error::Config(format!(
                "busy polling of {budget} packets: have 1 to {}, such as 64",
                u16::MAX
            )));
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
    fn what_cannot_be_is_refused_with_what_can() {
        let busy = |microseconds, budget| {
            let busy_poll = Some(BusyPoll { microseconds, budget, prefer: false });
            Options { busy_poll, ..Options::default() }
        };
        let alone = Options { wait: Some(Wait::BusyPoll), ..Options::default() };
        let bad = [
            (alone, "give `busy_poll`"),
            (busy(0, 64), "such as 20"),
            (busy(u32::MAX, 64), "such as 20"),
            (busy(20, 0), "such as 64"),
            (busy(20, 1 << 16), "1 to 65535"),
        ];
        for (options, text) in bad {
            let error = options.check().unwrap_err().to_string();
            assert!(error.contains(text), "{error}");
        }
        assert!(Options::default().check().is_ok());
        let both = Options { wait: Some(Wait::BusyPoll), ..busy(20, 64) };
        assert!(both.check().is_ok());
    }
}
