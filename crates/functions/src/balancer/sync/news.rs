//! `News`: which flows changed since they were sent.

use super::merge::CellMemory;
use super::{FLOW, Flow, NOTE, WAYS};

/// The flows as peers know them.
#[derive(Clone, Debug)]
pub struct News {
    sent: Vec<u64>,
    next: u32,
}

impl News {
    /// Peers know nothing yet.
    #[must_use]
    pub fn new(lines: u32) -> Self {
        Self { sent: vec![0; lines as usize * WAYS], next: 0 }
    }

    /// A flow that came from a peer is not sent: each balancer sends its own to all.
    pub fn heard(&mut self, line: u32, way: usize, cell: u64) {
        self.sent[line as usize * WAYS + way] = cell;
    }

    /// Marks all flows as known: peers request them.
    pub fn skip(&mut self, memory: &impl CellMemory) {
        for (at, sent) in self.sent.iter_mut().enumerate() {
            *sent = memory.read((at / WAYS) as u32, at % WAYS);
        }
    }

    /// Reads each line once, from where the last call ended, until `each` returns `false`: then
    /// the flow that it got counts as not sent. Returns whether all lines were read.
    pub fn scan(
        &mut self,
        memory: &impl CellMemory,
        now: u64,
        mut each: impl FnMut(u32, Flow) -> bool,
    ) -> bool {
        let lines = memory.lines();
        for _ in 0..lines {
            let line = self.next;
            for way in 0..WAYS {
                let cell = memory.read(line, way);
                let sent = &mut self.sent[line as usize * WAYS + way];
                if cell == *sent {
                    continue;
                }
                let Some(flow) = Flow::of(cell, now) else { continue };
                if flow.is_old() || !is_news(*sent, flow, now) {
                    continue;
                }
                if !each(line, flow) {
                    return false;
                }
                *sent = cell;
            }
            self.next = (line + 1) % lines;
        }
        true
    }
}

/// Notes are not sent: they live for a round trip, and a flood leaves millions. That a flow is
/// still used is sent now and then, well within its life.
fn is_news(sent: u64, flow: Flow, now: u64) -> bool {
    if flow.kind == NOTE {
        return false;
    }
    let Some(known) = Flow::of(sent, now) else { return true };
    let is_same = (known.tag, known.backend, known.kind) == (flow.tag, flow.backend, flow.kind);
    let pause = if flow.kind == FLOW { PAUSE } else { SHORT_PAUSE };
    !is_same || known.age >= flow.age + pause
}

/// Units between two renewals of an established connection: 4.6 minutes, of an hour.
const PAUSE: u16 = 128;
/// Units between two renewals of others, which live a minute: 17 seconds.
const SHORT_PAUSE: u16 = 8;
