//! What the program sent to user space, through ring buffers and perf event arrays.
//!
//! Rule: taken after each packet, so that no buffer fills up that a reader would have emptied.
//! In the kernel these buffers need readers of their own; only the engine's are read here.

use std::sync::Arc;

use control::inventory::tagged;
use spec::MapKind;
use vm::{Machine, Map};

use crate::error::{Error, Result};
use crate::results::{Event, Events as Seen};

#[derive(Default)]
pub struct Events {
    sources: Vec<(Arc<Map>, Seen)>,
}

impl Events {
    /// Opens the buffers of a machine; programs cannot send to perf events before.
    pub fn open(machine: &Machine) -> Result<Self> {
        let mut sources = Vec::new();
        for map in machine.maps().into_iter().filter(|map| map.why_absent().is_none()) {
            let kind = map.attributes().kind;
            if kind == MapKind::PERF_EVENT_ARRAY {
                map.open_events(None).map_err(Error::PerfEvents)?;
            } else if kind != MapKind::RINGBUF {
                continue;
            }
            let seen = Seen { map: map.attributes().name.clone(), ..Seen::default() };
            sources.push((map, seen));
        }
        Ok(Self { sources })
    }

    /// Takes what the run of a packet sent.
    pub fn take(&mut self, packet: u64) {
        for (map, seen) in &mut self.sources {
            // Both types have records; no other is among the sources.
            let Ok(taken) = map.records() else { continue };
            seen.lost += taken.lost;
            for record in taken.records {
                seen.records += 1;
                if seen.first.len() < KEPT {
                    let bytes = tagged(&record.bytes);
                    seen.first.push(Event { packet, cpu: record.cpu, bytes });
                }
            }
        }
    }

    /// Buffers that held records.
    pub fn finish(self) -> Vec<Seen> {
        let seen = self.sources.into_iter().map(|(_, seen)| seen);
        seen.filter(|seen| seen.records + seen.lost > 0).collect()
    }
}

/// Records kept of each map; all are counted.
const KEPT: usize = 1000;
