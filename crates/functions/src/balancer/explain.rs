//! Why a flow has its backend: what the program does with its packets, from the same maps.
//!
//! Rule: this only reads. `tests/tests/balance/why.rs` compares it with the program.

use serde::Serialize;
use spec::{Map, Spec};

use super::abi::{Kind, Service as Entry};
use super::config::{Config, Protocol, Service};
use super::flow::Flow;
use super::live::{self, Live, Maps};
use super::memory::{self, lifetimes};
use super::service::{self, KEEPS_DATAGRAMS, NO_TABLE, TRANSLATES};
use super::translation::{NatMaps, Pools, Translation, TranslationState};

/// What decided which backend a flow has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DecidedBy {
    /// The backend of its slot.
    Slot,
    /// The former backend of its slot, because the flow is older than the change.
    Former,
    /// The memory of flows, because it began after the change.
    Flow,
    /// The QUIC connection ID.
    Id,
    /// The entry of the flow, whose addresses are translated.
    Translation,
}

impl DecidedBy {
    /// As in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Slot => "slot",
            Self::Former => "former",
            Self::Flow => "flow",
            Self::Id => "id",
            Self::Translation => "translation",
        }
    }
}

/// A packet of a flow.
#[derive(Clone, Copy, Debug)]
pub struct Query<'q> {
    pub flow: &'q Flow,
    /// Its QUIC destination connection ID; empty if it has none.
    pub quic_id: &'q [u8],
}

/// What a balancer does with a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explanation<'c> {
    /// `None` if no service has the destination any more, and only answers of the flow are still
    /// translated.
    pub service: Option<&'c Service>,
    pub slot: Option<u16>,
    /// Number of its backend; `None` if the service has none.
    pub backend: Option<u16>,
    pub by: DecidedBy,
    /// Number of the backend of a connection that begins now.
    pub new: Option<u16>,
    /// The entry of a flow whose addresses are translated.
    pub translation: Option<Translation>,
}

/// What the program was loaded with.
#[derive(Clone, Copy, Debug)]
pub struct Constants {
    seed: [u64; 6],
    /// By kind, in the units of their ages.
    lifetimes: [u32; 4],
    /// How it translates, if it does.
    pools: Option<Pools>,
}

impl Constants {
    /// # Errors
    /// The object is not that of `balancer`.
    pub fn of(spec: &Spec) -> Result<Self, spec::Error> {
        let seed = spec.global_value("balancer_seed")?;
        let word = |n: usize| seed.get(8 * n..).and_then(|rest| rest.first_chunk());
        let seed = std::array::from_fn(|n| word(n).map_or(0, |bytes| u64::from_le_bytes(*bytes)));
        let lifetimes = lifetimes(spec.global_value("balancer_life")?);
        Ok(Self { seed, lifetimes, pools: Pools::of(spec) })
    }

    /// Numbers of the two groups of the table of translated flows that may have a flow; `None` if
    /// the program does not translate its family.
    #[must_use]
    pub fn nat_groups(&self, flow: &Flow) -> Option<[u32; 2]> {
        self.pools.as_ref()?.groups(flow, &self.seed).map(|(groups, _)| groups)
    }
}

/// What a balancer has in its maps; with the table of translated flows if it translates.
pub type Reading<'r, 'm, M> = (&'r Maps<'m, M>, &'r Live, Option<NatMaps<'m, M>>);

/// Explains a flow to a service, or from a backend to an address of the balancer; `None` if it is
/// neither. `now` is the monotonic clock in nanoseconds.
///
/// # Errors
/// A map's own.
pub fn explain<'c, M: Map>(
    config: &'c Config,
    constants: &Constants,
    (maps, live, translated): Reading<'_, '_, M>,
    query: Query<'_>,
    now: u64,
) -> Result<Option<Explanation<'c>>, M::Error> {
    let Query { flow, quic_id } = query;
    let pools = constants.pools.as_ref().zip(translated);
    if let Some((pools, table)) = pools.filter(|(pools, _)| pools.contains(flow.service.ip())) {
        let Some(found) = pools.of_backend(table, flow, now)? else { return Ok(None) };
        let Translation { protocol, client, service, .. } = found;
        let query = Query { flow: &Flow { protocol, client, service }, quic_id };
        let explained = explain(config, constants, (maps, live, translated), query, now)?;
        return Ok(Some(answered(explained, found)));
    }
    let service = service::of_flow(config, flow.protocol, flow.service);
    let entry = service.and_then(|one| live.service(service::id(&one.name)));
    let (Some(service), Some(entry)) = (service, entry) else { return Ok(None) };
    let hash = flow.hash(entry, &constants.seed);
    let slot = (hash >> 48) as u16;
    let current = live::slot(maps.tables, entry.table, slot)?;
    let former = match entry.former {
        NO_TABLE => None,
        table => live::slot(maps.tables, table, slot)?,
    };
    let explained = |backend, by| {
        let (service, slot) = (Some(service), Some(slot));
        Some(Explanation { service, slot, backend, by, new: current, translation: None })
    };
    if entry.flags & TRANSLATES != 0 {
        let found = match pools {
            Some((pools, table)) => pools.of_service(table, (flow, &constants.seed), now)?,
            None => None,
        };
        return Ok(explained(current, DecidedBy::Slot).map(|one| translated_to(one, found, live)));
    }
    if flow.protocol == Protocol::Udp
        && let Some(named) = live::by_id(maps, entry, quic_id)?
        && !live.is_dead(named)
    {
        return Ok(explained(Some(named), DecidedBy::Id));
    }
    let Some(former) = former else { return Ok(explained(current, DecidedBy::Slot)) };
    let kind = match flow.protocol {
        Protocol::Tcp => Kind::Flow,
        Protocol::Udp | Protocol::Icmp => Kind::Datagrams,
    };
    let mut cells = memory::of_hash(maps.flows, hash, now)?.into_iter();
    let known = cells.find(|cell| {
        let is_kind = cell.kind == kind || (kind, cell.kind) == (Kind::Flow, Kind::Young);
        let lifetime = constants.lifetimes[cell.kind as usize];
        is_kind && u32::from(cell.age) <= lifetime && cell.tag == (hash >> 32) as u32
    });
    let (backend, by) = match known {
        Some(cell) => (cell.backend, DecidedBy::Flow),
        None if kind == Kind::Flow || keeps(entry) => (former, DecidedBy::Former),
        None => return Ok(explained(current, DecidedBy::Slot)),
    };
    if live.is_dead(backend) {
        return Ok(explained(current, DecidedBy::Slot));
    }
    Ok(explained(Some(backend), by))
}

/// The explanation of a flow to a service that translates, with its entry. Neither former backends
/// nor the memory of flows concern it.
fn translated_to<'c>(
    explained: Explanation<'c>,
    found: Option<Translation>,
    live: &Live,
) -> Explanation<'c> {
    let explained = Explanation { translation: found, ..explained };
    let in_use = |one: &Translation| {
        !live.is_dead(one.number) && live.address(one.number) == Some(one.backend.ip())
    };
    let Some(found) = found.filter(in_use) else { return explained };
    let (backend, by) = (Some(found.number), DecidedBy::Translation);
    let is_closed = found.state == TranslationState::Closed;
    let new = if is_closed { explained.new } else { backend };
    Explanation { backend, by, new, ..explained }
}

/// The explanation of a flow from a backend, whatever new packets of its client do.
fn answered(forth: Option<Explanation<'_>>, found: Translation) -> Explanation<'_> {
    let (backend, translation) = (Some(found.number), Some(found));
    let (service, slot, new) = match forth {
        Some(forth) => (forth.service, forth.slot, forth.new),
        None => (None, None, None),
    };
    Explanation { service, slot, backend, by: DecidedBy::Translation, new, translation }
}

/// Whether unknown datagrams belong to former backends.
const fn keeps(entry: &Entry) -> bool {
    entry.flags & KEEPS_DATAGRAMS != 0
}
