//! Places of the receive path where packets can end: each file is one, with how packets are ended
//! there and where they are counted.
//!
//! Rule: a hook that is set up is a guard; dropped, the receiver is as it was. What cannot be set
//! up says why, in the kernel's words where it has any. Counted is what ended there, by whoever
//! ended it, never what was sent.

pub mod limit;
pub mod xdp;

use std::time::Instant;

use anyhow::{Result, ensure};

use crate::field::{Field, Flood};

/// One place.
#[derive(Clone, Copy)]
pub struct Hook {
    /// Of its rows.
    pub name: &'static str,
    /// What is done there, in a line.
    pub about: &'static str,
    /// Sets it up on the receiver: packets of [`PORT`](crate::field::PORT) end there.
    pub set: fn(&Field) -> Result<Box<dyn Set>>,
}

/// A hook that is set up; dropped, it is not.
pub trait Set {
    /// Packets that ended there since it was set up.
    fn ended(&self) -> Result<u64>;
}

/// From the socket down to the driver.
pub const ALL: &[Hook] = &[xdp::GENERIC, xdp::NATIVE, limit::LIMIT];

/// Packets and time between two looks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Span {
    pub seconds: f64,
    /// Given to the sender's driver.
    pub offered: u64,
    /// That ended at the hook.
    pub ended: u64,
}

impl Span {
    /// What happens while `wait` lasts.
    pub fn of(flood: &Flood, hook: &dyn Set, wait: impl FnOnce()) -> Result<Self> {
        let look = || -> Result<(Instant, u64, u64)> {
            Ok((Instant::now(), flood.given(), hook.ended()?))
        };
        let (start, given, ended) = look()?;
        wait();
        let after = look()?;
        let span = Self {
            seconds: (after.0 - start).as_secs_f64(),
            offered: after.1 - given,
            ended: after.2 - ended,
        };
        ensure!(span.ended > 0, "nothing ended there: is something else attached?");
        Ok(span)
    }

    pub fn rate(&self) -> f64 {
        self.ended as f64 / self.seconds
    }

    /// Packets a second that were offered.
    pub fn offered_rate(&self) -> f64 {
        self.offered as f64 / self.seconds
    }

    /// Of what was offered, the share that ended elsewhere, in percent; what is on its way at a
    /// look can make it a little less than it is.
    pub fn lost(&self) -> f64 {
        100.0 * self.offered.saturating_sub(self.ended) as f64 / self.offered.max(1) as f64
    }
}
