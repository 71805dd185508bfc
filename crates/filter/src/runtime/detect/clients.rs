//! `Clients`: estimates how many packets likely belong to clients, not to a flood.
//!
//! The estimate uses incoming packets only:
//!
//! - A source is *active* if its connections progress: sequence and acknowledgment numbers of one
//!   connection advance by small amounts. A sender that forges addresses receives no answers and
//!   does not know these numbers. Other packets of an active source count up to the same number.
//! - Connections that are too short to be sampled twice are estimated by their requests: packets of
//!   open connections count up to the usual number per request, and requests count if twice their
//!   number of packets of open connections follow.
//! - The rate in the quietest tenth of the time would exist without the flood; it counts if it is
//!   less than half of the mean.
//!
//! Rule: a good imitation of a client counts as a client, so the estimate errs towards not
//! proposing a rule. Clients of UDP services without other traffic cannot be recognized if the
//! flood lasts from the beginning.

use std::collections::HashMap;

use super::{Address, Packet};

/// Statistics of all sources.
#[derive(Debug)]
pub(super) struct Clients {
    /// Packets of active sources.
    active: HashMap<Address, f64>,
    first_ns: u64,
    last_ns: u64,
}

/// Shares of a set of packets, from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Evidence {
    /// Packets of active sources, or of connections whose beginning was sampled.
    pub clients: f64,
    /// The rate in the quietest tenth of the time; `None` if there was no quiet time.
    pub quiet: Option<f64>,
    /// The number of sources.
    pub sources: usize,
    /// The number of active sources.
    pub active: usize,
}

/// Addresses and ports of a connection.
type Flow = (Address, Address, (u16, u16));

/// The progress of the sequence numbers of a connection.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    last: (u32, u32),
    packets: f64,
    likely: u32,
    unlikely: u32,
}

impl Clients {
    /// Statistics of all sampled packets, with their weights.
    pub fn of(packets: &[(Packet, f64)]) -> Self {
        let times = packets.iter().map(|(packet, _)| packet.time_ns);
        let mut inside: Vec<_> = packets.iter().filter(|(packet, _)| packet.is_inside()).collect();
        inside.sort_by_key(|(packet, _)| packet.time_ns);
        let mut courses: HashMap<Flow, Progress> = HashMap::new();
        for (packet, weight) in inside {
            let (Some(flow), Some(numbers)) = (flow(packet), packet.numbers) else { continue };
            courses.entry(flow).or_default().follow(numbers, *weight);
        }
        let mut active = HashMap::new();
        for ((source, ..), course) in courses.iter().filter(|(_, course)| course.is_likely()) {
            *active.entry(*source).or_default() += course.packets;
        }
        Self {
            active,
            first_ns: times.clone().min().unwrap_or_default(),
            last_ns: times.max().unwrap_or_default(),
        }
    }

    /// Evidence about the packets for which `holds` is true; `of_connections` is true for the
    /// packets of the same connections.
    pub fn among<'p>(
        &self,
        packets: impl Iterator<Item = &'p (Packet, f64)>,
        holds: impl Fn(&Packet) -> bool,
        of_connections: impl Fn(&Packet) -> bool,
    ) -> Evidence {
        let mut all = 0.0;
        let mut tally = Tally::default();
        let mut slices = [0.0; SLICES];
        let mut others: HashMap<Address, f64> = HashMap::new();
        let mut sources: HashMap<Address, bool> = HashMap::new();
        for (packet, weight) in packets {
            let is_active = packet.source.is_some_and(|source| self.active.contains_key(&source));
            if of_connections(packet) {
                tally.whole[usize::from(is_active)].add(packet, *weight);
            }
            if !holds(packet) {
                continue;
            }
            all += weight;
            slices[self.slice(packet.time_ns)] += weight;
            sources.extend(packet.source.map(|source| (source, is_active)));
            match packet.source {
                Some(source) if is_active && !packet.is_inside() && !packet.is_request() => {
                    *others.entry(source).or_default() += weight;
                }
                _ => tally.held[usize::from(is_active)].add(packet, *weight),
            }
        }
        if all == 0.0 {
            return Evidence::default();
        }
        let limited = |(source, count): (&Address, &f64)| {
            count.min(self.active.get(source).copied().unwrap_or_default())
        };
        let clients = tally.clients() + others.iter().map(limited).sum::<f64>();
        let quietest = slices.iter().copied().fold(f64::INFINITY, f64::min) * SLICES as f64 / all;
        Evidence {
            clients: (clients / all).min(1.0),
            quiet: (quietest < 0.5).then_some(quietest),
            sources: sources.len(),
            active: sources.values().filter(|is_active| **is_active).count(),
        }
    }

    fn slice(&self, time_ns: u64) -> usize {
        let all = (self.last_ns - self.first_ns + 1) as f64;
        let at = time_ns.saturating_sub(self.first_ns) as f64 / all;
        ((at * SLICES as f64) as usize).min(SLICES - 1)
    }
}

impl Evidence {
    /// The share that likely does not belong to a flood.
    pub fn part(&self) -> f64 {
        self.clients.max(self.quiet.unwrap_or_default())
    }
}

impl Progress {
    fn follow(&mut self, numbers: (u32, u32), weight: f64) {
        if self.packets > 0.0 && numbers != self.last {
            let near = |new: u32, old: u32| new.wrapping_sub(old).cast_signed().abs() < NEAR;
            if near(numbers.0, self.last.0) && near(numbers.1, self.last.1) {
                self.likely += 1;
            } else {
                self.unlikely += 1;
            }
        }
        self.packets += weight;
        self.last = numbers;
    }

    fn is_likely(&self) -> bool {
        self.likely > self.unlikely
    }
}

/// TCP packets of inactive and of active sources.
#[derive(Debug, Default)]
struct Tally {
    /// All packets of the connections.
    whole: [Segments; 2],
    /// The packets in question.
    held: [Segments; 2],
}

#[derive(Clone, Copy, Debug, Default)]
struct Segments {
    requests: f64,
    /// Packets that seem to belong to open connections.
    inside: f64,
}

impl Tally {
    fn clients(&self) -> f64 {
        let [silent, active] = self.whole;
        let silent = Segments { inside: silent.inside.min(silent.requests * SHORT), ..silent };
        let parts = [silent, active].map(|likely| Segments {
            requests: likely.requests.min(likely.inside / FOLLOWING),
            inside: likely.inside,
        });
        let part =
            |all: f64, held: f64, of: f64| if of > 0.0 { all * (held / of).min(1.0) } else { 0.0 };
        let all = parts.iter().zip(&self.held).zip(&self.whole);
        all.map(|((likely, held), whole)| {
            part(likely.requests, held.requests, whole.requests)
                + part(likely.inside, held.inside, whole.inside)
        })
        .sum()
    }
}

impl Segments {
    fn add(&mut self, packet: &Packet, weight: f64) {
        if packet.is_request() {
            self.requests += weight;
        } else if packet.is_inside() {
            self.inside += weight;
        }
    }
}

fn flow(packet: &Packet) -> Option<Flow> {
    Some((packet.source?, packet.dest?, packet.ports?))
}

/// Slices of the time.
const SLICES: usize = 10;
/// The most that sequence numbers advance between two sampled packets: 64 MiB. Two random pairs are
/// that close with a probability of 1/1000.
const NEAR: i32 = 1 << 26;
/// Packets of a connection that is too short to be sampled twice.
const SHORT: f64 = 20.0;
/// The least packets that follow the request of a client: the end of the handshake, and data.
const FOLLOWING: f64 = 2.0;
