//! `Sink`: counts what arrives, by stream, packet by packet.
//!
//! The work is done by an XDP program (`bpf/sink`, made ready and read by [`program`]), or by a
//! thread that reads a socket ([`Tracker`]); both come to the same report of the same frames.
//! Each source's numbers are kept in a window of 2^18, so every frame is new, a duplicate, or
//! late, on however many processors it arrives. Not here: sending.

pub mod abi;
mod account;
mod config;
mod interval;
mod live;
pub mod program;
mod reflect;
mod report;
mod stack;
#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests;
mod tracker;
mod verify;

use std::time::Instant;

pub use abi::Reason;
pub use config::{Clocks, Fate, SinkConfig, Via};
pub use interval::Interval;
pub use reflect::reflect;
pub use report::{Judgement, SinkReport, StreamReport, Summary};
pub use tracker::{Tracker, WINDOW};

use kernel::Mode;

use crate::error::Result;
use live::Live;
use stack::Listener;

/// A sink at work. Dropping it leaves the interface as it was found.
#[derive(Debug)]
pub struct Sink {
    started: Instant,
    at: At,
}

#[derive(Debug)]
enum At {
    Xdp(Box<Live>),
    Stack(Listener),
}

impl Sink {
    /// Listens from now on, in the calling thread's namespace. Start it before the sender:
    /// frames count from number zero.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) for numbers that leave a limit;
    /// [`kernel::Error::Occupied`] names the XDP program that is there already.
    pub fn start(config: &SinkConfig) -> Result<Self> {
        config.check()?;
        let at = match config.via {
            Via::Xdp => At::Xdp(Live::start(config, None)?.into()),
            Via::XdpIn(mode) => At::Xdp(Live::start(config, Some(mode))?.into()),
            Via::Stack => At::Stack(Listener::start(config)?),
        };
        Ok(Self { started: Instant::now(), at })
    }

    /// Where the program runs; `None` for a socket.
    pub fn mode(&self) -> Option<Mode> {
        match &self.at {
            At::Xdp(live) => live.mode(),
            At::Stack(_) => None,
        }
    }

    /// What came so far.
    pub fn snapshot(&self) -> Result<SinkReport> {
        let report = match &self.at {
            At::Xdp(live) => live.report(),
            At::Stack(listener) => listener.report(),
        }?;
        Ok(SinkReport { elapsed: self.started.elapsed(), ..report })
    }

    /// Whether the end of every source that was seen has been seen, and of one at least. Frames
    /// may still be on their way behind it on another queue.
    pub fn all_ended(&self) -> Result<bool> {
        match &self.at {
            At::Xdp(live) => live.all_ended(),
            At::Stack(listener) => listener.all_ended(),
        }
    }

    /// Listens no longer, and tells what came.
    pub fn stop(self) -> Result<SinkReport> {
        let elapsed = self.started.elapsed();
        let report = match self.at {
            At::Xdp(live) => live.stop(),
            At::Stack(listener) => listener.stop(),
        }?;
        Ok(SinkReport { elapsed, ..report })
    }
}
