//! `Clients`: how many of some packets are likely not part of a flood.
//!
//! What can be seen on the way in alone:
//!
//! - A source *talks* when connections of it go on: sequence and acknowledged numbers of packets of
//!   one connection move on a little and mostly forwards. Who invents addresses is not answered and
//!   has no such numbers. Other packets of a source that talks count, too, as many as it talks.
//! - A connection too short to be seen twice has begun in front of us: of packets that belong to
//!   open connections, so many are a client's as are usual for the requests seen. Requests are
//!   clients', as far as they are followed by twice as many packets of open connections.
//! - What came in the quietest tenth of the time would come without the flood; that counts if it is
//!   less than half of the mean, so that there was a quiet time.
//!
//! Rule: whoever imitates clients well is taken for one: the estimate errs towards leaving alone.
//! What cannot be seen: clients of UDP services that speak nothing else, when the flood was there
//! from the beginning.

use std::collections::HashMap;

use super::{Address, Packet};

/// What is known of all sources.
#[derive(Debug)]
pub(super) struct Clients {
    /// Of sources that talk: how many packets.
    talking: HashMap<Address, f64>,
    first_ns: u64,
    last_ns: u64,
}

/// Parts of the packets that were asked about, from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Evidence {
    /// From sources that talk, or of connections that were seen to begin.
    pub clients: f64,
    /// What came in the quietest tenth of the time; `None`: there was no quiet time.
    pub quiet: Option<f64>,
    /// Sources that were seen, of these those that talk.
    pub sources: usize,
    pub talking: usize,
}

/// Ends of a connection.
type Flow = (Address, Address, (u16, u16));

/// How the numbers of a connection's packets follow each other.
#[derive(Clone, Copy, Debug, Default)]
struct Course {
    last: (u32, u32),
    packets: f64,
    likely: u32,
    unlikely: u32,
}

impl Clients {
    /// All packets that were seen, whatever became of them.
    pub fn of(packets: &[(Packet, f64)]) -> Self {
        let times = packets.iter().map(|(packet, _)| packet.time_ns);
        let mut inside: Vec<_> = packets.iter().filter(|(packet, _)| packet.is_inside()).collect();
        inside.sort_by_key(|(packet, _)| packet.time_ns);
        let mut courses: HashMap<Flow, Course> = HashMap::new();
        for (packet, weight) in inside {
            let (Some(flow), Some(numbers)) = (flow(packet), packet.numbers) else { continue };
            courses.entry(flow).or_default().follow(numbers, *weight);
        }
        let mut talking = HashMap::new();
        for ((source, ..), course) in courses.iter().filter(|(_, course)| course.is_likely()) {
            *talking.entry(*source).or_default() += course.packets;
        }
        Self {
            talking,
            first_ns: times.clone().min().unwrap_or_default(),
            last_ns: times.max().unwrap_or_default(),
        }
    }

    /// About the packets that `holds`, of which `of_connections` says which belong to the same
    /// connections.
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
            let talks = packet.source.is_some_and(|source| self.talking.contains_key(&source));
            if of_connections(packet) {
                tally.whole[usize::from(talks)].add(packet, *weight);
            }
            if !holds(packet) {
                continue;
            }
            all += weight;
            slices[self.slice(packet.time_ns)] += weight;
            sources.extend(packet.source.map(|source| (source, talks)));
            match packet.source {
                Some(source) if talks && !packet.is_inside() && !packet.is_request() => {
                    *others.entry(source).or_default() += weight;
                }
                _ => tally.held[usize::from(talks)].add(packet, *weight),
            }
        }
        if all == 0.0 {
            return Evidence::default();
        }
        let least = |(source, count): (&Address, &f64)| {
            count.min(self.talking.get(source).copied().unwrap_or_default())
        };
        let clients = tally.clients() + others.iter().map(least).sum::<f64>();
        let quietest = slices.iter().copied().fold(f64::INFINITY, f64::min) * SLICES as f64 / all;
        Evidence {
            clients: (clients / all).min(1.0),
            quiet: (quietest < 0.5).then_some(quietest),
            sources: sources.len(),
            talking: sources.values().filter(|talks| **talks).count(),
        }
    }

    fn slice(&self, time_ns: u64) -> usize {
        let all = (self.last_ns - self.first_ns + 1) as f64;
        let at = time_ns.saturating_sub(self.first_ns) as f64 / all;
        ((at * SLICES as f64) as usize).min(SLICES - 1)
    }
}

impl Evidence {
    /// The part that is likely not of a flood.
    pub fn part(&self) -> f64 {
        self.clients.max(self.quiet.unwrap_or_default())
    }
}

impl Course {
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

/// Packets of TCP: of sources that do not talk, and of those that do.
#[derive(Debug, Default)]
struct Tally {
    /// Of whole connections.
    whole: [Segments; 2],
    /// Of these those that were asked about.
    held: [Segments; 2],
}

#[derive(Clone, Copy, Debug, Default)]
struct Segments {
    requests: f64,
    /// Of connections that are open, if they are what they seem.
    inside: f64,
}

impl Tally {
    fn clients(&self) -> f64 {
        let [silent, talking] = self.whole;
        let silent = Segments { inside: silent.inside.min(silent.requests * SHORT), ..silent };
        let parts = [silent, talking].map(|likely| Segments {
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

/// Parts of the time.
const SLICES: usize = 10;
/// How far numbers of a connection move between two packets that are seen: 64 MiB. By chance both
/// of two random numbers are that near in one case of a thousand.
const NEAR: i32 = 1 << 26;
/// Packets inside of a connection that was too short to be seen twice.
const SHORT: f64 = 20.0;
/// Packets that follow upon a request at least, where it was meant: the end of the handshake, and
/// what it was for.
const FOLLOWING: f64 = 2.0;
