//! `Receiver`: a way to receive packets whose processor time can be measured.

use anyhow::Result;

use super::busy_poll::BusyPolling;
use crate::field::Field;
use crate::hook::{ActiveHook, Hook};

/// A way to receive packets.
#[derive(Clone, Copy)]
pub enum Receiver {
    /// A hook of the kernel's receive path.
    Hook(&'static Hook),
    /// An AF_XDP socket that is busy polled.
    BusyPoll,
}

/// A running receiver; dropping it ends it.
pub struct ActiveReceiver {
    by: Source,
    /// Kernel threads that receive for the interface; none if a process polls it.
    pollers: Vec<u32>,
}

enum Source {
    Hook(Box<dyn ActiveHook>),
    BusyPoll(Box<BusyPolling>),
}

impl Receiver {
    /// The name of its rows.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hook(hook) => hook.name,
            Self::BusyPoll => "af-xdp-busy-poll",
        }
    }

    /// A description of one line.
    pub fn about(self) -> &'static str {
        match self {
            Self::Hook(hook) => hook.about,
            Self::BusyPoll => "a thread that polls an AF_XDP socket and never sleeps",
        }
    }

    /// Starts to receive the interface's packets on the receiver's processor.
    pub fn start(self, field: &Field) -> Result<ActiveReceiver> {
        let (by, pollers) = match self {
            Self::Hook(hook) => {
                let pollers = field.receiver.poll_in_threads(field.receiver_cpu)?;
                (Source::Hook((hook.set)(field)?), pollers)
            }
            Self::BusyPoll => (Source::BusyPoll(BusyPolling::start(field)?.into()), Vec::new()),
        };
        Ok(ActiveReceiver { by, pollers })
    }
}

impl ActiveReceiver {
    /// The hook that counts the packets.
    pub fn set(&self) -> &dyn ActiveHook {
        match &self.by {
            Source::Hook(set) => set.as_ref(),
            Source::BusyPoll(polling) => polling.as_ref(),
        }
    }

    /// Nanoseconds that receiving has taken so far. For a kernel thread that is running it is the
    /// time of its last tick, so up to some milliseconds too low.
    pub fn spent_ns(&self) -> Result<u64> {
        let own = match &self.by {
            Source::Hook(_) => 0,
            Source::BusyPoll(polling) => polling.spent_ns()?,
        };
        self.pollers.iter().try_fold(own, |sum, pid| Ok(sum + sys::proc::run_ns(*pid)?))
    }
}
