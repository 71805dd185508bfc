//! A loaded object: its programs, maps and environment, shared by its workers.

mod kconfig;
mod load;
mod options;
mod raw;

use std::sync::Arc;

use spec::{MapDef, Spec};

use crate::code::Program;
use crate::errno::Errno;
use crate::error::{Error, MapProblem, Result};
use crate::fault::SkipReason;
use crate::maps::Map;
use crate::processor::{Executable, Shared};
use crate::services::TraceLine;
use crate::worker::Worker;

pub use options::Options;
pub use raw::run_raw;

/// A loaded object. Clones refer to the same maps and programs.
#[derive(Clone, Debug)]
pub struct Machine {
    shared: Arc<Shared>,
}

impl Machine {
    /// Creates the maps, fills them and decodes the programs.
    ///
    /// # Errors
    /// A relocation or configuration value fails, a map cannot be created, a program has an
    /// invalid instruction or calls a function that is not available, or the environment is
    /// contradictory.
    pub fn load(spec: &Spec, options: &Options) -> Result<Self> {
        Ok(Self { shared: Arc::new(load::load(spec, options)?) })
    }

    /// The map of that name.
    ///
    /// # Errors
    /// The object has no such map, or it was not created because no loaded program uses it.
    pub fn map(&self, name: &str) -> Result<Arc<Map>> {
        let maps = self.shared.maps();
        let found = maps.iter().find(|map| map.attributes().name == name).cloned();
        let found = found.ok_or_else(|| Error::Unknown {
            object: self.shared.object.clone(),
            what: "map",
            name: name.to_owned(),
            known: maps.iter().map(|map| map.attributes().name.clone()).collect(),
        })?;
        match found.why_absent() {
            Some(why) => {
                let cause = MapProblem::NotCreated(why.to_owned());
                Err(Error::Map { map: name.to_owned(), cause, errno: Errno::ENOENT })
            }
            None => Ok(found),
        }
    }

    /// All maps in the object's order, then those created later. Some may not have been created:
    /// see [`Map::why_absent`].
    pub fn maps(&self) -> Vec<Arc<Map>> {
        self.shared.maps().clone()
    }

    /// Creates an additional map, for example to insert it into a map of maps: its id there is
    /// its number plus one.
    ///
    /// # Errors
    /// The type is not supported, or the kernel would refuse to create the map.
    pub fn create_map(&self, def: &MapDef) -> Result<Arc<Map>> {
        load::create_one(&self.shared.directory, def, self.shared.cpus)
    }

    /// Number of the program of that name.
    ///
    /// # Errors
    /// The object has no such program, or the program was not loaded; the error has the reason.
    pub fn program(&self, name: &str) -> Result<usize> {
        let programs = self.shared.programs();
        let found = programs.iter().position(|one| one.program.name() == name);
        let number = found.ok_or_else(|| Error::Unknown {
            object: self.shared.object.clone(),
            what: "program",
            name: name.to_owned(),
            known: programs.iter().map(|one| one.program.name().to_owned()).collect(),
        })?;
        match programs[number].program.skip_reason() {
            None => Ok(number),
            Some(cause) => Err(Error::Skipped { program: name.to_owned(), cause: cause.clone() }),
        }
    }

    /// All programs that are loaded, in the object's order.
    pub fn programs(&self) -> Vec<Arc<Program>> {
        let programs = self.shared.programs();
        let programs = programs.iter().map(|one| &one.program);
        programs.filter(|program| program.skip_reason().is_none()).cloned().collect()
    }

    /// The object's programs that are not loaded, each with the reason.
    pub fn skipped(&self) -> Vec<(String, SkipReason)> {
        let programs = self.shared.programs();
        let reason = |one: &Arc<Executable>| {
            Some((one.program.name().to_owned(), one.program.skip_reason()?.clone()))
        };
        programs.iter().filter_map(reason).collect()
    }

    /// A worker that is processor `cpu` of the machine, with memory of its own.
    ///
    /// # Panics
    /// When the machine has no processor of that number.
    pub fn worker(&self, cpu: u32) -> Worker {
        assert!(cpu < self.shared.cpus, "processor {cpu} of {}", self.shared.cpus);
        Worker::new(Arc::clone(&self.shared), cpu)
    }

    /// Takes the lines that programs have printed, oldest first, and the number of older lines
    /// that were lost.
    pub fn take_trace(&self) -> (Vec<TraceLine>, u64) {
        self.shared.services.log().take()
    }
}
