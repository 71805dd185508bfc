//! A thread that reads packets on a processor of its own, and counts them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};

use super::ActiveHook;
use crate::field::Worker;

/// The thread and its count; dropping it ends the thread.
#[derive(Debug)]
pub struct Reader {
    count: Arc<AtomicU64>,
    worker: Mutex<Worker>,
}

impl Reader {
    /// Starts a thread that repeats `read`, which waits for at most [`PATIENCE`] and returns the
    /// number of packets that it read.
    pub fn start(
        cpu: usize,
        mut read: impl FnMut() -> Result<usize> + Send + 'static,
    ) -> Result<Self> {
        let count = Arc::new(AtomicU64::new(0));
        let own = Arc::clone(&count);
        let worker = Worker::start(cpu, move || {
            // No other thread writes it.
            let sum = own.load(Ordering::Relaxed) + read()? as u64;
            own.store(sum, Ordering::Relaxed);
            Ok(())
        })?;
        Ok(Self { count, worker: Mutex::new(worker) })
    }
}

impl Reader {
    /// Nanoseconds that the thread has spent on its processor.
    pub fn cpu_ns(&self) -> Result<u64> {
        self.worker().cpu_ns()
    }

    fn worker(&self) -> MutexGuard<'_, Worker> {
        self.worker.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ActiveHook for Reader {
    fn ended(&self) -> Result<u64> {
        self.worker().check().context("reading stopped")?;
        Ok(self.count.load(Ordering::Relaxed))
    }
}

/// How long one call may wait, so that the thread ends soon after it is dropped.
pub const PATIENCE: Duration = Duration::from_millis(20);
