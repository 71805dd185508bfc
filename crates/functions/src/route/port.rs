//! The router's ports: interfaces that the kernel routes by, the interfaces that send and receive
//! for them, and the VLAN tags in between.
//!
//! Rule: a port keeps its number while it exists, and a number that became free is not given to
//! another port in the same change, because programs remember routes by numbers.
//! Not here: which VLAN devices the kernel has.

use std::collections::{BTreeMap, BTreeSet};

use packet::VlanTag;
use spec::{Expect, Map, Spec};

use super::abi::{self, Tagged};
use super::{INDEX, MOST_PORTS, PORTS, TAGGED, TX, VLANS};
use crate::table::{self, Table};

/// An interface that packets may leave through, and whose own frames are routed.
///
/// A port without tags is an interface that the program is attached to, and `device` is the same.
/// A port with tags is usually a VLAN device, but any interface can own the addresses and routes of
/// a VLAN:
///
/// ```
/// use functions::route::{Port, Tags};
/// use packet::{EtherType, VlanTag};
///
/// let (device, owner) = (2, 7);
/// let tag = VlanTag::new(EtherType::VLAN, 100)?;
/// let ports = [
///     Port::untagged(device, Some([2, 0, 0, 0, 0, 1])),
///     Port { ifindex: owner, mac: Some([2, 0, 0, 0, 0, 7]), device, tags: Tags::single(tag) },
/// ];
/// # Ok::<(), packet::ParseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// The interface as rules and routes name it.
    pub ifindex: u32,
    /// Frames to other unicast addresses are not routed; `None` routes none at all.
    pub mac: Option<[u8; 6]>,
    /// The interface, with the program, that sends and receives the frames.
    pub device: u32,
    /// Tags of these frames.
    pub tags: Tags,
}

/// No VLAN tag, one or two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tags {
    outer: Option<VlanTag>,
    inner: Option<VlanTag>,
}

/// The maps that describe ports, named as in the object.
#[derive(Debug)]
pub struct PortMaps<'a, M> {
    pub tx: &'a M,
    pub ports: &'a M,
    pub index: &'a M,
    pub tagged: &'a M,
    pub vlans: &'a M,
}

/// What these maps should hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortTables {
    pub tx: Table,
    pub ports: Table,
    pub index: Table,
    pub tagged: Table,
    /// Entries that may have to change; all others are 0.
    pub vlans: Table,
}

impl Port {
    /// A port for an interface that sends and receives without tags.
    #[must_use]
    pub fn untagged(ifindex: u32, mac: Option<[u8; 6]>) -> Self {
        Self { ifindex, mac, device: ifindex, tags: Tags::NONE }
    }

    pub(crate) fn entry(&self) -> abi::Port {
        let mac = self.mac.unwrap_or_default();
        let mac = mac.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        let (outer, inner) = self.tags.to_bytes();
        abi::Port {
            mac,
            ifindex: self.ifindex,
            device: self.device,
            outer,
            inner,
            epoch: 0,
            zero: 0,
        }
    }
}

impl Tags {
    /// Frames without a tag.
    pub const NONE: Self = Self { outer: None, inner: None };

    /// Frames with one tag.
    #[must_use]
    pub fn single(tag: VlanTag) -> Self {
        Self { outer: Some(tag), inner: None }
    }

    /// Frames with two tags (802.1ad).
    #[must_use]
    pub fn double(outer: VlanTag, inner: VlanTag) -> Self {
        Self { outer: Some(outer), inner: Some(inner) }
    }

    /// With a further tag after these; `None` for a third one.
    #[must_use]
    pub fn with(self, tag: VlanTag) -> Option<Self> {
        match (self.outer, self.inner) {
            (None, _) => Some(Self::single(tag)),
            (Some(outer), None) => Some(Self::double(outer, tag)),
            _ => None,
        }
    }

    /// From the outermost.
    pub fn iter(self) -> impl Iterator<Item = VlanTag> {
        self.outer.into_iter().chain(self.inner)
    }

    fn to_bytes(self) -> ([u8; 4], [u8; 4]) {
        let bytes = |tag: Option<VlanTag>| tag.map_or([0; 4], VlanTag::to_bytes);
        (bytes(self.outer), bytes(self.inner))
    }
}

impl<'a, M: Map> PortMaps<'a, M> {
    /// Finds the maps by their names in the object.
    pub fn find<E>(map: impl Fn(&str) -> Result<&'a M, E>) -> Result<Self, E> {
        let (tx, ports, index) = (map(TX)?, map(PORTS)?, map(INDEX)?);
        Ok(Self { tx, ports, index, tagged: map(TAGGED)?, vlans: map(VLANS)? })
    }

    /// The ports that the maps hold now.
    ///
    /// # Errors
    /// The map's own.
    pub fn live(&self) -> Result<Numbered, M::Error> {
        Ok(Numbered::read(&table::read(self.ports)?))
    }
}

/// Ports that a router cannot have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PortConflict {
    #[error("a router has at most {MOST_PORTS} interfaces")]
    TooMany,
    #[error("interface {ifindex} has the VLAN tags, or the index, of another port of the router")]
    Same { ifindex: u32 },
}

/// Ports by their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Numbered {
    ports: BTreeMap<u32, abi::Port>,
    /// Epochs of all numbers that are not 0, also of those that no port has now.
    epochs: BTreeMap<u32, u32>,
}

impl Numbered {
    pub(super) fn read(table: &Table) -> Self {
        let mut this = Self::default();
        for (key, value) in table {
            let (Some(key), Some(value)) = (key.first_chunk(), value.first_chunk()) else {
                continue;
            };
            let (number, port) = (u32::from_le_bytes(*key), abi::Port::from_bytes(value));
            if port.ifindex != 0 {
                this.ports.insert(number, port);
            }
            if port.epoch != 0 {
                this.epochs.insert(number, port.epoch);
            }
        }
        this
    }

    /// The epoch of a number if this interface has it now: the next one if another one had it.
    fn epoch(&self, number: u32, ifindex: u32) -> u32 {
        let last = self.epochs.get(&number).copied().unwrap_or(0);
        let is_other = self.ports.get(&number).is_some_and(|live| live.ifindex != ifindex);
        (last + u32::from(is_other)) % EPOCHS
    }

    /// The interfaces that programs are attached to: those that send without tags.
    pub fn devices(&self) -> impl Iterator<Item = u32> {
        self.ports.values().filter(|port| port.outer == [0; 4]).map(|port| port.device)
    }

    /// The interface of the port with this number, as routes name it.
    pub(super) fn ifindex(&self, number: u32) -> Option<u32> {
        self.ports.get(&number).map(|port| port.ifindex)
    }

    /// Ports with one 802.1Q tag: the entry of [`VLANS`] and the number.
    fn vlans(&self) -> impl Iterator<Item = (u32, u32)> {
        let devices: BTreeMap<u32, u32> = self
            .ports
            .iter()
            .filter(|(_, port)| port.outer == [0; 4])
            .map(|(n, p)| (p.device, *n))
            .collect();
        self.ports.iter().filter_map(move |(number, port)| {
            let [0x81, 0, high, low] = port.outer else { return None };
            let device = devices.get(&port.device).filter(|_| port.inner == [0; 4])?;
            Some((device * VLANS_OF_EACH + u32::from(u16::from_be_bytes([high, low])), *number))
        })
    }

    /// The number that this port has: that of its device if it has no tags, because the program
    /// knows that number as a constant.
    fn number_of(&self, port: &abi::Port) -> Option<u32> {
        let is_same = |live: &abi::Port| match port.outer {
            [0, 0, 0, 0] => live.outer == [0; 4] && live.device == port.device,
            _ => live.outer != [0; 4] && live.ifindex == port.ifindex,
        };
        self.ports.iter().find(|(_, live)| is_same(live)).map(|(number, _)| *number)
    }
}

impl PortTables {
    /// What the maps should hold for these ports, if they hold `live` now.
    ///
    /// # Errors
    /// There are too many ports, or two that are the same to the program.
    pub fn new(ports: &[Port], live: &Numbered) -> Result<Self, PortConflict> {
        let none = |number| {
            let none = abi::Port { epoch: live.epoch(number, 0), ..abi::Port::default() };
            (bytes(number), none.to_bytes().into())
        };
        let mut this = Self { ports: (0..MOST_PORTS).map(none).collect(), ..Self::default() };
        for (number, port) in numbered(ports, live)? {
            let epoch = live.epoch(number, port.ifindex);
            let entry = abi::Port { epoch, ..port.entry() };
            this.ports.insert(bytes(number), entry.to_bytes().to_vec());
            let other = this.index.insert(bytes(port.ifindex), bytes(number));
            // A devmap entry without a program: the interface's index alone.
            this.tx.insert(bytes(number), bytes(port.device));
            let key = Tagged { device: port.device, outer: entry.outer, inner: entry.inner };
            let is_tagged = port.tags != Tags::NONE;
            let same =
                is_tagged && this.tagged.insert(key.to_bytes().to_vec(), bytes(number)).is_some();
            if same || other.is_some() {
                return Err(PortConflict::Same { ifindex: port.ifindex });
            }
        }
        let zeros = live.vlans().map(|(entry, _)| (bytes(entry), bytes(0)));
        this.vlans.extend(zeros);
        let wanted = Numbered::read(&this.ports);
        this.vlans.extend(wanted.vlans().map(|(entry, number)| (bytes(entry), bytes(number + 1))));
        Ok(this)
    }

    /// # Errors
    /// A map's own; then the others are as they were.
    pub(super) fn set_vlans<M: Map>(&self, map: &M) -> Result<(), M::Error> {
        for (key, value) in &self.vlans {
            // The map may be too small for the device, which is then found by `route_tagged`.
            if map.lookup(key)?.is_some_and(|live| live != *value) {
                map.update(key, value, Expect::Any)?;
            }
        }
        Ok(())
    }

    /// Each map with what it should hold.
    pub(super) fn parts<'a, M>(&'a self, maps: &PortMaps<'a, M>) -> [(&'a M, &'a Table); 4] {
        [
            (maps.tx, &self.tx),
            (maps.ports, &self.ports),
            (maps.index, &self.index),
            (maps.tagged, &self.tagged),
        ]
    }
}

/// Each port with its number: the live one, or else the rank of its device if it has no tags, or
/// else a free one.
fn numbered(ports: &[Port], live: &Numbered) -> Result<Vec<(u32, Port)>, PortConflict> {
    let known = |port: &Port| live.number_of(&port.entry());
    let mut taken: BTreeSet<u32> = live.ports.keys().copied().collect();
    let (mut numbered, mut new): (Vec<_>, Vec<_>) = (Vec::new(), Vec::new());
    for port in ports {
        let rank = || match port.tags {
            Tags::NONE => number_of(port.device, ports).filter(|rank| !taken.contains(rank)),
            _ => None,
        };
        match known(port).or_else(rank) {
            Some(number) => numbered.push((number, *port)),
            None => new.push(*port),
        }
    }
    taken.extend(numbered.iter().map(|(number, _)| *number));
    let used: BTreeSet<u32> = numbered.iter().map(|(number, _)| *number).collect();
    let mut seen = BTreeSet::new();
    if let Some((_, twice)) = numbered.iter().find(|(number, _)| !seen.insert(*number)) {
        return Err(PortConflict::Same { ifindex: twice.ifindex });
    }
    // Numbers of ports that vanish are the last choice.
    let fresh = (0..MOST_PORTS).filter(|number| !taken.contains(number));
    let freed = (0..MOST_PORTS).filter(|number| taken.contains(number) && !used.contains(number));
    let mut free = fresh.chain(freed);
    new.sort_by_key(|port| (port.tags != Tags::NONE, port.ifindex));
    for port in new {
        numbered.push((free.next().ok_or(PortConflict::TooMany)?, port));
    }
    Ok(numbered)
}

/// Number of the untagged port of a device when a router starts: the device's rank among the
/// router's, so that it is the same whatever their order in a request. `None` if it is not among
/// those that have one.
#[must_use]
pub fn number_of(device: u32, ports: &[Port]) -> Option<u32> {
    let devices: BTreeSet<u32> = ports.iter().map(|port| port.device).collect();
    let rank = devices.iter().position(|one| *one == device)?;
    u32::try_from(rank).ok().filter(|number| *number < MOST_PORTS)
}

/// Makes space for the VLANs of the devices of these ports, before the program is loaded; without
/// it, there is space for those of the first one, and others are found more slowly.
pub fn size_vlans(spec: &mut Spec, ports: &[Port]) {
    let devices: BTreeSet<u32> = ports.iter().map(|port| port.device).collect();
    let entries = VLANS_OF_EACH * u32::try_from(devices.len()).unwrap_or(1).clamp(1, MOST_PORTS);
    for def in spec.maps.iter_mut().filter(|def| *def.name == *VLANS) {
        def.max_entries = entries;
    }
}

/// `ROUTE_EPOCHS`.
const EPOCHS: u32 = 128;
/// `ROUTE_VLANS`.
const VLANS_OF_EACH: u32 = 4096;

fn bytes(number: u32) -> Vec<u8> {
    number.to_le_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use packet::EtherType;
    use spec::MemoryMap;

    use super::*;

    const MAC: Option<[u8; 6]> = Some([2, 0, 0, 0, 0, 7]);

    fn tag(id: u16) -> VlanTag {
        VlanTag::new(EtherType::VLAN, id).unwrap()
    }

    fn vlan(ifindex: u32, device: u32, id: u16) -> Port {
        Port { ifindex, mac: MAC, device, tags: Tags::single(tag(id)) }
    }

    fn untagged(ifindex: u32) -> Port {
        Port::untagged(ifindex, MAC)
    }

    fn numbers(tables: &PortTables) -> Vec<(u32, u32)> {
        let number = |bytes: &Vec<u8>| u32::from_le_bytes(*bytes.first_chunk().unwrap());
        tables.index.iter().map(|(ifindex, one)| (number(ifindex), number(one))).collect()
    }

    fn live(tables: &PortTables) -> Numbered {
        Numbered::read(&tables.ports)
    }

    #[test]
    fn a_tagged_port_is_sent_by_its_device() {
        let service = VlanTag::new(EtherType::SERVICE_VLAN, 0x102).unwrap();
        let two = Port { tags: Tags::double(service, tag(5)), ..vlan(9, 4, 1) };
        let tables = PortTables::new(&[two, untagged(4)], &Numbered::default()).unwrap();
        assert_eq!(numbers(&tables), [(4, 0), (9, 1)]);
        assert_eq!(tables.tx[&[1, 0, 0, 0][..]], [4, 0, 0, 0]);
        let key = [4, 0, 0, 0, 0x88, 0xa8, 1, 2, 0x81, 0, 0, 5];
        assert_eq!(tables.tagged, Table::from([(key.to_vec(), vec![1, 0, 0, 0])]));
        let entry = &tables.ports[&[1, 0, 0, 0][..]];
        assert_eq!(entry[..12], [2, 0, 0, 0, 0, 7, 0, 0, 9, 0, 0, 0]);
        assert_eq!(entry[12..24], key);
        assert!(tables.vlans.is_empty());
    }

    #[test]
    fn vlans_with_one_tag_are_found_by_device_and_id() {
        let ports = [untagged(4), untagged(7), vlan(8, 4, 5), vlan(9, 7, 0x123)];
        let tables = PortTables::new(&ports, &Numbered::default()).unwrap();
        let at = |number: u32| number.to_le_bytes().to_vec();
        assert_eq!(tables.vlans, Table::from([(at(5), at(3)), (at(4096 + 0x123), at(4))]));
        let tables = PortTables::new(&[untagged(4), untagged(7)], &live(&tables)).unwrap();
        assert_eq!(tables.vlans, Table::from([(at(5), at(0)), (at(4096 + 0x123), at(0))]));
        let mut spec = Spec::parse("route", crate::route::OBJECT).unwrap();
        size_vlans(&mut spec, &ports);
        assert_eq!(spec.map(VLANS).unwrap().max_entries, 8192);
    }

    #[test]
    fn a_number_that_another_interface_gets_has_another_epoch() {
        let epochs = |tables: &PortTables| -> Vec<u32> {
            let ports = (0..3).map(|number| &tables.ports[&bytes(number)]);
            ports.map(|port| abi::Port::from_bytes(port.first_chunk().unwrap()).epoch).collect()
        };
        let mut tables = PortTables::default();
        for (ports, expected) in [
            (vec![untagged(4), vlan(8, 4, 5)], [0, 0, 0]),
            (vec![untagged(4), vlan(8, 4, 6)], [0, 0, 0]),
            (vec![untagged(4)], [0, 1, 0]),
            (vec![untagged(4), vlan(8, 4, 5)], [0, 1, 0]),
            (vec![untagged(4), vlan(9, 4, 5)], [0, 2, 0]),
            // A bond becomes the owner of the device's frames.
            (vec![Port { ifindex: 7, ..untagged(4) }], [1, 2, 1]),
        ] {
            for _ in 0..2 {
                tables = PortTables::new(&ports, &live(&tables)).unwrap();
                assert_eq!(epochs(&tables), expected, "{ports:?}");
            }
        }
        let mut last = Numbered::default();
        last.epochs.insert(0, EPOCHS - 1);
        last.ports.insert(0, untagged(4).entry());
        assert_eq!((last.epoch(0, 4), last.epoch(0, 5)), (EPOCHS - 1, 0));
    }

    #[test]
    fn ports_keep_their_numbers() {
        let first = [untagged(4), untagged(7), vlan(8, 4, 5), vlan(9, 7, 5)];
        let tables = PortTables::new(&first, &Numbered::default()).unwrap();
        assert_eq!(numbers(&tables), [(4, 0), (7, 1), (8, 2), (9, 3)]);
        // A VLAN and a device vanish, another VLAN appears: it gets no number that was in use.
        let second = [untagged(7), vlan(9, 7, 5), vlan(5, 7, 6)];
        let tables = PortTables::new(&second, &live(&tables)).unwrap();
        assert_eq!(numbers(&tables), [(5, 4), (7, 1), (9, 3)]);
        // Later, freed numbers are used again.
        let third = [untagged(7), vlan(9, 7, 5), vlan(5, 7, 6), vlan(6, 7, 7)];
        let tables = PortTables::new(&third, &live(&tables)).unwrap();
        assert_eq!(numbers(&tables), [(5, 4), (6, 0), (7, 1), (9, 3)]);
    }

    #[test]
    fn another_owner_of_a_device_has_the_number_of_the_device() {
        let tables = PortTables::new(&[untagged(4), untagged(5)], &Numbered::default()).unwrap();
        let bond = Port { ifindex: 20, ..untagged(5) };
        let tables = PortTables::new(&[untagged(4), bond], &live(&tables)).unwrap();
        assert_eq!(numbers(&tables), [(4, 0), (20, 1)]);
        assert_eq!(live(&tables).devices().collect::<Vec<_>>(), [4, 5]);
    }

    #[test]
    fn ports_that_are_the_same_to_the_program_are_refused() {
        for ports in [
            vec![vlan(8, 4, 5), vlan(9, 4, 5)],
            vec![vlan(8, 4, 5), vlan(8, 4, 6)],
            vec![untagged(4), Port { ifindex: 9, ..untagged(4) }],
        ] {
            let error = PortTables::new(&ports, &Numbered::default()).unwrap_err();
            assert!(matches!(error, PortConflict::Same { .. }), "{ports:?}: {error}");
        }
        let many: Vec<Port> = (1..=MOST_PORTS + 1).map(|id| vlan(id, 1, id as u16)).collect();
        assert_eq!(PortTables::new(&many, &Numbered::default()), Err(PortConflict::TooMany));
    }

    #[test]
    fn live_maps_are_changed() {
        use crate::route::update_ports;
        let [tx, index] = [0; 2].map(|_| MemoryMap::new(4, 4, 4));
        let (ports, tagged) =
            (MemoryMap::new(4, 32, MOST_PORTS as usize), MemoryMap::new(12, 4, 4));
        let vlans = MemoryMap::new(4, 4, 1);
        vlans.update(&[5, 0, 0, 0], &[0; 4], Expect::Any).unwrap();
        let maps =
            PortMaps { tx: &tx, ports: &ports, index: &index, tagged: &tagged, vlans: &vlans };
        update_ports(&[untagged(4), vlan(8, 4, 5)], &maps).unwrap();
        assert_eq!(vlans.lookup(&[5, 0, 0, 0]).unwrap(), Some(vec![2, 0, 0, 0]));
        assert_eq!(table::read(&tagged).unwrap().len(), 1);
        let changed = update_ports(&[untagged(4)], &maps).unwrap();
        assert_eq!((changed.replaced, changed.removed), (1, 3));
        assert_eq!(maps.live().unwrap().ports.len(), 1);
        assert_eq!(vlans.lookup(&[5, 0, 0, 0]).unwrap(), Some(vec![0; 4]));
    }
}
