//! Signals that end a run.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use runner::Interrupt;
use sys::Result;
use sys::signal::Stop;

/// An interrupt that counts signals. From now on they are held back for this. Make it before any
/// thread.
pub fn by_signals() -> Result<Interrupt> {
    let (stop, count) = (Stop::new()?, AtomicU32::new(0));
    Ok(Interrupt::new(move || {
        while stop.pending().is_some() {
            count.fetch_add(1, Relaxed);
        }
        count.load(Relaxed)
    }))
}
