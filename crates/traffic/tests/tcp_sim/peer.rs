//! `Peer`: a host that accepts every connection, and receives.

use std::collections::HashMap;
use std::net::IpAddr;

use super::Time;
use super::connection::{Connection, Manner, Refusal};
use super::options::Options;
use super::segment::{ACK, RST, SYN, Segment};

/// The sender's address and port, then the peer's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FlowId(pub IpAddr, pub u16, pub IpAddr, pub u16);

impl FlowId {
    /// The flow of a segment that the sender sent.
    pub fn of(segment: &Segment) -> Self {
        Self(segment.from.ip, segment.from.port, segment.to.ip, segment.to.port)
    }

    /// The flow of a segment that was sent to the sender.
    pub fn of_answer(segment: &Segment) -> Self {
        Self(segment.to.ip, segment.to.port, segment.from.ip, segment.from.port)
    }
}

#[derive(Debug)]
pub struct Peer {
    /// The behavior of new connections.
    pub manner: Manner,
    pub connections: HashMap<FlowId, Connection>,
    pub complaints: Vec<String>,
}

impl Peer {
    pub fn new(manner: Manner) -> Self {
        Self { manner, connections: HashMap::new(), complaints: Vec::new() }
    }

    pub fn take(&mut self, segment: &Segment, now: Time) -> Vec<Segment> {
        if matches!(self.manner.refusal, Refusal::Silence(from) if now >= from) {
            return Vec::new();
        }
        let id = FlowId::of(segment);
        let is_syn = segment.has(SYN) && !segment.has(ACK);
        if is_syn && self.manner.refusal == Refusal::AtOnce {
            return vec![refusal(segment)];
        }
        if is_syn {
            let accept = || Connection::accept(&self.manner, segment, now);
            self.connections.entry(id).or_insert_with(accept);
        }
        match self.connections.get_mut(&id) {
            Some(connection) => connection.take(segment, now),
            None if segment.has(RST) => Vec::new(),
            None => {
                self.complaints.push(format!("{id:?}: {segment:?} belongs to no connection"));
                Vec::new()
            }
        }
    }

    /// All complaints of all connections.
    pub fn complaints(&self) -> Vec<String> {
        let of = |connection: &Connection| connection.complaints.clone();
        self.complaints.iter().cloned().chain(self.connections.values().flat_map(of)).collect()
    }
}

fn refusal(syn: &Segment) -> Segment {
    Segment {
        from: syn.to,
        to: syn.from,
        seq: 0,
        ack: syn.seq.wrapping_add(1),
        flags: RST | ACK,
        window: 0,
        options: Options::default(),
        payload: Vec::new(),
    }
}
