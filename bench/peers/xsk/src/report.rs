//! What a peer prints: one line when it is ready, one when it has ended.

use std::io::{self, Write};
use std::time::Duration;

use crate::cpu::Cpu;
use crate::frame::Tracker;
use crate::port::Dropped;

/// A run that has ended.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Frames that the library took.
    pub sent: u64,
    /// Frames that it returned as sent.
    pub completed: u64,
    pub tracker: Tracker,
    pub dropped: Dropped,
    pub time: Duration,
    pub cpu: Cpu,
    /// The round trip of each frame that came back.
    pub round_trips_ns: Vec<u64>,
}

/// From here on frames may come.
pub fn ready() -> io::Result<()> {
    line("{\"ready\":true}")
}

impl Report {
    pub fn print(&mut self) -> io::Result<()> {
        let Dropped { ring_full, others } = self.dropped;
        let Tracker { received, missing, duplicated, .. } = self.tracker;
        let (seconds, user) = (self.time.as_secs_f64(), self.cpu.user.as_nanos());
        let mut text = format!(
            "{{\"sent\":{},\"completed\":{},\"received\":{received},\"missing\":{missing},\
             \"duplicated\":{duplicated},\"dropped\":{},\"ring_full\":{ring_full},\
             \"seconds\":{seconds:.6},\"user_ns\":{user},\"system_ns\":{}",
            self.sent,
            self.completed,
            ring_full + others,
            self.cpu.system.as_nanos(),
        );
        if !self.round_trips_ns.is_empty() {
            self.round_trips_ns.sort_unstable();
            for (name, share) in
                [("p50_ns", 0.5), ("p90_ns", 0.9), ("p99_ns", 0.99), ("max_ns", 1.0)]
            {
                let last = self.round_trips_ns.len() - 1;
                let value = self.round_trips_ns[(last as f64 * share).round() as usize];
                text += &format!(",\"{name}\":{value}");
            }
        }
        line(&(text + "}"))
    }
}

fn line(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()
}
