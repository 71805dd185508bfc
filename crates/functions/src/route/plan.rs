//! Translations and the router's interfaces as map entries.
//!
//! Rule: every key has one target. Two translations of one destination contradict each other; two
//! destinations that become one would make its replies ambiguous, and are refused unless replies
//! are left alone.

use std::collections::BTreeMap;
use std::net::IpAddr;

use spec::Map;

use super::abi::{Key4, Key6, Side, Target4, Target6};
use super::config::{Config, Endpoint, Translation};
use super::port::{Numbered, Port, PortConflict, PortMaps, PortTables};
use super::{INDEX, NAT4, NAT6, PORTS, TAGGED, TRANSLATES, TX, VLANS};
use crate::table::{self, Changed, Table};

/// The program's maps, named as in the object.
#[derive(Debug)]
pub struct Maps<'a, M> {
    pub nat4: &'a M,
    pub nat6: &'a M,
    pub translates: &'a M,
    pub tx: &'a M,
    pub ports: &'a M,
    pub index: &'a M,
    pub tagged: &'a M,
    pub vlans: &'a M,
}

impl<'a, M> Maps<'a, M> {
    /// Finds the maps by their names in the object.
    pub fn find<E>(map: impl Fn(&str) -> Result<&'a M, E>) -> Result<Self, E> {
        Ok(Self {
            nat4: map(NAT4)?,
            nat6: map(NAT6)?,
            translates: map(TRANSLATES)?,
            tx: map(TX)?,
            ports: map(PORTS)?,
            index: map(INDEX)?,
            tagged: map(TAGGED)?,
            vlans: map(VLANS)?,
        })
    }

    /// The maps that describe ports.
    #[must_use]
    pub fn of_ports(&self) -> PortMaps<'a, M> {
        let Self { tx, ports, index, tagged, vlans, .. } = *self;
        PortMaps { tx, ports, index, tagged, vlans }
    }
}

/// What the maps should hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    pub nat4: Table,
    pub nat6: Table,
    pub translates: Table,
    pub ports: PortTables,
}

/// Two translations that cannot both hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Conflict {
    #[error("`{first}` and `{second}` translate the same packets")]
    Destination { first: String, second: String },
    #[error("replies to `{first}` and `{second}` look the same; turn replies off or use two ports")]
    Reply { first: String, second: String },
    #[error(transparent)]
    Ports(#[from] PortConflict),
    #[error("`{0}` translates between IPv4 and IPv6, which needs more than an address")]
    Family(String),
}

/// Why the configuration cannot be applied.
#[derive(Debug, thiserror::Error)]
pub enum Error<E: std::error::Error + 'static> {
    #[error(transparent)]
    Conflict(#[from] Conflict),
    #[error("the translations could not be changed and are what they were: {0}")]
    Map(#[source] E),
}

/// Brings live maps to a configuration that routes between the given interfaces.
///
/// # Errors
/// Translations contradict each other, or a map refused; then the map that refused is as it was.
pub fn update<M: Map>(
    config: &Config,
    ports: &[Port],
    maps: &Maps<'_, M>,
) -> Result<Changed, Error<M::Error>> {
    let live = maps.of_ports().live().map_err(Error::Map)?;
    let plan = Plan::with_live(config, ports, &live)?;
    plan.apply(maps).map_err(Error::Map)
}

/// Changes the ports of live maps, and nothing else.
///
/// # Errors
/// Two ports are the same to the program, or a map refused; then all are as they were.
pub fn update_ports<M: Map>(
    ports: &[Port],
    maps: &PortMaps<'_, M>,
) -> Result<Changed, Error<M::Error>> {
    let live = maps.live().map_err(Error::Map)?;
    let tables = PortTables::new(ports, &live).map_err(Conflict::from)?;
    let changed = table::apply_all(&tables.parts(maps)).map_err(Error::Map)?;
    tables.set_vlans(maps.vlans).map_err(Error::Map)?;
    Ok(changed)
}

impl Plan {
    /// For maps that are empty.
    ///
    /// # Errors
    /// Translations or ports contradict each other.
    pub fn new(config: &Config, ports: &[Port]) -> Result<Self, Conflict> {
        Self::with_live(config, ports, &Numbered::default())
    }

    /// For maps that hold these ports.
    ///
    /// # Errors
    /// Translations or ports contradict each other.
    pub fn with_live(config: &Config, ports: &[Port], live: &Numbered) -> Result<Self, Conflict> {
        let mut plan = Self { ports: PortTables::new(ports, live)?, ..Self::default() };
        for (endpoint, translation) in unique(config)? {
            plan.put(Side::Destination, endpoint, translation.to, translation.to_port)
                .ok_or_else(|| Conflict::Family(translation.to_string()))?;
        }
        if config.replies {
            for (endpoint, translation) in unique_replies(config)? {
                let Endpoint { address, service } = translation.from;
                plan.put(Side::Source, endpoint, address, service.map(|(_, port)| port))
                    .ok_or_else(|| Conflict::Family(translation.to_string()))?;
            }
        }
        let has_translations = u32::from(!config.translations.is_empty());
        plan.translates.insert(vec![0; 4], has_translations.to_le_bytes().to_vec());
        Ok(plan)
    }

    /// Interfaces first: a translated packet must find its way out.
    ///
    /// # Errors
    /// A map's own; all of them are as they were.
    pub fn apply<M: Map>(&self, maps: &Maps<'_, M>) -> Result<Changed, M::Error> {
        let mut parts = self.ports.parts(&maps.of_ports()).to_vec();
        parts.extend([
            (maps.nat4, &self.nat4),
            (maps.nat6, &self.nat6),
            (maps.translates, &self.translates),
        ]);
        let changed = table::apply_all(&parts)?;
        self.ports.set_vlans(maps.vlans)?;
        Ok(changed)
    }

    /// `None` when the addresses are of two families.
    fn put(&mut self, side: Side, from: Endpoint, to: IpAddr, to_port: Option<u16>) -> Option<()> {
        let (protocol, port) = from.service.map_or((0, 0), |(protocol, port)| (protocol.0, port));
        let (port, side) = (port.to_be_bytes(), side as u8);
        let to_port = to_port.unwrap_or_default().to_be_bytes();
        match (from.address, to) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                let key = Key4 { address: from.octets(), port, protocol, side };
                let target = Target4 { address: to.octets(), port: to_port, zero: 0 };
                self.nat4.insert(key.to_bytes().to_vec(), target.to_bytes().to_vec());
            }
            (IpAddr::V6(from), IpAddr::V6(to)) => {
                let key = Key6 { address: from.octets(), port, protocol, side };
                let target = Target6 { address: to.octets(), port: to_port, zero: 0 };
                self.nat6.insert(key.to_bytes().to_vec(), target.to_bytes().to_vec());
            }
            _ => return None,
        }
        Some(())
    }
}

/// Translations by what they translate.
fn unique(config: &Config) -> Result<BTreeMap<Endpoint, &Translation>, Conflict> {
    let mut found = BTreeMap::new();
    for translation in &config.translations {
        if let Some(first) = found.insert(translation.from, translation)
            && first != translation
        {
            let (first, second) = (first.to_string(), translation.to_string());
            return Err(Conflict::Destination { first, second });
        }
    }
    Ok(found)
}

/// Translations by where their replies come from.
fn unique_replies(config: &Config) -> Result<BTreeMap<Endpoint, &Translation>, Conflict> {
    let mut found = BTreeMap::new();
    for translation in &config.translations {
        let service = translation.from.service;
        let service =
            service.map(|(protocol, port)| (protocol, translation.to_port.unwrap_or(port)));
        let source = Endpoint { address: translation.to, service };
        if let Some(first) = found.insert(source, translation)
            && first.from != translation.from
        {
            let (first, second) = (first.to_string(), translation.to_string());
            return Err(Conflict::Reply { first, second });
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::super::MOST_PORTS;
    use super::*;
    use spec::MemoryMap;

    fn config(translations: &[&str]) -> Config {
        Config {
            translations: translations.iter().map(|text| text.parse().unwrap()).collect(),
            ..Config::default()
        }
    }

    fn port(ifindex: u32) -> Port {
        Port::untagged(ifindex, Some([2, 0, 0, 0, 0, 7]))
    }

    #[test]
    fn a_translation_has_a_way_there_and_a_way_back() {
        let plan = Plan::new(&config(&["10.1.0.2 udp 1234 -> 10.1.1.2:5678"]), &[port(7)]).unwrap();
        let expected: Table = [
            (vec![10, 1, 0, 2, 4, 210, 17, 0], vec![10, 1, 1, 2, 22, 46, 0, 0]),
            (vec![10, 1, 1, 2, 22, 46, 17, 1], vec![10, 1, 0, 2, 4, 210, 0, 0]),
        ]
        .into();
        assert_eq!(plan.nat4, expected);
        assert_eq!(plan.ports.tx, Table::from([(vec![0; 4], vec![7, 0, 0, 0])]));
        assert_eq!(plan.ports.index, Table::from([(vec![7, 0, 0, 0], vec![0; 4])]));
        let own = [[2, 0, 0, 0, 0, 7, 0, 0], [7, 0, 0, 0, 7, 0, 0, 0], [0; 8], [0; 8]];
        assert_eq!(plan.ports.ports[&[0; 4][..]], own.as_flattened());
        assert_eq!(plan.ports.ports[&[1, 0, 0, 0][..]], [0; 32]);
        assert_eq!(plan.translates[&[0; 4][..]], [1, 0, 0, 0]);
        assert!(plan.nat6.is_empty());
    }

    #[test]
    fn a_kept_port_is_zero_and_a_whole_address_has_no_service() {
        let plan = Plan::new(&config(&["2001:db8::2 -> 2001:db8:1::2"]), &[]).unwrap();
        let sides: Vec<(u8, u8, &[u8])> =
            plan.nat6.iter().map(|(key, value)| (key[18], key[19], &value[16..])).collect();
        assert_eq!(sides, [(0, 0, &[0; 4][..]), (0, 1, &[0; 4])]);
        let plan = Plan::new(&config(&["10.1.0.2 tcp 80 -> 10.1.1.2"]), &[]).unwrap();
        assert_eq!(plan.nat4[&[10, 1, 0, 2, 0, 80, 6, 0][..]], [10, 1, 1, 2, 0, 0, 0, 0]);
    }

    #[test]
    fn ports_are_numbered_by_their_interfaces() {
        let ports = [port(9), port(4), port(7)];
        let numbers = [4, 7, 9, 5].map(|ifindex| crate::route::number_of(ifindex, &ports));
        assert_eq!(numbers, [Some(0), Some(1), Some(2), None]);
        let many: Vec<Port> = (1..=MOST_PORTS + 1).map(port).collect();
        assert_eq!(Plan::new(&config(&[]), &many), Err(PortConflict::TooMany.into()));
    }

    #[test]
    fn contradictions_are_refused() {
        let twice = ["10.1.0.2 udp 1 -> 10.1.1.2", "10.1.0.2 udp 1 -> 10.1.1.3"];
        let merged = ["10.1.0.2 udp 1 -> 10.1.1.2", "10.1.0.3 udp 1 -> 10.1.1.2"];
        assert!(matches!(Plan::new(&config(&twice), &[]), Err(Conflict::Destination { .. })));
        assert!(matches!(Plan::new(&config(&merged), &[]), Err(Conflict::Reply { .. })));
        let one_way = Config { replies: false, ..config(&merged) };
        assert_eq!(Plan::new(&one_way, &[]).unwrap().nat4.len(), 2);
        let same = [merged[0], merged[0]];
        assert_eq!(Plan::new(&config(&same), &[]).unwrap().nat4.len(), 2);
    }

    #[test]
    fn a_map_that_refuses_leaves_all_as_they_were() {
        let (nat4, nat6) = (MemoryMap::new(8, 8, 2), MemoryMap::new(20, 20, 2));
        let [tx, index, translates] = [0; 3].map(|_| MemoryMap::new(4, 4, 4));
        let ports = MemoryMap::new(4, 32, MOST_PORTS as usize);
        let (tagged, vlans) = (MemoryMap::new(12, 4, 4), MemoryMap::new(4, 4, 4));
        let maps = Maps {
            nat4: &nat4,
            nat6: &nat6,
            translates: &translates,
            tx: &tx,
            ports: &ports,
            index: &index,
            tagged: &tagged,
            vlans: &vlans,
        };
        let old = config(&["10.1.0.2 udp 1 -> 10.1.1.2", "2001:db8::2 -> 2001:db8:1::2"]);
        update(&old, &[port(1)], &maps).unwrap();
        let before: Vec<Table> = [&nat4, &nat6, &translates, &tx, &ports, &index]
            .map(|map| table::read(map).unwrap())
            .into_iter()
            .collect();
        let new = config(&["10.1.0.2 udp 1 -> 10.1.1.3", "2001:db8::3 -> 2001:db8:1::3"]);
        let error = update(&Config { replies: false, ..new.clone() }, &[port(2)], &maps);
        assert!(error.is_err(), "{error:?}");
        let after: Vec<Table> = [&nat4, &nat6, &translates, &tx, &ports, &index]
            .map(|map| table::read(map).unwrap())
            .into_iter()
            .collect();
        assert_eq!(after, before);
    }
}
