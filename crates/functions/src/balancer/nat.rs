//! Full address translation: the pool of addresses in the object, and the table of translated flows
//! as user space reads it. `bpf/balancer/nat_table.h` describes the table.

use std::collections::BTreeMap;

use spec::{Map, Spec};

use super::config::{Config, Nat, addresses_of};
use super::service::mapped;

impl Config {
    /// Sets the constants of the object with translation, and sizes its maps.
    ///
    /// # Errors
    /// The object is another one.
    pub(super) fn apply_nat(&self, spec: &mut Spec) -> Result<(), spec::Error> {
        let Some(nat) = self.nat.as_ref().filter(|_| self.translates()) else { return Ok(()) };
        let mut pools = Vec::new();
        let mut groups = 0;
        for is_ipv4 in [true, false] {
            let pool = nat.pool(is_ipv4);
            let first = pool.map_or([0; 16], |pool| mapped(pool.address()));
            let last = u32::from_be_bytes(std::array::from_fn(|i| first[12 + i]));
            let addresses = pool.map_or(0, addresses_of);
            pools.extend(first);
            [last, addresses, groups].iter().for_each(|one| pools.extend(one.to_le_bytes()));
            groups += addresses * GROUPS;
        }
        for def in &mut spec.maps {
            def.max_entries = match &*def.name {
                NAT_GROUPS => groups,
                NAT_ENTRIES => groups * WAYS,
                _ => continue,
            };
        }
        spec.set_global("nat_pools", &pools)?;
        let life = LIFE.map(|seconds| match seconds {
            Life::Tcp => units(nat.tcp_idle_s),
            Life::Datagrams => units(nat.idle_s),
            Life::Of(seconds) => units(seconds),
            Life::Ever => TIME as u32,
        });
        spec.set_global("nat_life", &life.map(u32::to_le_bytes).concat())
    }
}

/// Number of translated flows of each backend, by its number. `now` is the monotonic clock in
/// nanoseconds, `nat` the configuration that was loaded.
///
/// # Errors
/// The map's own.
pub fn nat_flows<M: Map>(groups: &M, nat: &Nat, now: u64) -> Result<BTreeMap<u16, u64>, M::Error> {
    let mut flows = BTreeMap::new();
    for group in groups.array()? {
        for cell in group.chunks_exact(8).filter_map(|cell| cell.first_chunk()) {
            let cell = u64::from_le_bytes(*cell);
            let age = age(cell, now) as u32;
            let life = match LIFE[(cell >> KIND_SHIFT & 7) as usize] {
                Life::Tcp => nat.tcp_idle_s,
                Life::Datagrams => nat.idle_s,
                Life::Of(seconds) => seconds,
                Life::Ever => 0,
            };
            if life != 0 && age <= units(life) {
                *flows.entry((cell >> BACKEND_SHIFT) as u16).or_default() += 1;
            }
        }
    }
    Ok(flows)
}

/// Units of time since the last use of a cell: 0 where the program's clock was read later.
pub(super) fn age(cell: u64, now: u64) -> u64 {
    ((now >> TIME_SHIFT).wrapping_sub(cell).wrapping_add(SKEW) & TIME).saturating_sub(SKEW)
}

/// Seconds in units of the table, rounded up.
fn units(seconds: u32) -> u32 {
    (u64::from(seconds) * 1_000_000_000).div_ceil(1 << TIME_SHIFT) as u32
}

/// How long flows of a kind live.
#[derive(Clone, Copy)]
enum Life {
    Tcp,
    Datagrams,
    /// Seconds; 0 for what has no flow.
    Of(u32),
    /// An entry that is being written.
    Ever,
}

/// By the number of the kind, as `enum nat_kind`.
const LIFE: [Life; 8] = [
    Life::Of(0),
    Life::Ever,
    Life::Of(10),
    Life::Of(30),
    Life::Tcp,
    Life::Datagrams,
    Life::Of(60),
    Life::Of(60),
];
/// `NAT_GROUPS` and `NAT_WAYS`: ports from 1024 on, in groups.
pub(super) const GROUPS: u32 = (0x1_0000 - 1024) / WAYS;
pub(super) const WAYS: u32 = 8;
/// `NAT_TIME_SHIFT`, `NAT_TIME_MASK`, `NAT_KIND_SHIFT` and `NAT_BACKEND_SHIFT`.
pub(super) const TIME_SHIFT: u32 = 30;
pub(super) const TIME: u64 = 0xffff;
pub(super) const KIND_SHIFT: u32 = 20;
pub(super) const BACKEND_SHIFT: u32 = 24;
/// `NAT_SKEW`.
const SKEW: u64 = 8;
/// Name of the map of groups of translated flows.
pub const NAT_GROUPS: &str = "nat_groups";
/// Name of the map of translated flows.
pub const NAT_ENTRIES: &str = "nat_entries";
