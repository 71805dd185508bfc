//! Brings live maps to a configuration.
//!
//! What packets do not meet yet is written first: backends, tables that are not in use, keys that
//! no pattern finds. A service then changes with the one write of its entry, and the set of
//! services with the one write that selects its patterns. What fails is taken back. The program
//! remembers which services it found until the generation of services changes, so each change ends
//! with a new one.
//!
//! Rule: the number of a backend is given to another one only when no table, no remembered flow and
//! no QUIC connection id names it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv6Addr};

use spec::{Expect, Map};

use super::abi;
use super::choice::{self, SLOTS, Table};
use super::config::{Config, ConfigError, Delivery, Service, State};
use super::memory::{Remembered, remembered};
use super::service::{self, NO_TABLE, mapped};
use super::{ACTIVE, BACKENDS, FLOWS, PATTERNS, SERVICES, TABLES, quic, tunnel};

/// The program's maps, named as in the object.
#[derive(Debug)]
pub struct Maps<'a, M> {
    pub patterns: &'a M,
    pub active: &'a M,
    pub services: &'a M,
    pub tables: &'a M,
    pub backends: &'a M,
    pub flows: &'a M,
    pub quic: &'a M,
    pub ids: &'a M,
}

impl<'a, M> Maps<'a, M> {
    /// Finds the maps by their names in the object.
    pub fn find<E>(map: impl Fn(&str) -> Result<&'a M, E>) -> Result<Self, E> {
        Ok(Self {
            patterns: map(PATTERNS)?,
            active: map(ACTIVE)?,
            services: map(SERVICES)?,
            tables: map(TABLES)?,
            backends: map(BACKENDS)?,
            flows: map(FLOWS)?,
            quic: map(quic::CONFIGS)?,
            ids: map(quic::IDS)?,
        })
    }
}

/// What the maps hold.
#[derive(Clone, Debug, Default)]
pub struct Live {
    pub services: BTreeMap<abi::Key, abi::Service>,
    /// By number; those that are not in use are left out.
    pub backends: BTreeMap<u16, abi::Backend>,
}

/// Backends that checks took out, by service.
pub type Out = BTreeSet<(String, IpAddr)>;

/// What a change did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Services that have another table.
    pub moved: Vec<Moved>,
}

/// Slots of a service that have another backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    pub service: String,
    /// Number of them, out of [`SLOTS`].
    pub slots: usize,
    /// Number of those whose flows are still sent to the former backend.
    pub kept: usize,
}

/// Why a configuration cannot be applied.
#[derive(Debug, thiserror::Error)]
pub enum Error<E: std::error::Error + 'static> {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("service `{service}`: {error}")]
    Choice { service: String, error: choice::Error },
    #[error("there is no space for more {0}: load the balancer again with `--replace`")]
    Full(&'static str),
    #[error("the services could not be changed and are what they were: {0}")]
    Map(#[source] E),
}

impl Live {
    /// # Errors
    /// A map's own.
    pub fn read<M: Map>(maps: &Maps<'_, M>) -> Result<Self, M::Error> {
        let mut live = Self::default();
        for (key, value) in crate::table::read(maps.services)? {
            if let (Some(key), Some(value)) = (key.first_chunk(), value.first_chunk()) {
                live.services.insert(abi::Key::from_bytes(key), abi::Service::from_bytes(value));
            }
        }
        for (number, value) in maps.backends.array()?.iter().enumerate() {
            let backend = value.first_chunk().map(abi::Backend::from_bytes).unwrap_or_default();
            if backend != EMPTY {
                live.backends.insert(number as u16, backend);
            }
        }
        Ok(live)
    }

    /// The number of a backend of a service.
    pub(super) fn number(&self, service: u32, address: [u8; 16]) -> Option<u16> {
        let is = |one: &abi::Backend| one.service == service && one.address == address;
        self.backends.iter().find(|(_, one)| is(one)).map(|(number, _)| *number)
    }

    /// The number of a backend of the service of this name.
    #[must_use]
    pub fn number_of(&self, service: &str, address: IpAddr) -> Option<u16> {
        self.number(service::id(service), mapped(address))
    }

    /// The backends of a configuration that checks took out.
    #[must_use]
    pub fn out(&self, config: &Config) -> Out {
        let is_out = |service: &Service, address| {
            let number = self.number(service::id(&service.name), mapped(address));
            number.is_some_and(|number| self.backends[&number].flags & tunnel::UNHEALTHY != 0)
        };
        let checked = config.services.iter().filter(|one| one.health.is_some());
        let own = checked.flat_map(|service| {
            let addresses = service.backends.iter().map(|one| one.address);
            let out = addresses.filter(move |address| is_out(service, *address));
            out.map(|address| (service.name.clone(), address))
        });
        own.collect()
    }

    /// Numbers and addresses of the backends of a service that are not among these.
    #[must_use]
    pub fn others(&self, service: &str, is_known: impl Fn(IpAddr) -> bool) -> Vec<(u16, IpAddr)> {
        let id = service::id(service);
        let own = self.backends.iter().filter(|(_, one)| one.service == id);
        let own = own.filter_map(|(number, _)| Some((*number, self.address(*number)?)));
        own.filter(|(_, address)| !is_known(*address)).collect()
    }

    /// The address of a backend.
    #[must_use]
    pub fn address(&self, number: u16) -> Option<IpAddr> {
        self.backends.get(&number).map(|one| Ipv6Addr::from(one.address).to_canonical())
    }

    /// Whether flows of a backend move to others.
    pub(super) fn is_dead(&self, number: u16) -> bool {
        self.backends.get(&number).is_some_and(|one| one.flags & tunnel::DEAD != 0)
    }

    /// The entry of a service that has this id.
    pub(super) fn service(&self, id: u32) -> Option<&abi::Service> {
        self.services.values().find(|one| one.id == id)
    }

    pub(super) fn tables(&self) -> BTreeSet<u32> {
        self.services.values().flat_map(|one| [one.table, one.former]).collect()
    }

    /// Numbers of tables that no service has, the highest first.
    pub(super) fn free_tables<M: Map>(&self, maps: &Maps<'_, M>) -> Result<Vec<u32>, M::Error> {
        let used = self.tables();
        let tables = (maps.tables.keys()?.len() as u32) / LINES;
        Ok((0..tables).rev().filter(|table| !used.contains(table)).collect())
    }

    pub(super) fn sets(&self) -> BTreeSet<u32> {
        self.services.values().map(|one| one.flags >> QUIC_SHIFT).collect()
    }
}

/// The backends of all slots in a table, by number.
///
/// # Errors
/// A map's own.
pub fn slots<M: Map>(tables: &M, table: u32) -> Result<Vec<u16>, M::Error> {
    let mut slots = Vec::with_capacity(SLOTS);
    for bytes in tables.array_part(table * LINES, LINES)? {
        slots.extend(bytes.first_chunk().map(abi::Line::from_bytes).unwrap_or_default().slots);
    }
    slots.resize(SLOTS, NONE);
    Ok(slots)
}

/// The backend of a slot in a table, by number; `None` if it has none.
///
/// # Errors
/// A map's own.
pub(super) fn slot<M: Map>(tables: &M, table: u32, slot: u16) -> Result<Option<u16>, M::Error> {
    let (line, at) = (usize::from(slot) / LINE, usize::from(slot) % LINE);
    let bytes = tables.lookup(&(table * LINES + line as u32).to_le_bytes())?.unwrap_or_default();
    let line = bytes.first_chunk().map(abi::Line::from_bytes).unwrap_or_default();
    Ok(Some(line.slots[at]).filter(|number| *number != NONE))
}

/// Brings live maps to a configuration: each service meets its old backends or its new ones. What
/// checks took out remains out.
///
/// # Errors
/// The configuration contradicts itself, does not fit, or a map refused it; then all is as before.
pub fn update<M: Map>(config: &Config, maps: &Maps<'_, M>) -> Result<Change, Error<M::Error>> {
    let live = Live::read(maps).map_err(Error::Map)?;
    let out = live.out(config);
    apply(config, maps, live, out)
}

/// As [`update`], and these backends are out, no others.
///
/// # Errors
/// As [`update`].
pub fn take_out<M: Map>(
    config: &Config,
    maps: &Maps<'_, M>,
    out: Out,
) -> Result<Change, Error<M::Error>> {
    let live = Live::read(maps).map_err(Error::Map)?;
    apply(config, maps, live, out)
}

fn apply<M: Map>(
    config: &Config,
    maps: &Maps<'_, M>,
    live: Live,
    out: Out,
) -> Result<Change, Error<M::Error>> {
    let patterns = config.checked()?;
    let mut work = Work::new(maps, live, out).map_err(Error::Map)?;
    let outcome = work.change(config, patterns);
    if outcome.is_err() {
        work.take_back();
    }
    outcome
}

/// Ends the keeping of flows with former backends, but of those that are remembered: all other
/// flows on slots that moved now belong to the new backend. Then numbers that nothing names are
/// free. `now` is the monotonic clock in nanoseconds. Returns the number of flows that are still
/// remembered for another backend than that of their slot.
///
/// # Errors
/// A map's own.
pub fn settle<M: Map>(maps: &Maps<'_, M>, now: u64) -> Result<usize, M::Error> {
    let live = Live::read(maps)?;
    let flows = flows(maps.flows, now)?;
    let mut elsewhere = 0;
    let mut named: BTreeSet<u16> = flows.iter().map(|flow| flow.backend).collect();
    for id in live.services.values().map(|one| one.id).collect::<BTreeSet<_>>() {
        let Some(entry) = live.service(id) else { continue };
        let current = slots(maps.tables, entry.table)?;
        named.extend(&current);
        let is_gone = |number| live.backends.get(&number).is_none_or(|one| one.flags & GONE != 0);
        named.extend(quic::end(maps.quic, maps.ids, entry.flags >> QUIC_SHIFT, is_gone)?);
        if entry.former == NO_TABLE {
            continue;
        }
        let own = |flow: &&Remembered| {
            live.backends.get(&flow.backend).is_some_and(|one| one.service == id)
                && current[usize::from(flow.slot)] != flow.backend
        };
        let mut former = vec![NONE; SLOTS];
        for flow in flows.iter().filter(own) {
            former[usize::from(flow.slot)] = current[usize::from(flow.slot)];
            elsewhere += 1;
        }
        let is_settled = former.iter().all(|number| *number == NONE);
        if !is_settled {
            write_table(maps.tables, entry.former, &former)?;
            continue;
        }
        for (key, entry) in live.services.iter().filter(|(_, one)| one.id == id) {
            let entry = abi::Service { former: NO_TABLE, ..*entry };
            maps.services.update(&key.to_bytes(), &entry.to_bytes(), Expect::Present)?;
        }
    }
    forget(maps.active)?;
    let is_wanted = |one: &abi::Backend| one.weight != 0;
    let unused = live.backends.iter().filter(|(number, one)| {
        !named.contains(number) && (!is_wanted(one) || live.service(one.service).is_none())
    });
    for (number, _) in unused {
        maps.backends.update(&key_of(*number), &EMPTY.to_bytes(), Expect::Any)?;
    }
    Ok(elsewhere)
}

/// The number of the backend that a QUIC connection id names in a service, also of one that is
/// down; `None` if it cannot be routed.
///
/// # Errors
/// A map's own.
pub fn by_id<M: Map>(
    maps: &Maps<'_, M>,
    service: &abi::Service,
    id: &[u8],
) -> Result<Option<u16>, M::Error> {
    quic::named(maps.quic, maps.ids, service.flags >> QUIC_SHIFT, id)
}

/// All flows that are remembered.
///
/// # Errors
/// A map's own.
pub fn flows<M: Map>(map: &M, now: u64) -> Result<Vec<Remembered>, M::Error> {
    let mut all = Vec::new();
    for line in map.array()? {
        all.extend(remembered(&line, now).filter(|one| one.kind != abi::Kind::Note));
    }
    Ok(all)
}

/// A change that is being made.
struct Work<'a, M> {
    maps: &'a Maps<'a, M>,
    live: Live,
    /// Numbers of backends and tables that are free.
    numbers: Vec<u16>,
    tables: Vec<u32>,
    /// Backends that are down, whatever the configuration has.
    out: Out,
    sets: quic::Place<'a, M>,
    /// What was overwritten.
    undo: Vec<Overwritten<'a, M>>,
}

/// A map, the key, and the value that it had, if it had one.
type Overwritten<'a, M> = (&'a M, Vec<u8>, Option<Vec<u8>>);

impl<'a, M: Map> Work<'a, M> {
    fn new(maps: &'a Maps<'a, M>, live: Live, out: Out) -> Result<Self, M::Error> {
        let tables = live.free_tables(maps)?;
        let numbers = maps.backends.keys()?.len().min(usize::from(NONE)) as u16;
        let numbers =
            (0..numbers).rev().filter(|number| !live.backends.contains_key(number)).collect();
        let sets = quic::Place::new(maps.quic, maps.ids, &live.sets())?;
        Ok(Self { maps, live, numbers, tables, out, sets, undo: Vec::new() })
    }

    fn change(
        &mut self,
        config: &Config,
        patterns: abi::Patterns,
    ) -> Result<Change, Error<M::Error>> {
        let mut change = Change::default();
        let mut wanted = BTreeMap::new();
        for service in &config.services {
            let (entry, moved) = self.prepare(config, service)?;
            change.moved.extend(moved);
            wanted.extend(service::keys(service).into_iter().map(|key| (key, entry)));
        }
        for (key, entry) in &wanted {
            self.set(self.maps.services, key.to_bytes().to_vec(), &entry.to_bytes())?;
        }
        let next = generation(self.maps.active).map_err(Error::Map)?.wrapping_add(1);
        let set = (next & 1).to_le_bytes();
        self.set(self.maps.patterns, set.to_vec(), &patterns.to_bytes())?;
        self.set(self.maps.active, ONLY.to_vec(), &next.to_le_bytes())?;
        let old: Vec<_> = self.live.services.keys().copied().collect();
        for key in old.iter().filter(|key| !wanted.contains_key(key)) {
            self.remove(self.maps.services, key.to_bytes().to_vec())?;
        }
        // A pattern that remains found them until now.
        forget(self.maps.active).map_err(Error::Map)?;
        Ok(change)
    }

    /// Writes what a service needs and packets do not meet yet; returns its entry.
    fn prepare(
        &mut self,
        config: &Config,
        service: &Service,
    ) -> Result<(abi::Service, Option<Moved>), Error<M::Error>> {
        let mut entry = service::entry(service);
        let numbers = self.backends(config, service)?;
        let service = &self.without_out(service);
        let new = chosen(config, service, &numbers)?;
        let old = self.live.service(entry.id).copied();
        entry.flags |= self.set_of_ids(service, &numbers, old)? << QUIC_SHIFT;
        let Some(old) = old else {
            entry.table = self.table(&new)?;
            return Ok((entry, None));
        };
        let read = |table| slots(self.maps.tables, table).map_err(Error::Map);
        let before = read(old.table)?;
        (entry.table, entry.former) = (old.table, old.former);
        if before == new {
            return Ok((entry, None));
        }
        let mut former = vec![NONE; SLOTS];
        if old.former != NO_TABLE {
            former = read(old.former)?;
        }
        let down: BTreeSet<_> = service
            .backends
            .iter()
            .zip(&numbers)
            .filter(|(backend, _)| backend.state == State::Down)
            .map(|(_, number)| *number)
            .chain([NONE])
            .collect();
        let mut moved = Moved { service: service.name.clone(), slots: 0, kept: 0 };
        for (slot, (before, new)) in before.iter().zip(&new).enumerate() {
            if before == new {
                continue;
            }
            moved.slots += 1;
            if former[slot] == NONE && !down.contains(before) {
                former[slot] = *before;
            }
            moved.kept += usize::from(former[slot] != NONE);
        }
        entry.table = self.table(&new)?;
        entry.former = NO_TABLE;
        // Translated flows are all remembered, with their backends.
        if service.delivery != Delivery::Nat && former.iter().any(|number| *number != NONE) {
            entry.former = self.table(&former)?;
        }
        Ok((entry, Some(moved)))
    }

    /// Writes the backends of a service; returns their numbers. Those that it has no more drain.
    fn backends(
        &mut self,
        config: &Config,
        service: &Service,
    ) -> Result<Vec<u16>, Error<M::Error>> {
        let id = service::id(&service.name);
        let mut numbers = Vec::new();
        for backend in &service.backends {
            let known = self.live.number(id, mapped(backend.address));
            let number = known.or_else(|| self.numbers.pop()).ok_or(Error::Full("backends"))?;
            let mut entry = tunnel::entry(config, service, backend);
            if self.is_out(service, backend.address) {
                entry.flags |= tunnel::DEAD | tunnel::UNHEALTHY;
            }
            self.set(self.maps.backends, key_of(number).to_vec(), &entry.to_bytes())?;
            numbers.push(number);
        }
        let gone = self.live.backends.iter();
        let gone = gone.filter(|(number, one)| one.service == id && !numbers.contains(number));
        let gone: Vec<_> = gone.map(|(number, one)| (*number, *one)).collect();
        for (number, one) in gone {
            let entry = abi::Backend { weight: 0, flags: one.flags | GONE, ..one };
            self.set(self.maps.backends, key_of(number).to_vec(), &entry.to_bytes())?;
        }
        Ok(numbers)
    }

    fn is_out(&self, service: &Service, address: IpAddr) -> bool {
        !self.out.is_empty() && self.out.contains(&(service.name.clone(), address))
    }

    /// The service with its backends that are out as if they were configured down.
    fn without_out(&self, service: &Service) -> Service {
        let mut service = service.clone();
        for at in 0..service.backends.len() {
            if self.is_out(&service, service.backends[at].address) {
                service.backends[at].state = State::Down;
            }
        }
        service
    }

    /// Writes the QUIC configurations and server ids of a service; returns the number of their set.
    /// Backends that it has no more keep their ids.
    fn set_of_ids(
        &mut self,
        service: &Service,
        numbers: &[u16],
        old: Option<abi::Service>,
    ) -> Result<u32, Error<M::Error>> {
        let old = old.map_or(0, |old| old.flags >> QUIC_SHIFT);
        let former = self.sets.read(old).map_err(Error::Map)?;
        let backends = numbers.iter().copied().zip(&service.backends);
        let alive = backends.filter(|(_, backend)| backend.state != State::Down);
        let ids = alive.map(|(number, backend)| (number, &backend.server_id));
        let mut set = quic::Set::new(&service.quic, ids);
        set.carry(&former, |number| !numbers.contains(&number));
        if set == former {
            return Ok(old);
        }
        let written = self.sets.write(&set).map_err(Error::Map)?;
        written.ok_or(Error::Full("QUIC server ids"))
    }

    /// Writes a table that is not in use; returns its number.
    fn table(&mut self, slots: &[u16]) -> Result<u32, Error<M::Error>> {
        let table = self.tables.pop().ok_or(Error::Full("tables"))?;
        write_table(self.maps.tables, table, slots).map_err(Error::Map)?;
        Ok(table)
    }

    fn set(&mut self, map: &'a M, key: Vec<u8>, value: &[u8]) -> Result<(), Error<M::Error>> {
        let before = map.lookup(&key).map_err(Error::Map)?;
        map.update(&key, value, Expect::Any).map_err(Error::Map)?;
        self.undo.push((map, key, before));
        Ok(())
    }

    fn remove(&mut self, map: &'a M, key: Vec<u8>) -> Result<(), Error<M::Error>> {
        let before = map.lookup(&key).map_err(Error::Map)?;
        map.delete(&key).map_err(Error::Map)?;
        self.undo.push((map, key, before));
        Ok(())
    }

    /// Restores what was overwritten. Errors have no better remedy than to restore the rest.
    fn take_back(&mut self) {
        for (map, key, before) in self.undo.drain(..).rev() {
            let _restored = match before {
                Some(value) => map.update(&key, &value, Expect::Any).is_ok(),
                None => map.delete(&key).is_ok(),
            };
        }
        let _forgotten = forget(self.maps.active).is_ok();
    }
}

/// The generation of services and patterns, of which the lowest bit selects the patterns. Each
/// change ends with another one.
///
/// # Errors
/// A map's own.
pub fn generation<M: Map>(active: &M) -> Result<u32, M::Error> {
    let value = active.lookup(&ONLY)?.unwrap_or_default();
    Ok(value.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes)))
}

/// Begins a generation with the same patterns: the program forgets which services it found.
pub(super) fn forget<M: Map>(active: &M) -> Result<(), M::Error> {
    let next = generation(active)?.wrapping_add(2);
    active.update(&ONLY, &next.to_le_bytes(), Expect::Any)
}

/// The backend of each slot, by number.
fn chosen<E: std::error::Error>(
    config: &Config,
    service: &Service,
    numbers: &[u16],
) -> Result<Vec<u16>, Error<E>> {
    match table(config, service) {
        Ok(table) => Ok(table.slots().iter().map(|index| numbers[usize::from(*index)]).collect()),
        Err(choice::Error::NoneAvailable) => Ok(vec![NONE; SLOTS]),
        Err(error) => Err(Error::Choice { service: service.name.clone(), error }),
    }
}

/// The table of a service: which backend of its list each slot has.
///
/// # Errors
/// No backend gets new connections, or there are too many.
pub fn table(config: &Config, service: &Service) -> Result<Table, choice::Error> {
    let member = |backend: &super::Backend| choice::Backend {
        id: choice::id(&mapped(backend.address)),
        weight: if backend.state == State::Up { backend.weight } else { 0 },
    };
    let members: Vec<_> = service.backends.iter().map(member).collect();
    let key = config.key.as_deref().unwrap_or_default();
    Table::new(choice::id(format!("{key}\0{}", service.name).as_bytes()), &members)
}

pub(super) fn write_table<M: Map>(map: &M, table: u32, slots: &[u16]) -> Result<(), M::Error> {
    let lines = slots.chunks_exact(LINE).map(|slots| {
        let mut line = abi::Line::default();
        line.slots.copy_from_slice(slots);
        line.to_bytes().to_vec()
    });
    map.update_array(table * LINES, &lines.collect::<Vec<_>>())
}

/// Writes one line, whose slots come first.
pub(super) fn write_line<M: Map>(
    map: &M,
    table: u32,
    line: usize,
    slots: &[u16],
) -> Result<(), M::Error> {
    let index = table * LINES + line as u32;
    let line = abi::Line { slots: std::array::from_fn(|i| slots[i]) };
    map.update(&index.to_le_bytes(), &line.to_bytes(), Expect::Any)
}

pub(super) fn key_of(number: u16) -> [u8; 4] {
    u32::from(number).to_le_bytes()
}

/// `BALANCER_NONE`.
pub const NONE: u16 = u16::MAX;
/// `BALANCER_QUIC_SHIFT`.
pub(super) const QUIC_SHIFT: u32 = 16;
/// `BALANCER_GONE`.
const GONE: u8 = 4;
/// The key of maps with one entry.
const ONLY: [u8; 4] = [0; 4];
/// Slots of a line.
pub(super) const LINE: usize = abi::Line::SIZE / 2;
/// `BALANCER_LINES`.
const LINES: u32 = (SLOTS / LINE) as u32;
/// An entry that is not in use.
pub(super) const EMPTY: abi::Backend = abi::Backend {
    address: [0; 16],
    source: [0; 16],
    spread: [0; 4],
    sum: 0,
    vni: [0; 4],
    port: [0; 2],
    overhead: 0,
    delivery: 0,
    is_ipv6: 0,
    flags: 0,
    option: 0,
    zero: 0,
    service: 0,
    weight: 0,
    reserved: 0,
};
