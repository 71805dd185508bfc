//! What the helpers of all workers share: allocated objects, timers, the trace log, types.

use std::sync::{Mutex, MutexGuard};

use spec::btf::Btf;

use super::log::Log;
use super::timer::Timers;
use crate::objects::Heap;

/// A machine's services to programs.
#[derive(Debug)]
pub(crate) struct Services {
    pub heap: Heap,
    pub timers: Timers,
    log: Mutex<Log>,
    /// The object's types, for what a program allocates by type.
    pub types: Option<Btf>,
}

impl Services {
    pub fn new(types: Option<&Btf>) -> Self {
        Self {
            heap: Heap::new(),
            timers: Timers::default(),
            log: Mutex::default(),
            types: types.cloned(),
        }
    }

    pub fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().expect("nobody panics while holding the log")
    }
}
