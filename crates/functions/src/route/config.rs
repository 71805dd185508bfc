//! What the user wants forwarded where.

use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use packet::{IpProtocol, ParseError};
use serde::{Deserialize, Serialize};
use spec::Spec;

use super::{CONNTRACK_OBJECT, IcmpErrors, OBJECT, PROCESSORS, ReversePath, SETS, abi};
use crate::PassOrDrop;

/// Translations, and what happens to packets without one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    pub nat: Nat,
    pub translations: Vec<Translation>,
    /// Translate the source of packets from the new destinations back, so that replies seem to
    /// come from where the request went.
    pub replies: bool,
    /// Packets that are cut short or malformed.
    pub malformed: PassOrDrop,
    /// Routes of each family that each processor remembers, rounded up to a power of two; 0 for
    /// none. All processors together have at most 64 MiB for them.
    pub memory: u32,
    /// ICMP errors that the program sends itself.
    pub icmp_errors: IcmpErrors,
    /// What the route to the source of a packet must be.
    pub reverse_path: ReversePath,
    /// Packets with IPv4 options or IPv6 extension headers.
    pub options: PassOrDrop,
    /// Translate packets of established connections as the kernel's connection tracking records
    /// them, and leave all other packets to the stack.
    pub conntrack: bool,
    /// Route although the stack's firewall has rules, which packets that XDP forwards do not meet.
    pub past_firewall: bool,
}

/// Whether addresses are translated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Nat {
    /// Route only; translations are ignored.
    Off,
    /// Route all, translate what has a translation.
    #[default]
    Optional,
    /// What has no translation goes to the stack.
    Required,
}

/// A new destination. As text: `ADDRESS [PROTOCOL PORT] -> ADDRESS[:PORT]`, such as
/// `10.1.0.2 udp 1234 -> 10.1.1.2` or `2001:db8::2 tcp 80 -> [2001:db8:1::2]:8080`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Translation {
    pub from: Endpoint,
    pub to: IpAddr,
    /// `None` keeps the port.
    pub to_port: Option<u16>,
}

/// What packets are sent to: a service, or an address with all that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    pub address: IpAddr,
    pub service: Option<(IpProtocol, u16)>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            nat: Nat::default(),
            translations: Vec::new(),
            replies: true,
            malformed: PassOrDrop::default(),
            memory: REMEMBERED,
            icmp_errors: IcmpErrors::default(),
            reverse_path: ReversePath::default(),
            options: PassOrDrop::default(),
            conntrack: false,
            past_firewall: false,
        }
    }
}

impl Config {
    /// The compiled program.
    #[must_use]
    pub fn object(&self) -> &'static [u8] {
        if self.conntrack { CONNTRACK_OBJECT } else { OBJECT }
    }

    /// Sets the program's globals, before it is loaded.
    ///
    /// # Errors
    /// The object is not that of `route`.
    pub fn apply(&self, spec: &mut Spec) -> Result<(), spec::Error> {
        let nat = match self.nat {
            Nat::Off => abi::Nat::Off,
            Nat::Optional => abi::Nat::Optional,
            Nat::Required => abi::Nat::Required,
        };
        spec.set_global("route_nat", &(nat as u32).to_le_bytes())?;
        spec.set_global("route_remembers", &u32::from(self.memory != 0).to_le_bytes())?;
        spec.set_global("route_malformed", &self.malformed.to_global())?;
        spec.set_global("route_options", &self.options.to_global())?;
        self.reverse_path.apply(spec)?;
        self.icmp_errors.apply(spec)
    }

    /// Gives each of the `processors` a memory of routes, before the program is loaded. Without
    /// it, the first processor remembers two. The hash is seeded, so that no sender can choose
    /// addresses that share an entry.
    ///
    /// # Errors
    /// The object is not that of `route`.
    pub fn size_memory(&self, spec: &mut Spec, processors: usize) -> Result<(), spec::Error> {
        if self.memory == 0 {
            return Ok(());
        }
        let all = self.sets(processors);
        let (processors, sets) = self.sets_of_each(processors);
        for def in &mut spec.maps {
            match &*def.name {
                PROCESSORS => def.max_entries = processors,
                name if SETS.contains(&name) => def.max_entries = all,
                _ => {}
            }
        }
        spec.set_global("route_set_mask", &(sets - 1).to_le_bytes())?;
        let state = RandomState::new();
        let seed: Vec<u8> =
            (0..SEEDS).flat_map(|n| (state.hash_one(n) | 1).to_le_bytes()).collect();
        spec.set_global("route_seed", &seed)
    }

    /// Entries of each of the maps [`SETS`] after [`Self::size_memory`].
    #[must_use]
    pub fn sets(&self, processors: usize) -> u32 {
        if self.memory == 0 {
            return 1;
        }
        let (processors, sets) = self.sets_of_each(processors);
        processors.saturating_mul(sets)
    }

    /// The number of processors, and of the sets that each has.
    fn sets_of_each(&self, processors: usize) -> (u32, u32) {
        let processors = u32::try_from(processors).unwrap_or(u32::MAX);
        let most = 1 << (MOST_SETS / processors.max(1)).max(1).ilog2();
        (processors, self.memory.div_ceil(WAYS).clamp(1, most).next_power_of_two())
    }
}

impl FromStr for Nat {
    type Err = ParseError;

    fn from_str(word: &str) -> Result<Self, ParseError> {
        match word {
            "off" => Ok(Self::Off),
            "optional" => Ok(Self::Optional),
            "required" => Ok(Self::Required),
            _ => Err(ParseError::new(word, "none of `off`, `optional`, `required`")),
        }
    }
}

impl FromStr for Translation {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let wrong = |reason: &str| ParseError::new(text, reason);
        let (from, to) = text.split_once("->").ok_or_else(|| wrong("no `->` to a new address"))?;
        let from: Endpoint = from.parse()?;
        let (to, to_port) = target(to.trim())?;
        if from.address.is_ipv4() != to.is_ipv4() {
            return Err(wrong("one address is IPv4 and the other IPv6"));
        }
        if from.service.is_none() && to_port.is_some() {
            return Err(wrong("a new port needs protocol and port on the left"));
        }
        Ok(Self { from, to, to_port })
    }
}

fn target(word: &str) -> Result<(IpAddr, Option<u16>), ParseError> {
    if let Ok(address) = word.parse() {
        return Ok((address, None));
    }
    let socket: SocketAddr =
        word.parse().map_err(|_| ParseError::new(word, "no ADDRESS or ADDRESS:PORT"))?;
    match socket.port() {
        0 => Err(ParseError::new(word, "port 0 cannot be sent to")),
        port => Ok((socket.ip(), Some(port))),
    }
}

impl FromStr for Endpoint {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let wrong = |reason: &str| ParseError::new(text.trim(), reason);
        let words: Vec<&str> = text.split_whitespace().collect();
        let (address, service) = match words[..] {
            [address] => (address, None),
            [address, protocol, port] => (address, Some((protocol, port))),
            _ => return Err(wrong("not ADDRESS or ADDRESS PROTOCOL PORT")),
        };
        let address = address.parse().map_err(|_| wrong("no IPv4 or IPv6 address"))?;
        let Some((protocol, port)) = service else { return Ok(Self { address, service: None }) };
        let protocol: IpProtocol = protocol.parse()?;
        if !matches!(protocol, IpProtocol::TCP | IpProtocol::UDP) {
            return Err(wrong("ports of TCP and UDP alone can be translated"));
        }
        let port = port.parse().ok().filter(|port| *port != 0);
        let port = port.ok_or_else(|| wrong("the port is a number from 1 to 65535"))?;
        Ok(Self { address, service: Some((protocol, port)) })
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.address.fmt(f)?;
        self.service.map_or(Ok(()), |(protocol, port)| write!(f, " {protocol} {port}"))
    }
}

impl fmt::Display for Translation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} -> ", self.from)?;
        match self.to_port {
            None => self.to.fmt(f),
            Some(port) => SocketAddr::new(self.to, port).fmt(f),
        }
    }
}

impl TryFrom<String> for Translation {
    type Error = ParseError;

    fn try_from(text: String) -> Result<Self, ParseError> {
        text.parse()
    }
}

impl From<Translation> for String {
    fn from(translation: Translation) -> Self {
        translation.to_string()
    }
}

/// Routes of each family that a processor remembers unless configured: 3 MiB.
const REMEMBERED: u32 = 1 << 15;
/// Numbers that the hash adds to its factors or multiplies by.
const SEEDS: usize = 11;
const WAYS: u32 = (abi::Set6::SIZE / abi::Entry6::SIZE) as u32;
/// Bytes of a set of either family.
const SET_SIZE: u32 = (abi::Set4::SIZE + abi::Set6::SIZE) as u32;
/// Sets of all processors together: 64 MiB, because the maps of a service count as its memory.
const MOST_SETS: u32 = (64 << 20) / SET_SIZE;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn translations_as_text() {
        for text in [
            "10.1.0.2 udp 1234 -> 10.1.1.2",
            "10.1.0.2 udp 1234 -> 10.1.1.2:5678",
            "2001:db8::2 tcp 80 -> [2001:db8:1::2]:8080",
            "2001:db8::2 tcp 80 -> 2001:db8:1::2",
            "10.1.0.2 -> 10.1.1.2",
        ] {
            assert_eq!(text.parse::<Translation>().unwrap().to_string(), text);
        }
        assert!("10.1.0.2 17 1234->10.1.1.2".parse::<Translation>().is_ok());
    }

    #[test]
    fn what_is_no_translation() {
        for (text, reason) in [
            ("10.1.0.2 udp 1234", "no `->`"),
            ("10.1.0.2 udp -> 10.1.1.2", "not ADDRESS"),
            ("10.1.0.2 icmp 8 -> 10.1.1.2", "TCP and UDP alone"),
            ("10.1.0.2 udp 0 -> 10.1.1.2", "from 1 to 65535"),
            ("10.1.0.2 udp 1 -> 10.1.1.2:0", "port 0"),
            ("10.1.0.2 -> 10.1.1.2:80", "a new port needs"),
            ("10.1.0.2 -> 2001:db8::1", "one address is IPv4"),
            ("10.1.0.0/24 -> 10.1.1.2", "no IPv4 or IPv6"),
            ("10.1.0.2 -> host", "no ADDRESS"),
        ] {
            let error = text.parse::<Translation>().unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }

    #[test]
    fn files_name_every_part() {
        let text = r#"{"nat": "required", "translations": ["10.1.0.2 udp 1234 -> 10.1.1.2"]}"#;
        let config: Config = serde_json::from_str(text).unwrap();
        assert_eq!((config.nat, config.replies), (Nat::Required, true));
        for text in [r#"{"nat": "on"}"#, r#"{"translations": ["x"]}"#, r#"{"reply": true}"#] {
            assert!(serde_json::from_str::<Config>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_memory_of_all_processors_is_limited() {
        let sized = |memory, processors| {
            let mut spec = Spec::parse("route", crate::route::OBJECT).unwrap();
            let config = Config { memory, ..Config::default() };
            config.size_memory(&mut spec, processors).unwrap();
            let sized = spec.map(SETS[0]).unwrap().max_entries;
            assert_eq!(sized, config.sets(processors));
            sized
        };
        assert_eq!([0, 1, 5, 5000].map(|memory| sized(memory, 2)), [1, 2, 8, 8192]);
        assert_eq!(
            [1, 2, 48, 512].map(|all| sized(REMEMBERED, all)),
            [1 << 14, 1 << 15, 196_608, 1 << 18]
        );
        assert_eq!(sized(u32::MAX, 2) as usize * SET_SIZE as usize, 48 << 20);
        assert_eq!(sized(1, 1_000_000), 1_000_000);
    }

    #[test]
    fn modes_become_globals() {
        let mut spec = Spec::parse("route", crate::route::OBJECT).unwrap();
        let contents = |spec: &Spec| spec.map(".rodata").and_then(|map| map.contents.clone());
        let before = contents(&spec);
        Config { nat: Nat::Required, ..Config::default() }.apply(&mut spec).unwrap();
        assert!(before.is_some() && before != contents(&spec));
    }
}
