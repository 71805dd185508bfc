//! Services that a machine offers to the helpers of all its processors: allocated objects,
//! timers, the trace log, types.

mod log;
mod timers;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use spec::btf::Btf;

use crate::maps::Fields;
use crate::objects::Heap;
use log::Log;

pub use log::TraceLine;
pub(crate) use timers::{Timer, Timers};

/// The services of one machine.
#[derive(Debug)]
pub(crate) struct Services {
    /// Objects that programs have allocated.
    pub heap: Heap,
    /// Timers and work queues.
    pub timers: Timers,
    log: Mutex<Log>,
    /// The object's types, which name the sizes of allocations.
    pub types: Option<Btf>,
    /// Special fields by type.
    pub fields: HashMap<u32, Fields>,
}

impl Services {
    /// The services for an object with these types.
    pub fn new(types: Option<&Btf>) -> Self {
        Self {
            heap: Heap::new(),
            timers: Timers::default(),
            log: Mutex::default(),
            types: types.cloned(),
            fields: types.map(Fields::by_type).unwrap_or_default(),
        }
    }

    /// The trace log, locked.
    pub fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().expect("no thread panics while it holds the log")
    }
}
