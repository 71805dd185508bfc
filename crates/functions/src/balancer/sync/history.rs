//! Former backends of slots, as peers exchange them.
//!
//! For a peer, the older connections of a slot belong to its former backend, or else to its
//! current one. A balancer that takes over keeps that as its own former backend, wherever its
//! table has another one. So it is as if it had run all the time.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv6Addr};

use spec::{Expect, Map};

use super::super::choice::{self, SLOTS};
use super::super::config::{Backend, Config, State};
use super::super::live::{self, LINE, Live, Maps, NONE, key_of, write_line, write_table};
use super::super::service::{self, NO_TABLE};
use super::super::tunnel;
use super::wire::Name;

/// A service's tables, as numbers of backends.
#[derive(Clone, Debug)]
pub struct Tables {
    pub service: u32,
    pub current: Vec<u16>,
    /// [`NONE`] where a slot did not move; empty without a table.
    pub former: Vec<u16>,
}

impl Tables {
    /// All tables, by the identifier of the service.
    ///
    /// # Errors
    /// A map's own.
    pub fn all<M: Map>(maps: &Maps<'_, M>, live: &Live) -> Result<BTreeMap<u32, Self>, M::Error> {
        let mut all = BTreeMap::new();
        for id in live.service_ids() {
            all.extend(Self::read(maps, live, id)?.map(|tables| (id, tables)));
        }
        Ok(all)
    }

    /// Reads those of a service of the maps; `None` if there is none of this identifier.
    ///
    /// # Errors
    /// A map's own.
    pub fn read<M: Map>(
        maps: &Maps<'_, M>,
        live: &Live,
        service: u32,
    ) -> Result<Option<Self>, M::Error> {
        let Some(entry) = live.service(service) else { return Ok(None) };
        let current = live::slots(maps.tables, entry.table)?;
        let former = match entry.former {
            NO_TABLE => Vec::new(),
            table => live::slots(maps.tables, table)?,
        };
        Ok(Some(Self { service, current, former }))
    }

    /// By which balancers recognize the same table, whatever numbers its backends have.
    #[must_use]
    pub fn digest(&self, live: &Live) -> u64 {
        let address = |number: &u16| live.backends.get(number).map_or([0; 16], |one| one.address);
        choice::id(&self.current.iter().flat_map(address).collect::<Vec<_>>())
    }

    /// The backend of a slot's older connections, unless it is the current one of a table that the
    /// peer has, too.
    #[must_use]
    pub fn oldest(&self, slot: u16, is_shared: bool) -> Option<u16> {
        let slot = usize::from(slot);
        let former = self.former.get(slot).copied().filter(|number| *number != NONE);
        former.or_else(|| (!is_shared).then_some(self.current[slot]).filter(|one| *one != NONE))
    }
}

impl Tables {
    /// Sets the former backend of slots that have none, and of which the current one is another.
    fn change<M: Map>(
        &mut self,
        maps: &Maps<'_, M>,
        live: &mut Live,
        slots: &[(u16, u16)],
        choose: impl Fn(u16, u16) -> u16,
    ) -> Result<usize, M::Error> {
        let differs = |(slot, number): &&(u16, u16)| {
            let current = self.current[usize::from(*slot)];
            let former = self.former.get(usize::from(*slot)).copied().unwrap_or(NONE);
            former == NONE && current != NONE && current != *number
        };
        let slots: Vec<_> = slots.iter().filter(differs).collect();
        if slots.is_empty() {
            return Ok(0);
        }
        let mut former = self.former.clone();
        former.resize(SLOTS, NONE);
        let mut lines = BTreeSet::new();
        for (slot, number) in &slots {
            let slot = usize::from(*slot);
            former[slot] = choose(self.current[slot], *number);
            lines.insert(slot / LINE);
        }
        if !write_former(maps, live, self.service, &former, &lines)? {
            return Ok(0);
        }
        self.former = former;
        Ok(slots.len())
    }
}

impl Live {
    /// How messages name a backend.
    #[must_use]
    pub fn name(&self, number: u16) -> Option<Name> {
        let found = self.backends.get(&number)?;
        Some(Name { service: found.service, address: found.address })
    }

    /// The number of a backend here, if it is neither unknown nor down.
    #[must_use]
    pub fn numbered(&self, name: &Name) -> Option<u16> {
        let number = self.number(name.service, name.address)?;
        (self.backends[&number].flags & DEAD == 0).then_some(number)
    }

    /// Whether a backend is known here in any state.
    #[must_use]
    pub fn lists(&self, name: &Name) -> bool {
        self.number(name.service, name.address).is_some()
    }

    /// Identifiers of the services.
    #[must_use]
    pub fn service_ids(&self) -> Vec<u32> {
        let all: BTreeSet<_> = self.services.values().map(|one| one.id).collect();
        all.into_iter().collect()
    }
}

/// A backend that only a peer knows, as one that drains here. `None` if the service is unknown, or
/// there is no space.
///
/// # Errors
/// A map's own.
pub fn adopt<M: Map>(
    maps: &Maps<'_, M>,
    live: &mut Live,
    config: &Config,
    name: &Name,
) -> Result<Option<u16>, M::Error> {
    let is_own = |one: &&super::super::Service| service::id(&one.name) == name.service;
    let Some(service) = config.services.iter().find(is_own) else { return Ok(None) };
    let address: IpAddr = Ipv6Addr::from(name.address).to_canonical();
    let capacity = maps.backends.keys()?.len().min(usize::from(NONE)) as u16;
    let Some(number) = (0..capacity).find(|number| !live.backends.contains_key(number)) else {
        return Ok(None);
    };
    let backend = Backend { weight: 0, state: State::Drain, ..Backend::new(address) };
    let entry = tunnel::entry(config, service, &backend);
    maps.backends.update(&key_of(number), &entry.to_bytes(), Expect::Any)?;
    live.backends.insert(number, entry);
    Ok(Some(number))
}

/// Gives slots former backends, where they have none and their current one is another. The service
/// gets a table of former backends if it has none and there is space. Returns the number of slots.
///
/// # Errors
/// A map's own.
pub fn add<M: Map>(
    maps: &Maps<'_, M>,
    live: &mut Live,
    tables: &mut Tables,
    slots: &[(u16, u16)],
) -> Result<usize, M::Error> {
    tables.change(maps, live, slots, |_, oldest| oldest)
}

/// Has the program look for remembered flows of slots that have another backend than theirs: the
/// former backend is the current one, where there is none. So a flow that a peer sends to another
/// backend, because it changed its services first, is found, and all others remain where they are.
///
/// # Errors
/// A map's own.
pub fn watch<M: Map>(
    maps: &Maps<'_, M>,
    live: &mut Live,
    tables: &mut Tables,
    flows: &[(u16, u16)],
) -> Result<usize, M::Error> {
    tables.change(maps, live, flows, |current, _| current)
}

/// Writes these lines of the former backends of a service, or all of them into a free table, if it
/// has none. Without space, all remains as it is, and the result is `false`.
fn write_former<M: Map>(
    maps: &Maps<'_, M>,
    live: &mut Live,
    service: u32,
    former: &[u16],
    lines: &BTreeSet<usize>,
) -> Result<bool, M::Error> {
    let Some(entry) = live.service(service).copied() else { return Ok(false) };
    if entry.former != NO_TABLE {
        for line in lines {
            write_line(maps.tables, entry.former, *line, &former[line * LINE..])?;
        }
        return Ok(true);
    }
    let Some(table) = live.free_tables(maps)?.pop() else { return Ok(false) };
    write_table(maps.tables, table, former)?;
    for (key, entry) in live.services.iter_mut().filter(|(_, one)| one.id == service) {
        entry.former = table;
        maps.services.update(&key.to_bytes(), &entry.to_bytes(), Expect::Present)?;
    }
    live::forget(maps.active)?;
    Ok(true)
}

/// `BALANCER_DEAD`.
const DEAD: u8 = 1;
