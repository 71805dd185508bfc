//! Answers: the program that receives them, and its records.
//!
//! `bpf/scan/answer.bpf.c` compares each packet with the cookie of its sender, or of the probe
//! that an ICMP error quotes. Only genuine answers, the first one of each target, become records.
//!
//! Rule: maps are accessed through the trait `Map`, so any runtime can execute the program.

#[allow(dead_code, reason = "generated, with items that only the program uses")]
mod abi;
#[cfg(test)]
mod tests;

use std::net::{IpAddr, SocketAddr};

use spec::Spec;

use super::cookie::BEGUN;
use super::target::{address, number};
use super::{Cookies, Error, Probe};
use crate::error::Result;

pub use abi::{Reason, State};

/// The compiled program.
pub static OBJECT: &[u8] = include_bytes!("../../../../../bpf/prebuilt/answer.o");
/// Name of the program in the object.
pub const PROGRAM: &str = "xway_answer";
/// Name of the ring buffer of records.
pub const RECORDS: &str = "answer_records";

/// What is received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reception {
    /// Whether the program resets open TCP ports. Otherwise they repeat their answers, because the
    /// stack does not see them.
    pub resets: bool,
    /// Bytes of the table of targets that answered: a power of two from 64.
    pub seen_bytes: u64,
    /// Bytes of the ring buffer: a power of two, and a multiple of a page.
    pub ring_bytes: u32,
}

impl Default for Reception {
    fn default() -> Self {
        Self { resets: true, seen_bytes: 16 << 20, ring_bytes: 4 << 20 }
    }
}

/// A genuine answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Time of arrival in ns of the monotonic clock.
    pub time_ns: u64,
    /// The target; its port is 0 where the protocol has none.
    pub target: SocketAddr,
    /// Sender of the answer: the target, or a router.
    pub from: IpAddr,
    pub state: State,
    /// TTL or hop limit of the answer.
    pub ttl: u8,
    /// Type and code of an ICMP error.
    pub icmp: Option<(u8, u8)>,
}

/// The program for the answers to a probe.
///
/// # Errors
/// The size of a table is not a power of two, or the object is not that of this build.
pub fn prepare(probe: &Probe, cookies: &Cookies, reception: &Reception) -> Result<Spec> {
    let lines = reception.seen_bytes / LINE;
    if !lines.is_power_of_two() || lines * LINE != reception.seen_bytes || lines > 1 << 31 {
        return Err(Error::SeenBytes { bytes: reception.seen_bytes }.into());
    }
    let mut spec = Spec::parse("scan", OBJECT)?;
    let ports = probe.ports();
    let expected = abi::Expected {
        source: number(probe.source()).to_be_bytes(),
        port_count: u32::from(ports.end() - ports.start()) + 1,
        first_port: *ports.start(),
        protocol: probe.protocol().0,
        is_ipv6: probe.is_ipv6().into(),
        resets: reception.resets.into(),
        seen_mask: lines as u32 - 1,
        ..abi::Expected::default()
    };
    spec.set_global("answer_expected", &expected.to_bytes())?;
    spec.set_global(BEGUN, &cookies.begun())?;
    for (name, entries) in [(SEEN, lines as u32), (RECORDS, reception.ring_bytes)] {
        if let Some(map) = spec.maps.iter_mut().find(|map| map.name == name) {
            map.max_entries = entries;
        }
    }
    Ok(spec)
}

impl Answer {
    /// Reads a record; `None` if it is not one.
    pub fn read(record: &[u8]) -> Option<Self> {
        let record = abi::Record::from_bytes(record.first_chunk()?);
        let state = *State::ALL.iter().find(|state| **state as u8 == record.state)?;
        let [target, from] =
            [record.target, record.from].map(|bytes| address(u128::from_be_bytes(bytes)));
        let port = u16::from_be_bytes(record.port);
        let is_error = state == State::Unreachable;
        Some(Self {
            time_ns: record.time_ns,
            target: SocketAddr::new(target, port),
            from,
            state,
            ttl: record.ttl,
            icmp: is_error.then_some((record.icmp_type, record.icmp_code)),
        })
    }
}

/// Bytes of an entry of the table of targets that answered.
const LINE: u64 = 64;
const SEEN: &str = "answer_seen";
