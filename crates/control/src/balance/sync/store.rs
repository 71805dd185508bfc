//! `Store`: the state of a balancer as synchronization reads and changes it.

use std::collections::BTreeMap;

use functions::balancer::abi::Kind;
use functions::balancer::sync::history::{self, Tables};
use functions::balancer::sync::wire::{
    CellEntry, Cells, DONE, End, History, Item, Message, Name, Want,
};
use functions::balancer::sync::{CellMemory, Flow, Merged, News, copies, merge, now_units};
use functions::balancer::{self, Config, Live, Maps, NONE};
use kernel::Map;
use sys::thread::monotonic_ns;

use super::memory::FlowMemory;
use crate::error::Result;

/// What merging did, by outcome.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub flows: BTreeMap<Merged, u64>,
    /// Flows and slots of backends that are unknown here, or down.
    pub unknown: u64,
    /// Flows of a memory that is smaller than a 64th of the own one.
    pub lines: u64,
    /// Slots that have a former backend of a peer.
    pub slots: u64,
    /// Slots in which flows are looked for, because a peer has another backend.
    pub watched: u64,
}

/// What the maps hold, read again when they changed.
#[derive(Debug, Default)]
pub struct Known {
    generation: Option<u32>,
    /// How often they were read.
    pub readings: u64,
    pub live: Live,
    pub tables: BTreeMap<u32, Tables>,
}

impl Known {
    /// # Errors
    /// A map cannot be read.
    pub fn refresh(&mut self, maps: &Maps<'_, Map>) -> Result<()> {
        let now = balancer::generation(maps.active)?;
        if self.generation != Some(now) {
            self.live = Live::read(maps)?;
            self.tables = Tables::all(maps, &self.live)?;
            self.generation = Some(now);
            self.readings += 1;
        }
        Ok(())
    }
}

/// Reads and writes with the maps.
pub struct Store<'a> {
    pub maps: &'a Maps<'a, Map>,
    pub memory: &'a FlowMemory,
    pub known: &'a mut Known,
    pub tally: &'a mut Tally,
    /// Takes over: backends that only the peer knows are added as draining ones.
    pub adopts: Option<&'a Config>,
}

impl Store<'_> {
    /// Merges flows; `news` learns what need not be sent.
    ///
    /// # Errors
    /// A map refused a change.
    pub fn flows(&mut self, cells: &Cells, mut news: Option<&mut News>) -> Result<()> {
        let here = self.memory.lines();
        if here / cells.lines.min(here) > MOST_COPIES {
            self.tally.lines += cells.cells.len() as u64;
            return Ok(());
        }
        let numbers = self.numbers(&cells.backends)?;
        let mut elsewhere: BTreeMap<u32, Vec<(u16, u16)>> = BTreeMap::new();
        for cell in &cells.cells {
            let index = usize::from(cell.backend);
            let (Some(backend), name) = (numbers[index], cells.backends[index]) else {
                self.tally.unknown += 1;
                continue;
            };
            let CellEntry { line, tag, kind, age, .. } = *cell;
            let flow = Flow { tag, backend, kind, age };
            if kind != Kind::Note as u8 {
                elsewhere.entry(name.service).or_default().push((flow.slot(), backend));
            }
            for line in copies(line, cells.lines, here) {
                let (merged, place) = merge(self.memory, line, flow, now_units(monotonic_ns()));
                *self.tally.flows.entry(merged).or_default() += 1;
                if let (Some(news), Some((way, cell))) = (news.as_deref_mut(), place) {
                    news.heard(line, way, cell);
                }
            }
        }
        for (service, slots) in elsewhere {
            let Some(tables) = self.known.tables.get_mut(&service) else { continue };
            let watched = history::watch(self.maps, &mut self.known.live, tables, &slots)?;
            self.tally.watched += watched as u64;
        }
        Ok(())
    }

    /// Takes former backends of slots.
    ///
    /// # Errors
    /// A map refused a change.
    pub fn history(&mut self, message: &History) -> Result<()> {
        let numbers = self.numbers(&message.backends)?;
        let mut slots: BTreeMap<u32, Vec<(u16, u16)>> = BTreeMap::new();
        for (slot, index) in &message.slots {
            let index = usize::from(*index);
            match numbers[index] {
                Some(number) => {
                    let service = message.backends[index].service;
                    slots.entry(service).or_default().push((*slot, number));
                }
                None => self.tally.unknown += 1,
            }
        }
        for (service, slots) in slots {
            let Some(tables) = self.known.tables.get_mut(&service) else { continue };
            let added = history::add(self.maps, &mut self.known.live, tables, &slots)?;
            self.tally.slots += added as u64;
        }
        Ok(())
    }

    fn numbers(&mut self, names: &[Name]) -> Result<Vec<Option<u16>>> {
        let mut numbers = Vec::with_capacity(names.len());
        let live = &mut self.known.live;
        for name in names {
            let is_listed = live.lists(name);
            let known = live.numbered(name);
            let number = match (known, self.adopts) {
                (None, Some(config)) if !is_listed => {
                    history::adopt(self.maps, live, config, name)?
                }
                _ => known,
            };
            numbers.push(number);
        }
        Ok(numbers)
    }
}

/// What answers a request, from the state here.
pub fn answer(memory: &FlowMemory, known: &Known, want: &Want) -> Vec<Message> {
    let (mut out, live) = (Vec::new(), &known.live);
    let next = match want.what {
        Item::Cells { line } => flows(memory, live, want.id, line, &mut out),
        Item::History { service, slot, digest } => {
            known.tables.get(&service).map_or(DONE, |tables| {
                let is_shared = tables.digest(live) == digest;
                slots(tables, is_shared, live, (want.id, slot), &mut out)
            })
        }
    };
    out.push(Message::End(End { id: want.id, next, datagrams: out.len() as u32 }));
    out
}

/// Flows from a line on, without notes: a flood leaves millions, and the handshakes that they are
/// for have ended when they arrive. Returns the line to continue with; a line is not divided.
fn flows(memory: &FlowMemory, live: &Live, id: u32, from: u32, out: &mut Vec<Message>) -> u32 {
    let (now, lines) = (now_units(monotonic_ns()), memory.lines());
    let new = || Cells { id, lines, ..Cells::default() };
    let mut cells = new();
    for line in from..lines {
        if out.len() >= ANSWER || line - from >= ANSWER_LINES {
            if !cells.cells.is_empty() {
                out.push(Message::Cells(cells));
            }
            return line;
        }
        for way in 0..WAYS {
            let flow = Flow::of(memory.read(line, way), now);
            let flow = flow.filter(|one| one.kind != Kind::Note as u8 && !one.is_old());
            let Some((flow, name)) = flow.and_then(|one| Some((one, live.name(one.backend)?)))
            else {
                continue;
            };
            if !cells.push(name, entry(line, flow)) {
                out.push(Message::Cells(std::mem::replace(&mut cells, new())));
                cells.push(name, entry(line, flow));
            }
        }
    }
    if !cells.cells.is_empty() {
        out.push(Message::Cells(cells));
    }
    DONE
}

/// Former backends from a slot on.
fn slots(
    tables: &Tables,
    is_shared: bool,
    live: &Live,
    (id, from): (u32, u32),
    out: &mut Vec<Message>,
) -> u32 {
    let new = || History { id, ..History::default() };
    let mut part = new();
    for slot in from..=u32::from(NONE) {
        let oldest = tables.oldest(slot as u16, is_shared);
        let Some(name) = oldest.and_then(|number| live.name(number)) else { continue };
        if !part.push(slot as u16, name) {
            out.push(Message::History(std::mem::replace(&mut part, new())));
            if out.len() >= ANSWER {
                return slot;
            }
            part.push(slot as u16, name);
        }
    }
    if !part.slots.is_empty() {
        out.push(Message::History(part));
    }
    DONE
}

pub const fn entry(line: u32, flow: Flow) -> CellEntry {
    CellEntry { line, tag: flow.tag, kind: flow.kind, age: flow.age, backend: 0 }
}

/// Flows of a memory that is this number of times smaller are merged.
const MOST_COPIES: u32 = 64;
/// Datagrams that answer a request, and lines of flows that it concerns at most.
const ANSWER: usize = 32;
const ANSWER_LINES: u32 = 1 << 13;
/// `BALANCER_WAYS`.
const WAYS: usize = 8;
