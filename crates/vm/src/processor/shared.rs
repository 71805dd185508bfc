//! State that all processors of a machine share.

use std::sync::{Arc, RwLock, RwLockReadGuard};

use super::{Call, Executable};
use crate::code::CallTable;
use crate::maps::{Directory, Map};
use crate::services::Services;
use crate::world::World;
use crate::world::net::Net;

/// A loaded object and its environment, as its processors see them.
#[derive(Debug)]
pub(crate) struct Shared {
    /// Name of the object in error messages.
    pub object: String,
    /// Number of processors.
    pub cpus: u32,
    /// The environment that was given.
    pub world: World,
    /// Instructions that each run may execute.
    pub budget: u64,
    /// The environment's network, indexed for lookups.
    pub net: Net,
    /// All maps.
    pub directory: Arc<Directory>,
    /// Heap, timers, trace log and types.
    pub services: Services,
    /// Functions that programs may call.
    pub functions: &'static CallTable<Call>,
    /// All programs by number.
    pub programs: RwLock<Vec<Arc<Executable>>>,
}

impl Shared {
    /// All maps by number, locked for reading.
    pub fn maps(&self) -> RwLockReadGuard<'_, Vec<Arc<Map>>> {
        self.directory.maps()
    }

    /// All programs by number, locked for reading.
    pub fn programs(&self) -> RwLockReadGuard<'_, Vec<Arc<Executable>>> {
        self.programs.read().expect("no thread panics while it holds the list of programs")
    }
}
