//! `Sink`: counts arriving frames by stream.
//!
//! An XDP program (`bpf/sink`, prepared and read by [`program`]) or a thread that reads a socket
//! ([`Tracker`]) counts the frames; both produce the same report for the same frames. The numbers
//! of each source are kept in a window of 2^18, so every frame is new, a duplicate, or late,
//! independent of the processors on which frames arrive.

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
pub use config::{Clocks, FrameAction, SinkConfig, Via};
pub use interval::Interval;
pub use reflect::reflect;
pub use report::{Judgement, SinkReport, StreamReport, Summary};
pub use tracker::{Tracker, WINDOW};

use kernel::Mode;

use crate::error::Result;
use live::Live;
use stack::Listener;

/// A running sink. Dropping it restores the interface.
#[derive(Debug)]
pub struct Sink {
    started: Instant,
    access: Access,
}

#[derive(Debug)]
enum Access {
    Xdp(Box<Live>),
    Stack(Listener),
}

impl Sink {
    /// Starts counting in the network namespace of the calling thread. It must be started before
    /// the sender, since numbers count from zero.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) for numbers beyond their limits;
    /// [`kernel::Error::Occupied`] with the name of an XDP program that is already attached.
    pub fn start(config: &SinkConfig) -> Result<Self> {
        config.check()?;
        let access = match config.via {
            Via::Xdp => Access::Xdp(Live::start(config, None)?.into()),
            Via::XdpIn(mode) => Access::Xdp(Live::start(config, Some(mode))?.into()),
            Via::Stack => Access::Stack(Listener::start(config)?),
        };
        Ok(Self { started: Instant::now(), access })
    }

    /// Where the program runs; `None` for a socket.
    pub fn mode(&self) -> Option<Mode> {
        match &self.access {
            Access::Xdp(live) => live.mode(),
            Access::Stack(_) => None,
        }
    }

    /// The counters so far.
    ///
    /// # Errors
    /// When a map cannot be read, or the thread of the socket has ended.
    pub fn snapshot(&self) -> Result<SinkReport> {
        let report = match &self.access {
            Access::Xdp(live) => live.report(),
            Access::Stack(listener) => listener.report(),
        }?;
        Ok(SinkReport { elapsed: self.started.elapsed(), ..report })
    }

    /// Whether the end of every known source was received, and at least one source is known. Frames
    /// on other queues may still arrive after it.
    ///
    /// # Errors
    /// As [`snapshot`](Self::snapshot).
    pub fn all_ended(&self) -> Result<bool> {
        match &self.access {
            Access::Xdp(live) => live.all_ended(),
            Access::Stack(listener) => listener.all_ended(),
        }
    }

    /// Stops counting, and returns the final counters.
    ///
    /// # Errors
    /// As [`snapshot`](Self::snapshot).
    pub fn stop(self) -> Result<SinkReport> {
        let elapsed = self.started.elapsed();
        let report = match self.access {
            Access::Xdp(live) => live.stop(),
            Access::Stack(listener) => listener.stop(),
        }?;
        Ok(SinkReport { elapsed, ..report })
    }
}
