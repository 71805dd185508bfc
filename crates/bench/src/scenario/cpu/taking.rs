//! `Taking`: packets are taken from an interface, and the processor time of that is known.

use anyhow::Result;

use super::busy_poll::BusyPolling;
use crate::field::Field;
use crate::hook::{Hook, Set};

/// Who takes packets.
#[derive(Clone, Copy)]
pub enum Taker {
    /// A hook of the kernel's receive path.
    Hook(&'static Hook),
    /// An AF_XDP socket that is busy polled.
    BusyPoll,
}

/// Ends when dropped.
pub struct Taking {
    by: By,
    /// Kernel threads that receive for the interface; none where a process polls it.
    pollers: Vec<u32>,
}

enum By {
    Hook(Box<dyn Set>),
    BusyPoll(Box<BusyPolling>),
}

impl Taker {
    /// Of its rows.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hook(hook) => hook.name,
            Self::BusyPoll => "af-xdp-busy-poll",
        }
    }

    /// What is done, in a line.
    pub fn about(self) -> &'static str {
        match self {
            Self::Hook(hook) => hook.about,
            Self::BusyPoll => "a thread that polls an AF_XDP socket and never sleeps",
        }
    }

    /// Begins, with the interface's packets received on the receiver's processor.
    pub fn start(self, field: &Field) -> Result<Taking> {
        let (by, pollers) = match self {
            Self::Hook(hook) => {
                let pollers = field.receiver.poll_in_threads(field.receiver_cpu)?;
                (By::Hook((hook.set)(field)?), pollers)
            }
            Self::BusyPoll => (By::BusyPoll(BusyPolling::start(field)?.into()), Vec::new()),
        };
        Ok(Taking { by, pollers })
    }
}

impl Taking {
    /// Where packets end.
    pub fn set(&self) -> &dyn Set {
        match &self.by {
            By::Hook(set) => set.as_ref(),
            By::BusyPoll(polling) => polling.as_ref(),
        }
    }

    /// Nanoseconds that receiving has taken so far. Of a kernel thread that runs at this moment it
    /// is the time of its last tick, so up to some milliseconds behind.
    pub fn spent_ns(&self) -> Result<u64> {
        let own = match &self.by {
            By::Hook(_) => 0,
            By::BusyPoll(polling) => polling.spent_ns()?,
        };
        self.pollers.iter().try_fold(own, |sum, pid| Ok(sum + sys::proc::run_ns(*pid)?))
    }
}
