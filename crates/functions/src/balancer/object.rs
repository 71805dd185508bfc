//! The object before it is loaded: sizes of its maps, and its constants.

use spec::Spec;

use super::choice::{self, SLOTS};
use super::config::{Config, Service};
use super::{BACKENDS, COUNTS, FLOWS, HOPS, NAT_OBJECT, OBJECT, SERVICES, TABLES};
use super::{abi, memory, quic, service};

impl Config {
    /// Sets the program's constants, and sizes its maps with space for later changes.
    ///
    /// # Errors
    /// The object is not [`Config::object`].
    pub fn apply(&self, spec: &mut Spec) -> Result<(), spec::Error> {
        let backends: usize = self.services.iter().map(|one| one.backends.len()).sum();
        let keys: usize = self.services.iter().map(|one| service::keys(one).len()).sum();
        let tables = TABLES_EACH * (self.services.len() + FREE_SERVICES);
        let lines = memory::lines(if self.flows == 0 { FLOWS_KEPT } else { self.flows });
        let quic: Vec<_> = self.services.iter().filter(|one| !one.quic.is_empty()).collect();
        let sets = (2 * quic.len() + FREE_SETS).next_power_of_two();
        let ids = |one: &&Service| {
            one.quic.len() * one.backends.iter().map(|one| one.server_id.0.len()).sum::<usize>()
        };
        let id_lines = FREE_LINES + quic.iter().map(|one| quic::lines(ids(one))).sum::<usize>();
        let room = |count: usize, most| (2 * count).next_power_of_two().clamp(64, most) as u32;
        for def in &mut spec.maps {
            def.max_entries = match &*def.name {
                SERVICES => room(keys, MOST_KEYS),
                BACKENDS | HOPS | COUNTS => room(backends, MOST_BACKENDS),
                TABLES => (tables * SLOTS * 2 / abi::Line::SIZE) as u32,
                FLOWS => lines,
                quic::CONFIGS => sets as u32 * quic::EACH,
                quic::IDS => id_lines as u32,
                _ => continue,
            };
        }
        spec.set_global("balancer_malformed", &self.malformed.to_global())?;
        spec.set_global("balancer_line_mask", &(lines - 1).to_le_bytes())?;
        spec.set_global("balancer_aes_forward", &bytes(quic::forward()))?;
        spec.set_global("balancer_aes_backward", &bytes(quic::backward()))?;
        spec.set_global("balancer_aes_inverse", &quic::inverse())?;
        if let Some(key) = &self.key {
            let seeds: Vec<u8> = seeds(key).iter().flat_map(|one| one.to_le_bytes()).collect();
            spec.set_global("balancer_seed", &seeds)?;
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
pub(super) fn seeds(key: &str) -> [u64; 6] {
    std::array::from_fn(|n| choice::id(format!("{n}\0{key}").as_bytes()) | 1)
}

fn bytes(table: [u64; 256]) -> Vec<u8> {
    table.into_iter().flat_map(u64::to_le_bytes).collect()
}

/// `balancer_seed`: those of services without a key.
pub(super) const SEED: [u64; 6] = [
    0x9e37_79b9_7f4a_7c15,
    0xbf58_476d_1ce4_e5b9,
    0x94d0_49bb_1331_11eb,
    0xd6e8_feb8_6659_fd93,
    0xa076_1d64_78bd_642f,
    0xe703_7ed1_a0b4_28db,
];
/// Tables of a service: two, and two that a change writes before they are in use.
const TABLES_EACH: usize = 4;
/// Services that can be added later.
const FREE_SERVICES: usize = 2;
/// Sets of QUIC configurations beyond two for each service; the first one remains empty.
const FREE_SETS: usize = 4;
/// Lines of QUIC server ids beyond those of the services.
const FREE_LINES: usize = 256;
/// Flows that can be remembered without a setting: 16 MiB. Notes of a million SYNs a second survive
/// for two seconds in it, which is longer than handshakes take.
const FLOWS_KEPT: u32 = 1 << 20;
const MOST_KEYS: usize = 1 << 20;
/// Numbers of backends have 16 bits.
const MOST_BACKENDS: usize = 1 << 16;
