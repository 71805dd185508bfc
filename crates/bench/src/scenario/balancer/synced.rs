//! How long two balancers take to synchronize flows: all of them, as after a restart, and when
//! nothing changed.
//!
//! Rule: the code of `xway balance sync`, on a memory that no program uses, without sockets and
//! without their pace. Each turn does all of it once.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use functions::balancer::sync::wire::{self, CellEntry, Cells, Header, Message, Name};
use functions::balancer::sync::{CellMemory, Flow, Key, Merged, News, merge};

use crate::harness::{Arm, Value};

/// Milliseconds of a full transfer and of a scan without news.
pub fn arm<'a>(flows: u32) -> Arm<'a> {
    Arm::wide(FULL, move |_| {
        let sent = Transfer::run(flows)?;
        let ms = |time: Duration| 1e3 * time.as_secs_f64();
        Ok(vec![
            Value::new(FULL, "ms", ms(sent.send + sent.receive)),
            Value::new(format!("{FULL}/send"), "ms", ms(sent.send)),
            Value::new(format!("{FULL}/receive"), "ms", ms(sent.receive)),
            Value::new(format!("{FULL}/bytes"), "MiB", sent.bytes as f64 / f64::from(1 << 20)),
            Value::new("sync/idle", "ms", ms(sent.idle)),
        ])
    })
}

/// A transfer of all flows.
struct Transfer {
    send: Duration,
    receive: Duration,
    idle: Duration,
    bytes: usize,
}

impl Transfer {
    fn run(flows: u32) -> Result<Self> {
        let key = Key::new(&[7; 32])?;
        let lines = flows.div_ceil(FLOWS_OF_LINE).next_power_of_two();
        let [from, to] = [(); 2].map(|()| Memory::new(lines));
        from.fill(flows);
        let mut news = News::new(lines);
        let begin = Instant::now();
        let datagrams = send(&from, &mut news, &key);
        let send = begin.elapsed();
        let begin = Instant::now();
        for datagram in &datagrams {
            receive(&to, &key, datagram)?;
        }
        let receive = begin.elapsed();
        ensure!(to.count() == from.count(), "{} of {} flows", to.count(), from.count());
        let begin = Instant::now();
        let is_all = news.scan(&from, NOW, |_, _| false);
        let idle = begin.elapsed();
        ensure!(is_all, "a flow was to be sent twice");
        let bytes = datagrams.iter().map(Vec::len).sum();
        Ok(Self { send, receive, idle, bytes })
    }
}

/// The datagrams of all that peers do not know.
fn send(memory: &Memory, news: &mut News, key: &Key) -> Vec<Vec<u8>> {
    let new = || Cells { lines: memory.lines(), ..Cells::default() };
    let (mut part, mut out) = (new(), Vec::new());
    let seal = |cells: Cells, number: usize| {
        let header = Header { sender: 1, receiver: 2, sequence: number as u64 };
        wire::seal(key, header, &Message::Cells(cells))
    };
    news.scan(memory, NOW, |line, flow| {
        let name = Name { service: 1, address: u128::from(flow.backend).to_be_bytes() };
        let entry = CellEntry { line, tag: flow.tag, kind: flow.kind, age: flow.age, backend: 0 };
        if part.push(name, entry) {
            return true;
        }
        out.push(seal(std::mem::replace(&mut part, new()), out.len()));
        part.push(name, entry)
    });
    out.push(seal(part, out.len()));
    out
}

/// Merges the flows of a datagram.
fn receive(memory: &Memory, key: &Key, datagram: &[u8]) -> Result<()> {
    let Ok((_, Message::Cells(cells))) = wire::open(key, datagram) else {
        bail!("a datagram of {} bytes was refused", datagram.len());
    };
    for CellEntry { line, tag, kind, age, backend } in cells.cells {
        let Some(name) = cells.backends.get(usize::from(backend)) else { bail!("no backend") };
        let backend = u128::from_be_bytes(name.address) as u16;
        let (merged, _) = merge(memory, line, Flow { tag, backend, kind, age }, NOW);
        ensure!(merged == Merged::Inserted, "a flow was {}", merged.label());
    }
    Ok(())
}

/// Cells of this process alone.
struct Memory(RefCell<Vec<[u64; WAYS]>>);

impl Memory {
    fn new(lines: u32) -> Self {
        Self(RefCell::new(vec![[0; WAYS]; lines as usize]))
    }

    /// Spreads established connections over the lines and over 100 backends.
    fn fill(&self, flows: u32) {
        let lines = self.lines();
        for number in 0..flows {
            let (line, way) = (number & (lines - 1), number / lines);
            let backend = (number % u32::from(super::case::BACKENDS)) as u16;
            let flow = Flow { tag: number.wrapping_mul(SCATTER), backend, kind: FLOW, age: 0 };
            self.0.borrow_mut()[line as usize][way as usize] = flow.cell(NOW);
        }
    }

    fn count(&self) -> usize {
        self.0.borrow().as_flattened().iter().filter(|cell| **cell != 0).count()
    }
}

impl CellMemory for Memory {
    fn lines(&self) -> u32 {
        self.0.borrow().len() as u32
    }

    fn read(&self, line: u32, way: usize) -> u64 {
        self.0.borrow()[line as usize][way]
    }

    fn replace(&self, line: u32, way: usize, old: u64, new: u64) -> bool {
        let cell = &mut self.0.borrow_mut()[line as usize][way];
        let is_same = *cell == old;
        if is_same {
            *cell = new;
        }
        is_same
    }
}

/// Row of the whole transfer.
pub const FULL: &str = "sync/full";
/// Flows of a line, of which half of the cells remain free.
const FLOWS_OF_LINE: u32 = 4;
/// `BALANCER_WAYS`.
const WAYS: usize = 8;
/// `BALANCER_FLOW`.
const FLOW: u8 = 1;
/// A time, in units of cells.
const NOW: u64 = 10_000;
/// 2^32 divided by the golden ratio.
const SCATTER: u32 = 0x9e37_79b1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_flows_arrive() {
        let sent = Transfer::run(1000).unwrap();
        assert!(sent.bytes > 1000 * 8);
    }
}
