//! The rows of each pane, as text with what they stand for.

use std::ops::Range;

use control::inventory::Content;
use report::text;
use runner::debug::{Answer, StopPoint};

use super::{Pane, Report};

/// A row of a pane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Safe for a terminal.
    pub text: String,
    /// It is the next line or instruction.
    pub is_next: bool,
    /// It is a heading.
    pub is_heading: bool,
    /// Its value was another at the position before.
    pub is_changed: bool,
    /// The place of a breakpoint here, or the expression to watch.
    pub subject: Option<String>,
}

/// The rows of a pane. Those of the packet depend on the width ([`packet_row`]).
pub fn of(pane: Pane, report: &Report, before: &[(String, String)]) -> Vec<Row> {
    match pane {
        Pane::Source => source(report),
        Pane::Code => code(report),
        Pane::Values => value_rows(report, before),
        Pane::Packet => Vec::new(),
        Pane::Maps => maps(report),
    }
}

/// The row with the next line or instruction.
pub fn row_of_next(report: &Report, pane: Pane) -> usize {
    let rows = of(pane, report, &[]);
    rows.iter().position(|row| row.is_next).unwrap_or(0)
}

/// Names and texts of all values.
pub fn values(report: &Report) -> Vec<(String, String)> {
    let state = &report.overview.state;
    let displays = report.overview.stop.displays.iter().map(|display| &display.answer);
    let answers = state.locals.iter().chain(&state.registers).chain(&state.globals);
    let answers = answers.chain(displays);
    answers.map(|answer| (answer.name.clone(), answer.text.clone())).collect()
}

/// The breakpoint at a place.
pub fn point_at<'a>(points: &'a [StopPoint], place: &str) -> Option<&'a StopPoint> {
    points.iter().find(|point| point.kind == "breakpoint" && point.what == place)
}

fn source(report: &Report) -> Vec<Row> {
    let Some(listing) = &report.source else { return Vec::new() };
    let place = report.chosen().and_then(|place| place.source.as_ref());
    let next = place.filter(|place| place.file == listing.file).map(|place| place.line);
    let rows = listing.lines.iter().map(|line| {
        let subject = format!("{}:{}", listing.file, line.line);
        let is_next = next == Some(line.line);
        let marks = marks(report, &subject, is_next);
        let content = safe(&line.text);
        let text = format!("{marks}{:>4} {content}", line.line);
        Row { text, is_next, subject: Some(subject), ..Row::default() }
    });
    rows.collect()
}

fn code(report: &Report) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut function = "";
    for line in &report.code {
        if line.function != function {
            function = &line.function;
            let text = format!("{}:", text::line(function));
            rows.push(Row { text, is_heading: true, ..Row::default() });
        }
        let subject = format!("*{}:{}", line.program, line.slot);
        let marks = marks(report, &subject, line.is_next);
        let text = format!("{marks}{:>4} {}", line.slot, safe(&line.insn));
        let subject = Some(subject);
        rows.push(Row { text, is_next: line.is_next, subject, ..Row::default() });
    }
    rows
}

/// Whether a breakpoint is here, and whether it comes next.
fn marks(report: &Report, place: &str, is_next: bool) -> String {
    let point = match point_at(&report.points, place) {
        Some(point) if point.enabled => '●',
        Some(_) => '○',
        None => ' ',
    };
    let next = if is_next { '▶' } else { ' ' };
    format!("{point}{next}")
}

fn value_rows(report: &Report, before: &[(String, String)]) -> Vec<Row> {
    let state = &report.overview.state;
    let groups = [
        ("local variables", &state.locals),
        ("registers", &state.registers),
        ("global variables", &state.globals),
    ];
    let groups = groups.into_iter().filter(|(_, answers)| !answers.is_empty());
    let groups = groups.flat_map(|(name, answers)| {
        let rows = answers.iter().map(|answer| value(answer, before));
        std::iter::once(heading(name)).chain(rows)
    });
    let displays = report.overview.stop.displays.iter();
    let title = (displays.len() > 0).then(|| heading("displays"));
    let displays = displays.map(|display| value(&display.answer, before));
    title.into_iter().chain(displays).chain(groups).collect()
}

fn value(answer: &Answer, before: &[(String, String)]) -> Row {
    let old = before.iter().find(|(name, _)| *name == answer.name);
    let is_changed = old.is_some_and(|(_, old)| *old != answer.text);
    let mark = if is_changed { '*' } else { ' ' };
    let text = format!("{mark}{} = {}", safe(&answer.name), safe(&answer.text));
    Row { text, is_changed, subject: Some(answer.name.clone()), ..Row::default() }
}

fn maps(report: &Report) -> Vec<Row> {
    let mut rows = Vec::new();
    for map in &report.overview.maps {
        let name = text::line(&map.name);
        let entries = match &map.entries {
            Ok(listed) => &listed.entries,
            Err(why) => {
                rows.push(heading(&format!("{name}: {}", text::line(why))));
                continue;
            }
        };
        rows.push(heading(&format!("{name} ({})", entries.len())));
        rows.extend(entries.iter().map(|entry| {
            let key = entry.key.to_string();
            let value = match &entry.content {
                Content::One { value } => value.to_string(),
                Content::PerCpu { sum: Some(sum), .. } => sum.to_string(),
                Content::PerCpu { cpus, .. } => {
                    let values = cpus.iter().map(ToString::to_string);
                    values.collect::<Vec<_>>().join(", ")
                }
            };
            let subject = Some(format!("map {}[{key}]", map.name));
            let text = format!(" {}: {}", safe(&key), safe(&value));
            Row { text, subject, ..Row::default() }
        }));
    }
    rows
}

fn heading(name: &str) -> Row {
    Row { text: name.to_owned(), is_heading: true, ..Row::default() }
}

/// One row of the packet's bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketRow {
    /// Offset of the first byte.
    pub offset: usize,
    /// Digits of each byte, and whether it differs from what was received.
    pub bytes: Vec<(String, bool)>,
    /// Names of headers that begin here.
    pub headers: String,
}

/// The rows of the packet, with `width` bytes each.
pub fn packet_rows(report: &Report, width: usize) -> Vec<PacketRow> {
    let packet = &report.overview.state.packet;
    let digits: Vec<&[u8]> = packet.bytes.as_bytes().chunks(2).collect();
    let is_changed = |offset: usize| {
        packet.changed.iter().any(|span| (span.offset..span.offset + span.len).contains(&offset))
    };
    let row = |(number, bytes): (usize, &[&[u8]])| {
        let offset = number * width;
        let range: Range<usize> = offset..offset + bytes.len();
        let headers = packet.headers.iter().filter(|header| range.contains(&header.span.offset));
        let headers: Vec<_> = headers.map(|header| text::line(&header.name)).collect();
        let bytes = (offset..)
            .zip(bytes)
            .map(|(offset, byte)| (String::from_utf8_lossy(byte).into_owned(), is_changed(offset)));
        PacketRow { offset, bytes: bytes.collect(), headers: headers.join(", ") }
    };
    digits.chunks(width).enumerate().map(row).collect()
}

/// External text on one line, with indentation by spaces.
fn safe(text: &str) -> String {
    text::line(&text.replace('\t', "    ")).into_owned()
}
