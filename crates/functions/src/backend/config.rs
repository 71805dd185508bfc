//! Which tunnels end at a host.

use std::net::IpAddr;

use packet::Prefix;
use serde::{Deserialize, Serialize};
use spec::Spec;

use super::{PREFIXES, abi};
use crate::balancer::Network;
use crate::table::Table;

/// Which tunnels are opened, and what is announced to clients.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Outer sources that are allowed: the balancers.
    pub from: Vec<Network>,
    /// Inner destinations: the addresses of services.
    pub service: Vec<Network>,
    /// Outer destinations: addresses of this host.
    pub address: Vec<Network>,
    /// UDP port of GUE; 0 for none.
    pub gue_port: u16,
    /// UDP port of Geneve; 0 for none.
    pub geneve_port: u16,
    /// The largest IP packet that clients are to send, from which the MSS follows; 0 for any.
    pub mtu: u16,
}

/// Why a configuration is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    #[error("GUE and Geneve cannot both be at UDP port {0}")]
    Port(u16),
    #[error("an MTU of {mtu} is too small: IPv6 requires {LEAST_MTU}")]
    Mtu { mtu: u16 },
    #[error("{0} prefixes are too many; at most {MOST_PREFIXES} are possible")]
    Prefixes(usize),
}

impl Default for Config {
    fn default() -> Self {
        let (from, service, address) = (Vec::new(), Vec::new(), Vec::new());
        let (gue_port, geneve_port) = (DEFAULT_GUE_PORT, DEFAULT_GENEVE_PORT);
        Self { from, service, address, gue_port, geneve_port, mtu: 0 }
    }
}

impl Config {
    /// # Errors
    /// What contradicts itself.
    pub fn check(&self) -> Result<(), ConfigError> {
        if self.gue_port != 0 && self.gue_port == self.geneve_port {
            return Err(ConfigError::Port(self.gue_port));
        }
        if self.mtu != 0 && self.mtu < LEAST_MTU {
            return Err(ConfigError::Mtu { mtu: self.mtu });
        }
        let prefixes = self.prefixes().len();
        if prefixes > MOST_PREFIXES as usize {
            return Err(ConfigError::Prefixes(prefixes));
        }
        Ok(())
    }

    /// Sizes the program's maps.
    pub fn apply(&self, spec: &mut Spec) {
        for def in spec.maps.iter_mut().filter(|def| def.name == PREFIXES) {
            def.max_entries = MOST_PREFIXES;
        }
    }

    /// The largest segments that are announced over IPv4 and IPv6; 0 for any.
    #[must_use]
    pub fn mss(&self) -> [u16; 2] {
        [IPV4_TCP, IPV6_TCP].map(|headers| self.mtu.saturating_sub(headers))
    }

    /// What the map of settings holds.
    pub(super) fn settings(&self) -> abi::Settings {
        let [mss4, mss6] = self.mss();
        abi::Settings {
            gue_port: self.gue_port.to_be_bytes(),
            geneve_port: self.geneve_port.to_be_bytes(),
            mss4,
            mss6,
        }
    }

    /// What the map of prefixes holds.
    pub(super) fn prefixes(&self) -> Table {
        let roles = [
            (abi::Role::Source, &self.from),
            (abi::Role::Address, &self.address),
            (abi::Role::Service, &self.service),
        ];
        let all = roles.into_iter().flat_map(|(role, prefixes)| {
            prefixes.iter().map(move |prefix| (key(role, prefix.0), vec![0; 4]))
        });
        all.collect()
    }
}

/// The key of a prefix.
fn key(role: abi::Role, prefix: Prefix) -> Vec<u8> {
    let (address, before) = match prefix.address() {
        IpAddr::V4(address) => (address.to_ipv6_mapped(), IPV4_BEFORE),
        IpAddr::V6(address) => (address, 0),
    };
    let length = ROLE_BITS + before + u32::from(prefix.length());
    abi::Prefix { length, role: role as u32, address: address.octets() }.to_bytes().to_vec()
}

/// UDP port of Generic UDP Encapsulation, as IANA registered it.
pub const DEFAULT_GUE_PORT: u16 = 6080;
/// UDP port of Geneve, as IANA registered it.
pub const DEFAULT_GENEVE_PORT: u16 = 6081;
/// Bytes that a balancer adds to a packet at most: IPv6, UDP, Geneve and its option.
pub const MOST_ADDED: u16 = 40 + 8 + 8 + 20;
/// Bits of a key before the address.
const ROLE_BITS: u32 = 32;
/// Bits before an IPv4 address that is mapped into IPv6.
const IPV4_BEFORE: u32 = 96;
/// Bytes of both headers without options.
const IPV4_TCP: u16 = 40;
const IPV6_TCP: u16 = 60;
const LEAST_MTU: u16 = 1280;
const MOST_PREFIXES: u32 = 4096;
