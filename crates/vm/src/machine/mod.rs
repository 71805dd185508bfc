//! A loaded object: programs, maps and the world around them, shared by its workers.

mod kconfig;
mod load;
mod options;
mod raw;

use std::sync::{Arc, RwLock, RwLockReadGuard};

use spec::{MapDef, Spec};

use crate::code::Program;
use crate::errno::Errno;
use crate::error::{Error, Result};
use crate::helpers::Services;
use crate::maps::{Directory, Map};
use crate::worker::Worker;
use crate::world::World;
use crate::world::net::Net;

pub use options::Options;
pub use raw::run_raw;

/// An object brought to life.
#[derive(Clone, Debug)]
pub struct Machine {
    shared: Arc<Shared>,
}

/// What all workers of a machine have in common.
#[derive(Debug)]
pub(crate) struct Shared {
    /// What errors call the object.
    pub object: String,
    pub cpus: u32,
    pub world: World,
    /// What each run may spend.
    pub budget: u64,
    /// The world's network, as programs look things up in it.
    pub net: Net,
    pub directory: Arc<Directory>,
    /// What the helpers of all workers share.
    pub services: Services,
    programs: RwLock<Vec<Arc<Program>>>,
}

impl Machine {
    /// Creates the maps, fills them and decodes the programs.
    pub fn load(spec: &Spec, options: &Options) -> Result<Self> {
        Ok(Self { shared: Arc::new(load::load(spec, options)?) })
    }

    /// The map of that name.
    ///
    /// # Errors
    /// The object has no such map, or it was not created because no loaded program uses it.
    pub fn map(&self, name: &str) -> Result<Arc<Map>> {
        let maps = self.shared.maps();
        let found = maps.iter().find(|map| map.facts().name == name).cloned();
        let found = found.ok_or_else(|| Error::Unknown {
            object: self.shared.object.clone(),
            what: "map",
            name: name.to_owned(),
            known: maps.iter().map(|map| map.facts().name.clone()).collect(),
        })?;
        match found.why_absent() {
            Some(why) => {
                Err(Error::Map { map: name.to_owned(), why: why.to_owned(), errno: Errno::ENOENT })
            }
            None => Ok(found),
        }
    }

    /// All maps, in the object's order, then those created since. Some may not have been created:
    /// see [`Map::why_absent`].
    pub fn maps(&self) -> Vec<Arc<Map>> {
        self.shared.maps().clone()
    }

    /// Makes one more map, such as one to put into a map of maps: its id there is its number
    /// plus one.
    pub fn create_map(&self, def: &MapDef) -> Result<Arc<Map>> {
        load::create_one(&self.shared.directory, def, self.shared.cpus)
    }

    /// Number of the program of that name.
    ///
    /// # Errors
    /// The object has no such program, or has one that was not loaded: the error says why.
    pub fn program(&self, name: &str) -> Result<usize> {
        let programs = self.shared.programs();
        let found = programs.iter().position(|program| program.name() == name);
        let number = found.ok_or_else(|| Error::Unknown {
            object: self.shared.object.clone(),
            what: "program",
            name: name.to_owned(),
            known: programs.iter().map(|program| program.name().to_owned()).collect(),
        })?;
        match programs[number].why_skipped() {
            None => Ok(number),
            Some(why) => Err(Error::Skipped { program: name.to_owned(), why: why.to_owned() }),
        }
    }

    /// All programs that are loaded, in the object's order.
    pub fn programs(&self) -> Vec<Arc<Program>> {
        let programs = self.shared.programs();
        programs.iter().filter(|program| program.why_skipped().is_none()).cloned().collect()
    }

    /// The object's programs that are not loaded, each with the reason.
    pub fn skipped(&self) -> Vec<(String, String)> {
        let programs = self.shared.programs();
        let reason = |program: &Arc<Program>| {
            Some((program.name().to_owned(), program.why_skipped()?.to_owned()))
        };
        programs.iter().filter_map(reason).collect()
    }

    /// A processor of the machine, with memory of its own.
    ///
    /// # Panics
    /// When the machine has no processor of that number.
    pub fn worker(&self, cpu: u32) -> Worker {
        assert!(cpu < self.shared.cpus, "processor {cpu} of {}", self.shared.cpus);
        let mut worker = Worker::new(Arc::clone(&self.shared), cpu);
        worker.frames.set_budget(self.shared.budget);
        worker
    }
}

impl Machine {
    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }
}

impl Shared {
    pub fn maps(&self) -> RwLockReadGuard<'_, Vec<Arc<Map>>> {
        self.directory.maps()
    }

    pub fn programs(&self) -> RwLockReadGuard<'_, Vec<Arc<Program>>> {
        self.programs.read().expect("nobody panics while holding the list of programs")
    }
}
