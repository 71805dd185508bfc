//! How an object is loaded: what the kernel, the machine and the loader's caller would say.

use std::collections::BTreeMap;

use spec::btf::Btf;

use crate::limits;
use crate::world::World;

/// Settings of a machine. The defaults suit an object that asks for nothing.
#[derive(Clone, Debug)]
pub struct Options {
    /// Processors of the machine, each one [`Worker`](crate::Worker).
    pub cpus: u32,
    pub world: World,
    /// Values of `extern … __kconfig` variables as a configuration file spells them (`y`, `250`,
    /// `"text"`), by name. `LINUX_KERNEL_VERSION` (a number) is 6.18.0 unless given here.
    pub kconfig: BTreeMap<String, String>,
    /// Types of the kernel that field relocations are resolved against; the object's own
    /// without.
    pub target: Option<Btf>,
    /// Names of programs to load, with those that maps of theirs hold; `None` for all but those
    /// of `SEC("?…")`.
    pub programs: Option<Vec<String>>,
    /// Instructions that a run may execute before it counts as endless. Those that a jump passes
    /// over may be counted too.
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
