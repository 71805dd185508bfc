//! The object before it is loaded: sizes of its maps, and its constants.

use spec::Spec;

use super::choice::{self, SLOTS};
use super::config::Config;
use super::{BACKENDS, COUNTS, FLOWS, HOPS, NAT_OBJECT, OBJECT, SERVICES, TABLES};
use super::{abi, memory, service};

impl Config {
    /// Sets the program's constants, and sizes its maps with space for later changes.
    ///
    /// # Errors
    /// The object is not [`Config::object`].
    pub fn apply(&self, spec: &mut Spec) -> Result<(), spec::Error> {
        let backends: usize = self.services.iter().map(|one| one.backends.len()).sum();
        let keys: usize = self.services.iter().map(|one| service::keys(one).len()).sum();
        let tables = (2 * self.services.len() + FREE_TABLES).next_power_of_two();
        let lines = memory::lines(if self.flows == 0 { FLOWS_KEPT } else { self.flows });
        let room = |count: usize, most| (2 * count).next_power_of_two().clamp(64, most) as u32;
        for def in &mut spec.maps {
            def.max_entries = match &*def.name {
                SERVICES => room(keys, MOST_KEYS),
                BACKENDS | HOPS | COUNTS => room(backends, MOST_BACKENDS),
                TABLES => (tables * SLOTS * 2 / abi::Line::SIZE) as u32,
                FLOWS => lines,
                _ => continue,
            };
        }
        spec.set_global("balancer_malformed", &self.malformed.to_global())?;
        spec.set_global("balancer_line_mask", &(lines - 1).to_le_bytes())?;
        if let Some(key) = &self.key {
            spec.set_global("balancer_seed", &seed(key))?;
        }
        self.apply_nat(spec)
    }

    /// The object that delivers as the services ask.
    #[must_use]
    pub fn object(&self) -> &'static [u8] {
        if self.translates() { NAT_OBJECT } else { OBJECT }
    }
}

/// The secret numbers of the hash. The lowest bit is set, so that no product loses bits.
fn seed(key: &str) -> Vec<u8> {
    let number = |n| choice::id(format!("{n}\0{key}").as_bytes()) | 1;
    (0..SEEDS).flat_map(|n| number(n).to_le_bytes()).collect()
}

/// Numbers in `balancer_seed`.
const SEEDS: u32 = 6;
/// Tables beyond two for each service: a change needs two more.
const FREE_TABLES: usize = 4;
/// Flows that can be remembered without a setting: 1 MiB.
const FLOWS_KEPT: u32 = 65536;
const MOST_KEYS: usize = 1 << 20;
/// Numbers of backends have 16 bits.
const MOST_BACKENDS: usize = 1 << 16;
