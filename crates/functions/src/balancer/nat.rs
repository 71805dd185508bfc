//! Full address translation: its pool of addresses, and the table of translated flows as user
//! space reads it. `bpf/balancer/nat_table.h` describes the table.

use std::collections::BTreeMap;
use std::net::IpAddr;

use packet::Prefix;
use serde::{Deserialize, Serialize};
use spec::{Map, Spec};

use super::config::{Config, ConfigError, Delivery, Network};
use super::service::mapped;

/// How packets are translated, for all services that ask for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nat {
    /// Addresses of this host that packets to backends come from: an address or a network of each
    /// family.
    pub source: Vec<Network>,
    /// Seconds after which a TCP connection without packets is forgotten.
    #[serde(default = "tcp_idle_s")]
    pub tcp_idle_s: u32,
    /// The same for UDP and echo.
    #[serde(default = "idle_s")]
    pub idle_s: u32,
}

impl Nat {
    /// The pool of a family.
    #[must_use]
    pub fn pool(&self, is_ipv4: bool) -> Option<Prefix> {
        let mut all = self.source.iter().map(|one| one.0);
        all.find(|one| one.address().is_ipv4() == is_ipv4)
    }

    /// All addresses of the pools.
    pub fn addresses(&self) -> impl Iterator<Item = IpAddr> + '_ {
        self.source.iter().flat_map(|one| {
            let first = one.0.address();
            (0..count(one.0)).map(move |number| nth(first, number))
        })
    }

    fn check(&self) -> Result<(), ConfigError> {
        for (number, one) in self.source.iter().enumerate() {
            let is_ipv4 = |one: &Network| one.0.address().is_ipv4();
            let mut earlier = self.source[..number].iter();
            if let Some(other) = earlier.find(|other| is_ipv4(other) == is_ipv4(one)) {
                return Err(ConfigError::Sources(other.0, one.0));
            }
            if one.0.longest() - one.0.length() > MOST_BITS {
                return Err(ConfigError::NatPool(one.0));
            }
        }
        for seconds in [self.tcp_idle_s, self.idle_s] {
            if !(1..=MOST_IDLE_S).contains(&seconds) {
                return Err(ConfigError::NatIdle(seconds));
            }
        }
        Ok(())
    }
}

impl Config {
    /// Whether a service has its addresses translated, which takes another object.
    #[must_use]
    pub fn translates(&self) -> bool {
        self.services.iter().any(|one| one.delivery == Delivery::Nat)
    }

    /// # Errors
    /// A service cannot be translated.
    pub(super) fn check_nat(&self) -> Result<(), ConfigError> {
        if let Some(nat) = &self.nat {
            nat.check()?;
        }
        for service in &self.services {
            let translates = service.delivery == Delivery::Nat;
            if let Some(backend) = service.backends.iter().find(|one| one.port.is_some())
                && !translates
            {
                let (service, address) = (service.name.clone(), backend.address);
                return Err(ConfigError::PortWithoutNat { service, address });
            }
            let to = service.address.0;
            let pool = self.nat.as_ref().and_then(|nat| nat.pool(to.address().is_ipv4()));
            match pool {
                None if translates => {
                    return Err(ConfigError::NoNatPool { service: service.name.clone(), to });
                }
                Some(pool) if pool.contains(to.address()) || to.contains(pool.address()) => {
                    return Err(ConfigError::NatOverlap { service: service.name.clone(), to, pool });
                }
                _ => {}
            }
        }
        Ok(())
    }

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
            let addresses = pool.map_or(0, count);
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
            let age = ((now >> TIME_SHIFT).wrapping_sub(cell) & TIME) as u32;
            let life = match LIFE[(cell >> KIND_SHIFT & 7) as usize] {
                Life::Tcp => nat.tcp_idle_s,
                Life::Datagrams => nat.idle_s,
                Life::Of(seconds) => seconds,
            };
            if life != 0 && age <= units(life) {
                *flows.entry((cell >> BACKEND_SHIFT) as u16).or_default() += 1;
            }
        }
    }
    Ok(flows)
}

/// Addresses of a pool.
fn count(pool: Prefix) -> u32 {
    1 << (pool.longest() - pool.length()).min(MOST_BITS)
}

fn nth(first: IpAddr, number: u32) -> IpAddr {
    match first {
        IpAddr::V4(first) => (first.to_bits() + number).to_be_bytes().into(),
        IpAddr::V6(first) => (first.to_bits() + u128::from(number)).to_be_bytes().into(),
    }
}

/// Seconds in units of the table, rounded up.
fn units(seconds: u32) -> u32 {
    (u64::from(seconds) * 1_000_000_000).div_ceil(1 << TIME_SHIFT) as u32
}

const fn tcp_idle_s() -> u32 {
    900
}

const fn idle_s() -> u32 {
    120
}

/// How long flows of a kind live.
#[derive(Clone, Copy)]
enum Life {
    Tcp,
    Datagrams,
    /// Seconds; 0 for what is no flow.
    Of(u32),
}

/// By the number of the kind, as `enum nat_kind`.
const LIFE: [Life; 8] = [
    Life::Of(0),
    Life::Of(2),
    Life::Of(10),
    Life::Of(30),
    Life::Tcp,
    Life::Datagrams,
    Life::Of(60),
    Life::Of(60),
];
/// Bits that a pool may leave open: 32 addresses, 128 MiB.
const MOST_BITS: u8 = 5;
/// The time of a table ends sooner than 65,536 units.
const MOST_IDLE_S: u32 = 36_000;
/// `NAT_GROUPS` and `NAT_WAYS`: ports from 1024 on, in groups.
const GROUPS: u32 = (0x1_0000 - 1024) / WAYS;
const WAYS: u32 = 8;
/// `NAT_TIME_SHIFT`, `NAT_TIME_MASK`, `NAT_KIND_SHIFT` and `NAT_BACKEND_SHIFT`.
const TIME_SHIFT: u32 = 30;
const TIME: u64 = 0xffff;
const KIND_SHIFT: u32 = 20;
const BACKEND_SHIFT: u32 = 24;
/// Name of the map of groups of translated flows.
pub const NAT_GROUPS: &str = "nat_groups";
/// Name of the map of translated flows.
pub const NAT_ENTRIES: &str = "nat_entries";
