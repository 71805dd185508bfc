//! What a run over a capture came to: verdicts, targets, rates, maps, the first difference.
//!
//! Field names are promised in `docs/json.md`.

mod cover;
mod difference;
mod explain;
mod lcov;
mod trace;

use std::collections::BTreeMap;
use std::path::PathBuf;

use report::number::human;
use report::table::Column;
use report::{Stats, Table, text};
use serde::Serialize;

use super::map::Entries;
use super::{Paint, View};

pub use cover::{Covered, CoveredFunction, CoveredInsn, CoveredLine, Ways};
pub use difference::{Difference, What};
pub use explain::{Deed, Explanation, FieldChange, Item, MapChange};
pub use lcov::lcov;
pub use trace::{Source, Traced};

#[derive(Debug, Serialize)]
pub struct Report {
    pub object: String,
    pub program: String,
    pub runtime: &'static str,
    /// A signal ended it before the capture did.
    pub interrupted: bool,
    pub unfit: Unfit,
    #[serde(flatten)]
    pub tally: Tallied,
    #[serde(flatten)]
    pub rates: Option<Rates>,
    pub maps: Vec<Entries>,
    pub events: Vec<Events>,
    /// What the program printed.
    pub log: Vec<String>,
    pub files: Vec<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Covered>,
    pub first_difference: Option<Difference>,
}

#[derive(Debug, Serialize)]
pub struct Tallied {
    pub packets: u64,
    pub verdicts: BTreeMap<&'static str, Counted>,
    pub redirects: BTreeMap<String, u64>,
    /// Copies that the network stack got.
    pub stack: u64,
    /// Copies that ended elsewhere than the verdict says, by reason.
    pub drops: BTreeMap<&'static str, u64>,
    pub faults: u64,
    pub first_fault: Option<FirstFault>,
}

/// Packets of the capture that no driver would give to the program.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Unfit {
    pub packets: u64,
    pub first: Option<u64>,
}

/// What the program sent to user space through one map.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Events {
    pub map: String,
    pub records: u64,
    /// Did not fit.
    pub lost: u64,
    pub first: Vec<Event>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Event {
    /// The packet during which it came.
    pub packet: u64,
    pub cpu: Option<u32>,
    pub bytes: String,
}

/// Serialises as the number of packets alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counted {
    pub packets: u64,
    pub bytes: u64,
}

#[derive(Clone, Debug, Serialize)]
pub struct FirstFault {
    pub packet: u64,
    pub message: String,
}

/// Rounds over the first packets of the capture.
#[derive(Debug)]
pub struct Rates {
    pub packets: usize,
    pub ns_per_packet: Stats,
}

impl Serialize for Counted {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.packets)
    }
}

impl Serialize for Rates {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut fields = serializer.serialize_struct("Rates", 3)?;
        fields.serialize_field("ns_per_packet", &self.ns_per_packet.median)?;
        fields.serialize_field("ns_per_packet_min", &self.ns_per_packet.min)?;
        fields.serialize_field("pps", &self.pps())?;
        fields.end()
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
            let told = paint.bad(&format!("{count}, packet {}", fault.packet));
            text.push_str(&format!("{told}: {}\n", text::line(&fault.message)));
        }
        text
    }
}

impl Rates {
    fn text(&self) -> String {
        let Stats { min, median, max, rounds } = self.ns_per_packet;
        let rate = self.pps().map(|pps| format!(", {}", human(pps, "pps"))).unwrap_or_default();
        format!(
            "{median:.1} ns a packet{rate} (median of {rounds} rounds over {} packets; \
             {min:.1} to {max:.1})\n",
            self.packets,
        )
    }

    /// `None` where the time was too short to tell.
    fn pps(&self) -> Option<f64> {
        (self.ns_per_packet.median > 0.0).then(|| 1e9 / self.ns_per_packet.median)
    }
}

/// Big maps and values are shown by their beginning; `--json` has all of it.
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

/// Reasons that the verdict says already.
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
