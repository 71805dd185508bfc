//! Options of loading an object.

use std::collections::BTreeMap;

use spec::btf::Btf;

use crate::limits;
use crate::world::World;

/// Options of a machine. The defaults suit an object without special requirements.
#[derive(Clone, Debug)]
pub struct Options {
    /// Processors of the machine, each one [`Worker`](crate::Worker).
    pub cpus: u32,
    /// The environment: clock, random numbers, interfaces, routes, sockets, connections.
    pub world: World,
    /// Values of `extern … __kconfig` variables as a configuration file spells them (`y`, `250`,
    /// `"text"`), by name. `LINUX_KERNEL_VERSION` (a number) is 6.18.0 unless given here.
    pub kconfig: BTreeMap<String, String>,
    /// Types of the kernel against which field relocations are resolved; `None` for the object's
    /// own types.
    pub target: Option<Btf>,
    /// Names of the programs to load, together with those that their maps hold; `None` for all
    /// except programs of `SEC("?…")`.
    pub programs: Option<Vec<String>>,
    /// Instructions that a run may execute before it counts as endless. Instructions that a jump
    /// skips may be counted as well.
    pub budget: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            cpus: 1,
            world: World::default(),
            kconfig: BTreeMap::new(),
            target: None,
            programs: None,
            budget: limits::STEPS,
        }
    }
}
