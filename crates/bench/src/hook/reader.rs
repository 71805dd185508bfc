//! A thread that reads packets on a processor of its own, and counts them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};

use super::Set;
use crate::field::Worker;

/// Ends when dropped.
pub struct Reader {
    count: Arc<AtomicU64>,
    worker: Mutex<Worker>,
}

impl Reader {
    /// Calls `read` again and again; it waits for at most [`PATIENCE`] and tells how many packets
    /// it has read.
    pub fn start(
        cpu: usize,
        mut read: impl FnMut() -> Result<usize> + Send + 'static,
    ) -> Result<Self> {
        let count = Arc::new(AtomicU64::new(0));
        let own = Arc::clone(&count);
        let worker = Worker::start(cpu, move || {
            // Nobody else writes it.
            let sum = own.load(Ordering::Relaxed) + read()? as u64;
            own.store(sum, Ordering::Relaxed);
            Ok(())
        })?;
        Ok(Self { count, worker: Mutex::new(worker) })
    }
}

impl Set for Reader {
    fn ended(&self) -> Result<u64> {
        let mut worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        worker.check().context("reading stopped")?;
        Ok(self.count.load(Ordering::Relaxed))
    }
}

/// How long one reading may wait, so that a reader soon sees that it is to stop.
pub const PATIENCE: Duration = Duration::from_millis(20);
