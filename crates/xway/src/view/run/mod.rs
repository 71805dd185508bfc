//! The result of a run over a capture: verdicts, targets, rates, maps, the first difference.
//!
//! These types are compositions of the command `run` alone: the runtimes know single packets.

mod cover;
mod difference;
mod explain;
mod lcov;
mod nature;
mod trace;

use std::collections::BTreeMap;
use std::path::PathBuf;

use control::inventory::Entries;
use report::number::human;
use report::table::Column;
use report::{Stats, Table, text};
use serde::Serialize;

use super::{Paint, View};

pub use cover::{BranchCounts, Covered, CoveredFunction, CoveredInsn, CoveredLine};
pub use difference::{Difference, What};
pub use explain::{Explanation, FieldChange, Item, MapChange, StepEffect};
pub use lcov::lcov;
pub use nature::NotCompared;
pub use trace::Traced;

/// The result of a run over a capture, which the command composes of what both runtimes return.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Name of the object.
    pub object: String,
    /// Name of the program.
    pub program: String,
    /// `vm`, `kernel`, or with `--diff` `kernel and vm`.
    pub runtime: &'static str,
    /// A signal ended the run before the end of the capture.
    pub interrupted: bool,
    /// Packets that no driver would give to the program, and that were left out: shorter than an
    /// Ethernet header, or longer than one buffer (3520 bytes) where the program is not
    /// `xdp.frags`.
    pub unfit: Unfit,
    #[serde(flatten)]
    pub tally: Tallied,
    /// Absent where nothing was measured.
    #[serde(flatten)]
    pub rates: Option<Rates>,
    /// Maps that hold anything but zeros.
    pub maps: Vec<Entries>,
    /// Records of ring buffers and perf event arrays (engine only).
    pub events: Vec<Events>,
    /// Lines that the program printed (engine only).
    pub log: Vec<String>,
    /// Files that were written.
    pub files: Vec<PathBuf>,
    /// With `--cover`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Covered>,
    /// The first difference, with `--diff`.
    pub first_difference: Option<Difference>,
    /// What was different and left out because it comes from a clock, a random number or an
    /// address, with `--diff`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_compared: Option<NotCompared>,
}

/// Packets by outcome.
#[derive(Debug, Serialize)]
pub struct Tallied {
    /// Packets that were run.
    pub packets: u64,
    /// Packets by verdict, always all five.
    pub verdicts: BTreeMap<&'static str, Counted>,
    /// Copies by target: `dev:`, `cpu:` or `xsk:` with the number, and the name of an interface of
    /// the world. A packet sent back with `tx` counts as `dev:` of the interface that it came from.
    pub redirects: BTreeMap<String, u64>,
    /// Copies that the network stack received.
    pub stack: u64,
    /// Copies that were dropped, by reason.
    pub drops: BTreeMap<&'static str, u64>,
    /// Packets whose program was stopped by a fault.
    pub faults: u64,
    /// The first fault.
    pub first_fault: Option<FirstFault>,
}

/// Packets of the capture that were left out.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Unfit {
    /// Packets that were left out.
    pub packets: u64,
    /// Number of the first of them, from 1.
    pub first: Option<u64>,
}

/// Records that the program sent to user space through one map.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Events {
    /// Name of the map.
    pub map: String,
    /// Records sent.
    pub records: u64,
    /// Records that did not fit.
    pub lost: u64,
    /// The first thousand records.
    pub first: Vec<Event>,
}

/// One record.
#[derive(Clone, Debug, Serialize)]
pub struct Event {
    /// Number of the packet during which it was sent.
    pub packet: u64,
    /// Processor of a perf event; `null` for a ring buffer.
    pub cpu: Option<u32>,
    /// The record as `hex:…`.
    pub bytes: String,
}

/// Packets and bytes of one verdict; JSON has the number of packets alone.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[serde(transparent)]
pub struct Counted {
    pub packets: u64,
    #[serde(skip)]
    pub bytes: u64,
}

/// The first fault.
#[derive(Clone, Debug, Serialize)]
pub struct FirstFault {
    /// Number of the packet, from 1.
    pub packet: u64,
    /// What was wrong, for people.
    pub message: String,
}

/// The time of the program, measured in rounds over the first packets of the capture.
#[derive(Debug, Serialize)]
pub struct Rates {
    #[serde(skip)]
    pub packets: usize,
    #[serde(skip)]
    pub stats: Stats,
    /// Median time per packet, in nanoseconds; absent where nothing was measured.
    pub ns_per_packet: f64,
    /// Shortest time per packet, in nanoseconds; absent where nothing was measured.
    pub ns_per_packet_min: f64,
    /// Packets per second at the median; `null` when the time was too short, absent where nothing
    /// was measured.
    pub pps: Option<f64>,
}

impl Rates {
    /// Rates of rounds over some packets, in nanoseconds per packet.
    pub fn new(packets: usize, stats: Stats) -> Self {
        let pps = (stats.median > 0.0).then(|| 1e9 / stats.median);
        let (ns_per_packet, ns_per_packet_min) = (stats.median, stats.min);
        Self { packets, stats, ns_per_packet, ns_per_packet_min, pps }
    }

    fn text(&self) -> String {
        let Stats { min, median, max, rounds } = self.stats;
        let rate = self.pps.map(|pps| format!(", {}", human(pps, "pps"))).unwrap_or_default();
        format!(
            "{median:.1} ns per packet{rate} (median of {rounds} rounds over {} packets; \
             {min:.1} to {max:.1})\n",
            self.packets,
        )
    }
}

impl View for Report {
    fn text(&self, paint: Paint) -> String {
        let title = format!("{} `{}` in the {}", self.object, self.program, self.runtime);
        let early = if self.interrupted { " (stopped early)" } else { "" };
        let mut text = format!("{}: {} packets{early}\n\n", paint.bold(&title), self.tally.packets);
        text.push_str(&self.tally.text(paint));
        if let Unfit { packets, first: Some(first) } = self.unfit {
            text.push_str(&format!(
                "{packets} packets were not run, first packet {first}: shorter than an Ethernet \
                 header, or longer than one buffer and the program is not `xdp.frags`\n"
            ));
        }
        if let Some(rates) = &self.rates {
            text.push_str(&rates.text());
        }
        for map in &self.maps {
            text.push('\n');
            text.push_str(&shortened(&map.text(paint)));
        }
        for events in &self.events {
            text.push_str(&events.text(paint));
        }
        text.push_str(&self.log_text(paint));
        if let Some(coverage) = &self.coverage {
            text.push_str(&coverage.text(paint));
        }
        for file in &self.files {
            text.push_str(&format!("wrote {}\n", text::line(&file.to_string_lossy())));
        }
        text.push_str(&self.difference_text(paint));
        text.push_str(&self.not_compared.as_ref().map(NotCompared::text).unwrap_or_default());
        text
    }
}

impl Report {
    fn log_text(&self, paint: Paint) -> String {
        if self.log.is_empty() {
            return String::new();
        }
        let mut text = format!("\n{}\n", paint.bold("printed by the program"));
        for line in self.log.iter().take(LOG_LINES) {
            text.push_str(&format!("  {}\n", text::line(line.trim_end())));
        }
        if self.log.len() > LOG_LINES {
            text.push_str(&format!("  and {} lines more\n", self.log.len() - LOG_LINES));
        }
        text
    }

    fn difference_text(&self, paint: Paint) -> String {
        match &self.first_difference {
            Some(difference) => format!("\n{}", difference.text(paint)),
            None if self.runtime.contains("and") => {
                format!("\n{}\n", paint.good("no difference in verdicts, bytes or maps"))
            }
            None => String::new(),
        }
    }
}

impl Events {
    fn text(&self, paint: Paint) -> String {
        let Self { map, records, lost, first } = self;
        let mut text =
            format!("\n{} {records} records sent, {lost} lost\n", paint.bold(&format!("{map}:")));
        for Event { packet, bytes, .. } in first.iter().take(EVENTS_SHOWN) {
            text.push_str(&format!("  packet {packet}: {bytes}\n"));
        }
        if *records > EVENTS_SHOWN as u64 {
            text.push_str(&format!("  and {} more\n", records - EVENTS_SHOWN as u64));
        }
        text
    }
}

impl Tallied {
    fn text(&self, paint: Paint) -> String {
        let mut table = Table::new([
            Column::text("verdict"),
            Column::number("packets"),
            Column::number("share"),
            Column::number("bytes"),
        ]);
        for (name, counted) in self.verdicts.iter().filter(|(_, counted)| counted.packets > 0) {
            let share = 100.0 * counted.packets as f64 / self.packets as f64;
            table.row([
                (*name).to_owned(),
                counted.packets.to_string(),
                format!("{share:.1} %"),
                human(counted.bytes as f64, "B"),
            ]);
        }
        let mut text = if self.packets == 0 { String::new() } else { format!("{table}\n") };
        for (target, packets) in &self.redirects {
            text.push_str(&format!("to {}: {packets} packets\n", text::line(target)));
        }
        if self.stack > 0 {
            text.push_str(&format!("to the stack: {} packets\n", self.stack));
        }
        for (reason, packets) in
            self.drops.iter().filter(|(reason, _)| !BY_VERDICT.contains(reason))
        {
            text.push_str(&format!("lost, {reason}: {packets} packets\n"));
        }
        if let Some(fault) = &self.first_fault {
            let count = match self.faults {
                1 => "1 fault".to_owned(),
                faults => format!("{faults} faults; the first"),
            };
            let place = paint.bad(&format!("{count}, packet {}", fault.packet));
            text.push_str(&format!("{place}: {}\n", text::line(&fault.message)));
        }
        text
    }
}

/// The beginning of large maps and values; `--json` has all of it.
fn shortened(text: &str) -> String {
    let mut short = String::new();
    for line in text.lines().take(MAP_LINES) {
        match line.char_indices().nth(MAP_COLUMNS) {
            Some((end, _)) => short.push_str(&format!("{}… (see --json)\n", &line[..end])),
            None => short.push_str(&format!("{line}\n")),
        }
    }
    let more = text.lines().count().saturating_sub(MAP_LINES);
    if more > 0 {
        short.push_str(&format!("  … and {more} lines more (see --json)\n"));
    }
    short
}

/// Reasons that the verdict states already.
const BY_VERDICT: &[&str] = &["dropped", "aborted"];
const EVENTS_SHOWN: usize = 5;
const LOG_LINES: usize = 20;
const MAP_LINES: usize = 24;
const MAP_COLUMNS: usize = 160;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn big_maps_are_shown_by_their_beginning() {
        assert_eq!(shortened("a\nb\n"), "a\nb\n");
        let wide = "é".repeat(MAP_COLUMNS + 1);
        let want = format!("{}… (see --json)\n", "é".repeat(MAP_COLUMNS));
        assert_eq!(shortened(&wide), want);
        let long = "x\n".repeat(MAP_LINES + 3);
        assert!(shortened(&long).ends_with("x\n  … and 3 lines more (see --json)\n"));
    }
}
