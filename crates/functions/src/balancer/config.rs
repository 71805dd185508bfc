//! What the user wants balanced.

use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroU16;
use std::path::PathBuf;
use std::str::FromStr;

use packet::{ParseError, Prefix};
use serde::{Deserialize, Serialize};

use super::health::Health;
use super::ports::Ports;
use super::quic::{self, QuicConfig, QuicError, ServerIds};
use crate::PassOrDrop;

/// A file that declares services.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// A secret, from which the hash of flows is seeded. Balancers that share clients have the same
    /// one; without one, the seed is that of this source code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Outer source of tunnels, at most one for each family. Of a network, the flow chooses the
    /// address, so that receivers spread flows over their queues.
    pub source: Vec<Network>,
    /// Packets that are cut short or malformed.
    pub malformed: PassOrDrop,
    /// Flows that can be remembered when backends change.
    pub flows: u32,
    /// Where routing daemons of this host find the networks of services; without it, nowhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub announce: Option<Announce>,
    /// Other balancers of the same services, which remember flows for each other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sync: Option<Sync>,
    /// How addresses are translated, for services that are delivered by `nat`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nat: Option<Nat>,
    #[serde(rename = "service")]
    pub services: Vec<Service>,
}

/// Where routing daemons find the networks of services.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Announce {
    /// Number of the kernel's routing table that has a route for each network.
    pub table: u32,
}

/// Balancers that synchronize.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sync {
    /// Own address and UDP port; without it, that of `peers` which this host has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listen: Option<SocketAddr>,
    /// Addresses and UDP ports of the balancers. One that is this host's own is left out, so that
    /// all can have the same file.
    pub peers: Vec<SocketAddr>,
    /// File with the secret that authenticates messages.
    pub key_file: PathBuf,
}

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
    /// Seconds after which UDP or echo without packets is forgotten.
    #[serde(default = "idle_s")]
    pub idle_s: u32,
}

/// Where clients send packets to, and which backends get them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Service {
    pub name: String,
    /// An address, or a network of which each address is the service.
    pub address: Network,
    pub protocol: Protocol,
    #[serde(default)]
    pub port: Ports,
    /// Packets that are equal in this go to the same backend.
    #[serde(default)]
    pub by: FlowKey,
    #[serde(default)]
    pub delivery: Delivery,
    /// Which backend gets datagrams of an unknown flow, after backends changed.
    #[serde(default)]
    pub datagrams: Datagrams,
    /// Whether its network is announced, where the configuration announces any.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub announce: bool,
    /// How backends are checked; without it they are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<Health>,
    /// How servers make QUIC connection ids, which name their backend.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quic: Vec<QuicConfig>,
    #[serde(default, rename = "backend")]
    pub backends: Vec<Backend>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Backend {
    pub address: IpAddr,
    /// Its share of new connections, relative to those of others.
    #[serde(default = "one")]
    pub weight: u16,
    #[serde(default)]
    pub state: State,
    /// What names it in QUIC connection ids: one of each length that a configuration has.
    #[serde(default, skip_serializing_if = "ServerIds::is_empty")]
    pub server_id: ServerIds,
    /// Port that it gets packets at, with translated addresses; that of the service by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<NonZeroU16>,
}

/// An address or a network, as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Network(pub Prefix);

/// What a backend gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    #[default]
    Up,
    /// It keeps its connections and gets no new ones.
    Drain,
    /// Nothing: its connections move to others.
    Down,
}

/// Protocol of the packets of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    Tcp,
    Udp,
    /// Echo requests.
    Icmp,
}

/// The fields by which flows are distinguished. As text: `flow`, `source`, `source/24` or `port`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum FlowKey {
    /// Both addresses, both ports and the protocol.
    #[default]
    Flow,
    /// The first bits of the source address: all of them, or the length of a prefix.
    Source(Option<u8>),
    /// The destination port.
    Port,
}

/// How packets get to backends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Delivery {
    /// In IPv4 or IPv6.
    #[default]
    Ipip,
    /// In Generic UDP Encapsulation, variant 1.
    Gue(Tunnel),
    /// In Geneve.
    Geneve(Tunnel),
    /// As they came, to the MAC address of the backend, which is on the same link.
    Mac,
    /// With translated addresses, so that the backend answers the balancer.
    Nat,
}

/// Where a UDP tunnel ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tunnel {
    /// UDP port; 0 for the protocol's.
    pub port: u16,
    /// Virtual network identifier of Geneve.
    pub vni: u32,
    /// Whether the UDP checksum over IPv6 is zero (RFC 6935).
    pub zero_checksum: bool,
}

/// Datagrams have no beginning, so it cannot be known whether a flow is older than a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Datagrams {
    /// To the new backend immediately.
    #[default]
    Move,
    /// To the former backend, which keeps those that come while it drains.
    Keep,
}

/// Why a configuration is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    #[error("two services are named `{0}`")]
    Name(String),
    #[error("service `{service}`: `{ports}`: {protocol} has no ports")]
    NoPorts { service: String, ports: Ports, protocol: Protocol },
    #[error("service `{service}`: backend {address} is listed twice")]
    Backend { service: String, address: IpAddr },
    #[error("service `{service}`: backend {address} is {what}")]
    Unusable { service: String, address: IpAddr, what: String },
    #[error("service `{service}`: {reason}")]
    Key { service: String, reason: String },
    #[error("service `{service}`: backend {address} of {delivery} must be of the family of {to}")]
    Family { service: String, address: IpAddr, delivery: &'static str, to: Prefix },
    #[error("service `{service}`: health: {reason}")]
    Health { service: String, reason: String },
    #[error("service `{service}`: the VNI {vni} has more than 24 bits")]
    Vni { service: String, vni: u32 },
    #[error(
        "`announce`: the kernel forwards by table {table} (`{name}`), and would drop packets to \
         services: choose one that no rule selects, such as 77"
    )]
    AnnounceTable { table: u32, name: &'static str },
    #[error("service `{service}`: {error}")]
    Quic { service: String, error: QuicError },
    #[error("`source` has two entries of one family: {0} and {1}")]
    Sources(Prefix, Prefix),
    #[error(
        "services `{first}` and `{second}` both have {shared} of the same address: give one of \
         them other ports, or another address"
    )]
    Overlap { first: String, second: String, shared: String },
    #[error(
        "the services of {family} have {count} combinations of prefix length and size of port \
         ranges; at most {most} are possible"
    )]
    Patterns { family: &'static str, count: usize, most: usize },
    #[error(
        "service `{service}`: delivery `nat` needs an address of the family of {to} that packets \
         to backends come from: `nat = {{ source = [\"ADDRESS\"] }}` before the services"
    )]
    NoNatPool { service: String, to: Prefix },
    #[error("service `{service}`: {to} and `source` of `nat`, {pool}, have an address in common")]
    NatOverlap { service: String, to: Prefix, pool: Prefix },
    #[error("`source` of `nat`: {0} has more than 32 addresses")]
    NatPool(Prefix),
    #[error("`nat`: flows cannot be kept for {0} s: expected 1 to 36000")]
    NatIdle(u32),
    #[error("service `{service}`: QUIC ids are not read where delivery is `nat`")]
    QuicWithNat { service: String },
    #[error("service `{service}`: backend {address} has a port, which only delivery `nat` changes")]
    PortWithoutNat { service: String, address: IpAddr },
}

impl State {
    /// As in the file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Drain => "drain",
            Self::Down => "down",
        }
    }
}

impl Backend {
    /// One that is up and has the weight 1.
    #[must_use]
    pub fn new(address: IpAddr) -> Self {
        Self { address, weight: 1, state: State::Up, server_id: ServerIds::default(), port: None }
    }
}

impl Config {
    /// Checks each service alone.
    pub(super) fn check_each(&self) -> Result<(), ConfigError> {
        for (number, one) in self.source.iter().enumerate() {
            let is_ipv4 = |one: &Network| one.0.address().is_ipv4();
            let same = |other: &&Network| is_ipv4(other) == is_ipv4(one);
            if let Some(other) = self.source[..number].iter().find(same) {
                return Err(ConfigError::Sources(other.0, one.0));
            }
        }
        self.announce.map_or(Ok(()), Announce::check)?;
        let mut names = BTreeSet::new();
        for service in &self.services {
            if !names.insert(&service.name) {
                return Err(ConfigError::Name(service.name.clone()));
            }
            service.check()?;
        }
        self.check_nat()
    }

    /// Whether a service has its addresses translated, which takes another object.
    #[must_use]
    pub fn translates(&self) -> bool {
        self.services.iter().any(|one| one.delivery == Delivery::Nat)
    }

    /// # Errors
    /// A service cannot be translated.
    fn check_nat(&self) -> Result<(), ConfigError> {
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
                    return Err(ConfigError::NatOverlap {
                        service: service.name.clone(),
                        to,
                        pool,
                    });
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The outer source for a backend of this family.
    #[must_use]
    pub fn source(&self, is_ipv4: bool) -> Option<Prefix> {
        let mut all = self.source.iter().map(|one| one.0);
        all.find(|one| one.address().is_ipv4() == is_ipv4)
    }
}

impl Announce {
    /// # Errors
    /// The table is one that the kernel forwards by.
    fn check(self) -> Result<(), ConfigError> {
        let name = match self.table {
            0 => "unspecified",
            253 => "default",
            254 => "main",
            255 => "local",
            _ => return Ok(()),
        };
        Err(ConfigError::AnnounceTable { table: self.table, name })
    }
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
            (0..addresses_of(one.0)).map(move |number| nth(first, number))
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

impl Service {
    fn check(&self) -> Result<(), ConfigError> {
        let service = || self.name.clone();
        if self.protocol == Protocol::Icmp && self.port != Ports::Any {
            let (ports, protocol) = (self.port, self.protocol);
            return Err(ConfigError::NoPorts { service: service(), ports, protocol });
        }
        let mut addresses = BTreeSet::new();
        for backend in &self.backends {
            let address = backend.address;
            if let Some(what) = unusable(address) {
                return Err(ConfigError::Unusable { service: service(), address, what });
            }
            if !addresses.insert(address) {
                return Err(ConfigError::Backend { service: service(), address });
            }
            let is_same = address.is_ipv4() == self.address.0.address().is_ipv4();
            let of_same_family = match self.delivery {
                Delivery::Mac => Some("mac"),
                Delivery::Nat => Some("nat"),
                _ => None,
            };
            if let Some(delivery) = of_same_family.filter(|_| !is_same) {
                let to = self.address.0;
                return Err(ConfigError::Family { service: service(), address, delivery, to });
            }
        }
        if let FlowKey::Source(Some(bits)) = self.by
            && bits > self.address.0.longest()
        {
            let reason = format!("`{}`: addresses have {} bits", self.by, self.address.0.longest());
            return Err(ConfigError::Key { service: service(), reason });
        }
        let port = match self.port {
            Ports::Range(first, last) if first == last => Some(first),
            _ => None,
        };
        let is_ipv4 = self.address.0.address().is_ipv4();
        let health = self.health.as_ref();
        if let Some(reason) = health.and_then(|one| one.contradiction(is_ipv4, port)) {
            return Err(ConfigError::Health { service: service(), reason });
        }
        let quic = |error| ConfigError::Quic { service: service(), error };
        if self.protocol != Protocol::Udp && !self.quic.is_empty() {
            return Err(quic(QuicError::Protocol));
        }
        let ids = self.backends.iter().map(|backend| (backend.address, &backend.server_id));
        quic::check(&self.quic, ids).map_err(quic)?;
        if self.delivery == Delivery::Nat && !self.quic.is_empty() {
            return Err(ConfigError::QuicWithNat { service: service() });
        }
        match self.delivery {
            Delivery::Geneve(Tunnel { vni, .. }) if vni >> 24 != 0 => {
                Err(ConfigError::Vni { service: service(), vni })
            }
            _ => Ok(()),
        }
    }
}

impl FromStr for FlowKey {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let wrong = || ParseError::new(text, "not `flow`, `source`, `source/LENGTH` or `port`");
        match text {
            "flow" => Ok(Self::Flow),
            "source" => Ok(Self::Source(None)),
            "port" => Ok(Self::Port),
            _ => {
                let bits = text.strip_prefix("source/").ok_or_else(wrong)?;
                Ok(Self::Source(Some(bits.parse().map_err(|_| wrong())?)))
            }
        }
    }
}

impl fmt::Display for FlowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flow => f.pad("flow"),
            Self::Source(None) => f.pad("source"),
            Self::Source(Some(bits)) => write!(f, "source/{bits}"),
            Self::Port => f.pad("port"),
        }
    }
}

impl TryFrom<String> for FlowKey {
    type Error = ParseError;

    fn try_from(text: String) -> Result<Self, ParseError> {
        text.parse()
    }
}

impl From<FlowKey> for String {
    fn from(key: FlowKey) -> Self {
        key.to_string()
    }
}

impl TryFrom<String> for Network {
    type Error = ParseError;

    fn try_from(text: String) -> Result<Self, ParseError> {
        text.parse().map(Self)
    }
}

impl From<Network> for String {
    fn from(network: Network) -> Self {
        network.0.to_string()
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Icmp => "icmp",
        })
    }
}

const fn yes() -> bool {
    true
}

/// Whether a setting has the value that [`yes`] gives it.
fn is_yes(value: &bool) -> bool {
    *value
}

/// Why no packet can be delivered to an address.
fn unusable(address: IpAddr) -> Option<String> {
    let what = match address.to_canonical() {
        canonical if canonical != address => {
            return Some(format!("an IPv4 address in IPv6: write {canonical}"));
        }
        one if one.is_unspecified() => "the unspecified address",
        one if one.is_loopback() => "a loopback address: packets leave by an interface",
        one if one.is_multicast() || one == IpAddr::V4(Ipv4Addr::BROADCAST) => {
            "not the address of one host"
        }
        _ => return None,
    };
    Some(what.to_owned())
}

const fn one() -> u16 {
    1
}

const fn tcp_idle_s() -> u32 {
    900
}

const fn idle_s() -> u32 {
    120
}

/// Addresses of a pool.
pub(super) fn addresses_of(pool: Prefix) -> u32 {
    1 << (pool.longest() - pool.length()).min(MOST_BITS)
}

fn nth(first: IpAddr, number: u32) -> IpAddr {
    match first {
        IpAddr::V4(first) => (first.to_bits() + number).to_be_bytes().into(),
        IpAddr::V6(first) => (first.to_bits() + u128::from(number)).to_be_bytes().into(),
    }
}

/// Bits that a pool may leave open: 32 addresses, 128 MiB.
const MOST_BITS: u8 = 5;
/// The time of a table ends sooner than 65,536 units.
const MOST_IDLE_S: u32 = 36_000;
