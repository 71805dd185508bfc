//! The entry of a translated flow, found as the program does: by the flow, or by the address and
//! port that packets of its backend are sent to. `bpf/balancer/nat_table.h` describes the table.
//!
//! Rule: this only reads. `tests/tests/balance/nat_why.rs` compares it with the program.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use spec::{Map, Spec};

use super::config::Protocol;
use super::flow::{Flow, MIX, words};
use super::nat::{BACKEND_SHIFT, GROUPS, KIND_SHIFT, TIME_SHIFT, WAYS, age};
use super::service::{mapped, number};

/// The table of translated flows.
#[derive(Debug)]
pub struct NatMaps<'a, M> {
    pub groups: &'a M,
    pub entries: &'a M,
}

impl<M> Clone for NatMaps<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for NatMaps<'_, M> {}

/// The entry of a flow whose addresses are translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Translation {
    pub protocol: Protocol,
    /// For echo with its identifier as the port.
    pub client: SocketAddr,
    pub service: SocketAddr,
    /// Address and port of the balancer that packets to the backend come from.
    pub source: SocketAddr,
    pub backend: SocketAddr,
    /// Number of the backend.
    pub number: u16,
    pub state: TranslationState,
    /// Since the last packet, in whole seconds; the table has units of 1.07 s.
    pub age_s: u64,
}

/// How far a translated flow got, which decides how long it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TranslationState {
    /// There was no answer yet.
    Unanswered,
    /// The client did not confirm the answer yet.
    Unconfirmed,
    /// A TCP connection, or datagrams in both directions.
    Established,
    /// The client's side reset the connection.
    Reset,
    /// Both sides ended the connection, or the backend reset it.
    Closed,
}

impl TranslationState {
    /// As in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unanswered => "unanswered",
            Self::Unconfirmed => "unconfirmed",
            Self::Established => "established",
            Self::Reset => "reset",
            Self::Closed => "closed",
        }
    }

    /// By the number of the kind, as `enum nat_kind`.
    const fn of(kind: u64) -> Option<Self> {
        Some(match kind {
            2 => Self::Unanswered,
            3 => Self::Unconfirmed,
            4 | 5 => Self::Established,
            6 => Self::Reset,
            7 => Self::Closed,
            _ => return None,
        })
    }
}

/// How a program was loaded to translate: `nat_pools` and `nat_life`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pools {
    /// IPv4, IPv6.
    pools: [Pool; 2],
    /// By kind, in units of the table.
    life: [u32; 8],
}

#[derive(Clone, Copy, Debug, Default)]
struct Pool {
    /// The first address.
    address: [u8; 16],
    count: u32,
    /// Number of the first group.
    group: u32,
}

impl Pools {
    /// `None` if the object does not translate.
    pub fn of(spec: &Spec) -> Option<Self> {
        let (pools, life) =
            (spec.global_value("nat_pools").ok()?, spec.global_value("nat_life").ok()?);
        let word = |bytes: &[u8], at: usize| {
            bytes
                .get(at..)
                .and_then(|rest| rest.first_chunk())
                .map(|word| u32::from_le_bytes(*word))
        };
        let pool = |n: usize| {
            let bytes = pools.get(POOL * n..)?;
            let address = *bytes.first_chunk()?;
            Some(Pool { address, count: word(bytes, 20)?, group: word(bytes, 24)? })
        };
        let life = std::array::from_fn(|kind| word(life, 4 * kind).unwrap_or_default());
        Some(Self { pools: [pool(0)?, pool(1)?], life })
    }

    const fn pool(&self, address: IpAddr) -> &Pool {
        &self.pools[address.is_ipv6() as usize]
    }

    /// The number of an address of the balancer; `None` for any other.
    fn number(&self, address: IpAddr) -> Option<u32> {
        let (pool, bytes) = (self.pool(address), mapped(address));
        let number = last_word(&bytes).wrapping_sub(last_word(&pool.address));
        (bytes[..12] == pool.address[..12] && number < pool.count).then_some(number)
    }

    /// Whether packets to an address are answers of backends.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.number(address).is_some()
    }

    /// Numbers of the two groups that may have a flow, with its tag; `None` if its family has no
    /// address.
    pub fn groups(&self, flow: &Flow, seed: &[u64; 6]) -> Option<([u32; 2], u32)> {
        let pool = self.pool(flow.service.ip());
        let hash = hash(flow, seed);
        let groups = u64::from(pool.count * GROUPS);
        let group = |bits: u64| pool.group + (((bits >> 32) * groups) >> 32) as u32;
        let both = [group(hash), group(hash.wrapping_mul(SECOND))];
        (groups != 0).then_some((both, hash as u32 & TAG))
    }

    /// The entry of a flow from a client to a service.
    pub fn of_service<M: Map>(
        &self,
        maps: NatMaps<'_, M>,
        (flow, seed): (&Flow, &[u64; 6]),
        now: u64,
    ) -> Result<Option<Translation>, M::Error> {
        let Some((groups, tag)) = self.groups(flow, seed) else { return Ok(None) };
        for group in groups {
            for index in group * WAYS..(group + 1) * WAYS {
                let Some((cell, found)) = self.read(maps, index, now)? else { continue };
                let ends = (found.protocol, found.client, found.service);
                if (cell >> TAG_SHIFT) as u32 == tag
                    && ends == (flow.protocol, flow.client, flow.service)
                {
                    return Ok(Some(found));
                }
            }
        }
        Ok(None)
    }

    /// The entry of a flow from a backend to an address of the balancer. Echo has its identifier
    /// where a flow has the port of its source.
    pub fn of_backend<M: Map>(
        &self,
        maps: NatMaps<'_, M>,
        flow: &Flow,
        now: u64,
    ) -> Result<Option<Translation>, M::Error> {
        let is_echo = flow.protocol == Protocol::Icmp;
        let port = if is_echo { flow.client.port() } else { flow.service.port() };
        let (Some(number), Some(port)) =
            (self.number(flow.service.ip()), port.checked_sub(FIRST_PORT))
        else {
            return Ok(None);
        };
        let group = self.pool(flow.service.ip()).group;
        let index = (group + number * GROUPS) * WAYS + u32::from(port);
        let backend =
            SocketAddr::new(flow.client.ip(), if is_echo { 0 } else { flow.client.port() });
        let found = self.read(maps, index, now)?.map(|(_, found)| found);
        Ok(found.filter(|one| (one.protocol, one.backend) == (flow.protocol, backend)))
    }

    /// The cell of an index, and the flow that it has; `None` if it has none that is valid. A flow
    /// that is replaced while it is read is not found.
    fn read<M: Map>(
        &self,
        maps: NatMaps<'_, M>,
        index: u32,
        now: u64,
    ) -> Result<Option<(u64, Translation)>, M::Error> {
        let cell = || -> Result<u64, M::Error> {
            let group = maps.groups.lookup(&(index / WAYS).to_le_bytes())?.unwrap_or_default();
            let bytes =
                group.get(8 * (index % WAYS) as usize..).and_then(|rest| rest.first_chunk());
            Ok(bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes)))
        };
        let before = cell()?;
        let kind = before >> KIND_SHIFT & 7;
        let Some(state) = TranslationState::of(kind) else { return Ok(None) };
        let entry = maps.entries.lookup(&index.to_le_bytes())?.unwrap_or_default();
        let age = age(before, now);
        let is_other = (cell()? ^ before) & FLOW != 0;
        if is_other || age > u64::from(self.life[kind as usize]) {
            return Ok(None);
        }
        let found = self.translation(index, &entry).map(|found| Translation {
            number: (before >> BACKEND_SHIFT) as u16,
            state,
            age_s: (age << TIME_SHIFT) / 1_000_000_000,
            ..found
        });
        Ok(found.map(|found| (before, found)))
    }

    /// What an entry has of a flow, and the address and port that its index is.
    fn translation(&self, index: u32, entry: &[u8]) -> Option<Translation> {
        let address = |at: usize| {
            let bytes: [u8; 16] = *entry.get(at..)?.first_chunk()?;
            Some(Ipv6Addr::from(bytes).to_canonical())
        };
        let port = |at: usize| entry.get(at..)?.first_chunk().map(|port| u16::from_be_bytes(*port));
        let end = |address_at, port_at| Some(SocketAddr::new(address(address_at)?, port(port_at)?));
        let client = end(0, 48)?;
        let pool = self.pool(client.ip());
        let place = index.checked_sub(pool.group * WAYS)?;
        let mut own = pool.address;
        let last = last_word(&own).wrapping_add(place / PORTS);
        own[12..].copy_from_slice(&last.to_be_bytes());
        let own = Ipv6Addr::from(own).to_canonical();
        let protocols = [Protocol::Tcp, Protocol::Udp, Protocol::Icmp];
        Some(Translation {
            protocol: protocols.into_iter().find(|one| number(*one).0 == entry[54])?,
            client,
            service: end(16, 50)?,
            source: SocketAddr::new(own, FIRST_PORT + (place % PORTS) as u16),
            backend: end(32, 52)?,
            number: 0,
            state: TranslationState::Unanswered,
            age_s: 0,
        })
    }
}

/// `nat_hash()`.
fn hash(flow: &Flow, seed: &[u64; 6]) -> u64 {
    let (source, dest) = (words(mapped(flow.client.ip())), words(mapped(flow.service.ip())));
    let product = |[one, other]: [u64; 2], n: usize| {
        one.wrapping_add(seed[n]).wrapping_mul(other.wrapping_add(seed[n + 1]))
    };
    let port = |end: SocketAddr| u64::from(u16::from_le_bytes(end.port().to_be_bytes()));
    let ports =
        port(flow.client) | port(flow.service) << 16 | u64::from(number(flow.protocol).0) << 32;
    let sum = product(source, 1).wrapping_add(product(dest, 3));
    let sum = sum.wrapping_add(ports.wrapping_add(seed[5]).wrapping_mul(seed[0]));
    let mixed = (sum ^ sum >> 32).wrapping_mul(MIX);
    mixed ^ mixed >> 32
}

fn last_word(address: &[u8; 16]) -> u32 {
    u32::from_be_bytes(std::array::from_fn(|n| address[12 + n]))
}

/// Bytes of `struct nat_pool`.
const POOL: usize = 28;
/// `NAT_FIRST_PORT` and `NAT_PORTS`.
const FIRST_PORT: u16 = 1024;
const PORTS: u32 = GROUPS * WAYS;
/// The factor that the second group is chosen by.
const SECOND: u64 = 0x9e37_79b9_7f4a_7c15;
/// `NAT_TAG_SHIFT`, and the bits of a tag.
const TAG_SHIFT: u32 = 40;
const TAG: u32 = 0xff_ffff;
/// `NAT_FLOW_BITS`.
const FLOW: u64 = !0 << BACKEND_SHIFT | 0xf << 16;
