//! Text of a run over a capture: verdicts, targets, rates, maps, the first difference.

mod cover;
mod difference;
mod explain;
mod nature;
mod trace;

use report::number::human;
use report::table::Column;
use report::{Stats, Table, text};
use runner::{Event, Events, Rates, Report, Tallied, Unfit};

use super::{Paint, View};

impl View for Report {
    fn text(&self, paint: Paint) -> String {
        let title = format!("{} `{}` in the {}", self.object, self.program, self.runtime);
        let early = if self.interrupted { " (stopped early)" } else { "" };
        let mut text = format!("{}: {} packets{early}\n\n", paint.bold(&title), self.tally.packets);
        text.push_str(&tally_text(&self.tally, paint));
        if let Unfit { packets, first: Some(first) } = self.unfit {
            text.push_str(&format!(
                "{packets} packets were not run, first packet {first}: shorter than an Ethernet \
                 header, longer than one buffer and the program is not `xdp.frags`, or of a \
                 protocol that Ethernet does not carry\n"
            ));
        }
        for (link_type, packets) in &self.framed {
            text.push_str(&format!("{packets} {link_type} packets got an Ethernet header\n"));
        }
        if let Some(rates) = &self.rates {
            text.push_str(&rates_text(rates));
        }
        for map in &self.maps {
            text.push('\n');
            text.push_str(&shortened(&map.text(paint)));
        }
        for events in &self.events {
            text.push_str(&events_text(events, paint));
        }
        text.push_str(&log_text(&self.log, paint));
        if let Some(coverage) = &self.coverage {
            text.push_str(&cover::text(coverage, paint));
        }
        for file in &self.files {
            text.push_str(&format!("wrote {}\n", text::line(&file.to_string_lossy())));
        }
        text.push_str(&difference_text(self, paint));
        text.push_str(&self.not_compared.as_ref().map(nature::text).unwrap_or_default());
        text
    }
}

fn rates_text(rates: &Rates) -> String {
    let Stats { min, median, max, rounds } = rates.stats;
    let rate = rates.pps.map(|pps| format!(", {}", human(pps, "pps"))).unwrap_or_default();
    format!(
        "{median:.1} ns per packet{rate} (median of {rounds} rounds over {} packets; \
         {min:.1} to {max:.1})\n",
        rates.packets,
    )
}

fn log_text(log: &[String], paint: Paint) -> String {
    if log.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{}\n", paint.bold("printed by the program"));
    for line in log.iter().take(LOG_LINES) {
        text.push_str(&format!("  {}\n", text::line(line.trim_end())));
    }
    if log.len() > LOG_LINES {
        text.push_str(&format!("  and {} lines more\n", log.len() - LOG_LINES));
    }
    text
}

fn difference_text(report: &Report, paint: Paint) -> String {
    match &report.first_difference {
        Some(difference) => format!("\n{}", difference::text(difference, paint)),
        None if report.runtime.contains("and") => {
            format!("\n{}\n", paint.good("no difference in verdicts, bytes or maps"))
        }
        None => String::new(),
    }
}

fn events_text(events: &Events, paint: Paint) -> String {
    let Events { map, records, lost, first } = events;
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

fn tally_text(tally: &Tallied, paint: Paint) -> String {
    let mut table = Table::new([
        Column::text("verdict"),
        Column::number("packets"),
        Column::number("share"),
        Column::number("bytes"),
    ]);
    for (name, counted) in tally.verdicts.iter().filter(|(_, counted)| counted.packets > 0) {
        let share = 100.0 * counted.packets as f64 / tally.packets as f64;
        table.row([
            (*name).to_owned(),
            counted.packets.to_string(),
            format!("{share:.1} %"),
            human(counted.bytes as f64, "B"),
        ]);
    }
    let mut text = if tally.packets == 0 { String::new() } else { format!("{table}\n") };
    for (target, packets) in &tally.redirects {
        text.push_str(&format!("to {}: {packets} packets\n", text::line(target)));
    }
    if tally.stack > 0 {
        text.push_str(&format!("to the stack: {} packets\n", tally.stack));
    }
    let losses = tally.drops.iter().filter(|(reason, _)| !BY_VERDICT.contains(reason));
    for (reason, packets) in losses {
        text.push_str(&format!("lost, {reason}: {packets} packets\n"));
    }
    if let Some(fault) = &tally.first_fault {
        let count = match tally.faults {
            1 => "1 fault".to_owned(),
            faults => format!("{faults} faults; the first"),
        };
        let place = paint.bad(&format!("{count}, packet {}", fault.packet));
        text.push_str(&format!("{place}: {}\n", text::line(&fault.message)));
    }
    text
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
