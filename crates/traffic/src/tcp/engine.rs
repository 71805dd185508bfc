//! `Engine`: the loaded programs and maps of one run.
//!
//! Each sender has a program of its own with its number; all share their maps.

use kernel::{LoadOptions, Map, Object, Program};
use spec::Map as _;
use sys::mmap::Mapping;

use super::plan::{self, Plan};
use super::{abi, read};
use crate::error::Result;
use crate::histogram::Histogram;

#[derive(Debug)]
pub(super) struct Engine {
    /// The program of each sender.
    pub send: Vec<Program>,
    pub receive: Program,
    flows: Map,
    totals: Map,
    rtts: Map,
    control: Mapping,
    senders: Mapping,
    tails: Map,
}

impl Engine {
    pub fn load(plan: &Plan, receive: &str) -> Result<Self> {
        let programs =
            |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        let options =
            LoadOptions { programs: programs(&[plan::SEND, receive]), ..LoadOptions::default() };
        let first = Object::load(&plan.object(0)?, &options)?;
        let mut send = vec![first.program(plan::SEND)?.duplicate()?];
        for number in 1..plan.senders() {
            let options = LoadOptions {
                programs: programs(&[plan::SEND]),
                reuse: shared(&first)?,
                ..LoadOptions::default()
            };
            let object = Object::load(&plan.object(number)?, &options)?;
            send.push(object.program(plan::SEND)?.duplicate()?);
        }
        let map = |name| first.map(name).and_then(Map::duplicate);
        Ok(Self {
            send,
            receive: first.program(receive)?.duplicate()?,
            flows: map(plan::FLOWS)?,
            totals: map(plan::TOTALS)?,
            rtts: map(plan::RTTS)?,
            control: map(plan::CONTROL)?.mapping(true)?,
            senders: map(plan::SENDERS)?.mapping(true)?,
            tails: map(plan::TAILS)?,
        })
    }

    pub fn set_phase(&self, phase: abi::Phase) {
        self.control.store_u64(0, phase as u64);
    }

    /// Marks the beginning of a call of a sender.
    pub fn begin(&self, sender: u32) {
        self.senders.store_u64(sender as usize * abi::Sender::SIZE + RUNS_AT, 0);
    }

    pub fn sender(&self, number: u32) -> abi::Sender {
        let mut bytes = [0; abi::Sender::SIZE];
        self.senders.copy_out(number as usize * abi::Sender::SIZE, &mut bytes);
        abi::Sender::from_bytes(&bytes)
    }

    /// Whether every sender has applied `phase` to all flows, and no segment is waiting.
    pub fn is_drained(&self, phase: abi::Phase) -> Result<bool> {
        for number in 0..self.send.len() as u32 {
            let sender = self.sender(number);
            let tail = self.tails.lookup(&number.to_ne_bytes())?.unwrap_or_default();
            let tail = tail.first_chunk().map_or(0, |word| u64::from_ne_bytes(*word));
            let swept = sender.phase == phase as u32 && sender.swept >= sender.opened;
            if !swept || sender.head != tail || sender.burst.left != 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub fn totals(&self) -> Result<abi::Totals> {
        let sums = self.totals.lookup_per_cpu(&ONLY)?.map(|value| value.sums());
        Ok(read::totals(&sums.unwrap_or_default()))
    }

    pub fn rtts(&self) -> Result<Histogram> {
        let sums = self.rtts.lookup_per_cpu(&ONLY)?.map(|value| value.sums());
        Ok(Histogram::from_counts(sums.unwrap_or_default()))
    }

    /// All flows in order.
    pub fn flows(&self) -> Result<Vec<abi::Flow>> {
        let entries = self.flows.entries()?;
        let flow =
            |value: &[u8]| value.get(plan::FLOW_AT..)?.first_chunk().map(abi::Flow::from_bytes);
        Ok(entries.iter().filter_map(|(_, value)| flow(value)).collect())
    }
}

/// All maps except those that each program has for itself.
fn shared(object: &Object) -> Result<Vec<(String, Map)>> {
    let maps = object.maps().iter().filter(|map| !map.name().starts_with('.'));
    maps.map(|map| Ok((map.name().to_owned(), map.duplicate()?))).collect()
}

const ONLY: [u8; 4] = [0; 4];
/// Offset of `runs` in `struct tcp_sender`.
const RUNS_AT: usize = 0;
