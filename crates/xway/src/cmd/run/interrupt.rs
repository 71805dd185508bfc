//! Signals that end a run, visible to everything that takes long: packets, programs, maps.
//!
//! Rule: signals are counted, not consumed. One that comes while packets are played ends the
//! playing; the maps are still listed then, until another one comes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use sys::Result;
use sys::signal::Stop;

#[derive(Clone, Debug)]
pub struct Interrupt(Arc<Signals>);

#[derive(Debug)]
struct Signals {
    stop: Stop,
    count: AtomicU32,
}

impl Interrupt {
    /// From now on signals are held back for this. Make it before any thread.
    pub fn new() -> Result<Self> {
        Ok(Self(Arc::new(Signals { stop: Stop::new()?, count: AtomicU32::new(0) })))
    }

    /// Signals so far.
    pub fn count(&self) -> u32 {
        let Signals { stop, count } = &*self.0;
        while stop.pending().is_some() {
            count.fetch_add(1, Relaxed);
        }
        count.load(Relaxed)
    }

    pub fn has_come(&self) -> bool {
        self.count() > 0
    }

    /// A condition that holds until the next signal.
    pub fn until_next(&self) -> impl FnMut() -> bool {
        let (interrupt, before) = (self.clone(), self.count());
        move || interrupt.count() == before
    }
}
