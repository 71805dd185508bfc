//! What the helpers of all workers share: allocated objects, timers, the trace log, types.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use spec::btf::Btf;

use super::log::Log;
use super::timer::Timers;
use crate::maps::Fields;
use crate::objects::Heap;

/// A machine's services to programs.
#[derive(Debug)]
pub(crate) struct Services {
    pub heap: Heap,
    pub timers: Timers,
    log: Mutex<Log>,
    /// The object's types, for what a program allocates by type.
    pub types: Option<Btf>,
    /// Special fields of those types.
    pub fields: HashMap<u32, Fields>,
}

impl Services {
    pub fn new(types: Option<&Btf>) -> Self {
        Self {
            heap: Heap::new(),
            timers: Timers::default(),
            log: Mutex::default(),
            types: types.cloned(),
            fields: types.map(super::field::of_types).unwrap_or_default(),
        }
    }

    pub fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().expect("nobody panics while holding the log")
    }
}
