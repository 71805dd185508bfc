//! Text of `capture`.

use control::capture::{CaptureReport, Ended, InterfaceCounts, PacketLine};
use serde::Serialize;

use super::{Paint, View};

/// A packet, with the name of its interface if several are captured.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub struct NamedLine {
    pub line: PacketLine,
    #[serde(skip)]
    pub is_named: bool,
}

impl View for NamedLine {
    fn text(&self, paint: Paint) -> String {
        let PacketLine { seconds, interface, summary, length, .. } = &self.line;
        let name = if self.is_named { format!("{interface}  ") } else { String::new() };
        let verdict = match self.line.verdict {
            "drop" | "aborted" | "invalid" => paint.bad(self.line.verdict),
            verdict => verdict.to_owned(),
        };
        let by = self.line.program.iter();
        let by = by.map(|program| format!(" by {program}{}", why(&self.line)));
        let changes = self.line.changes.iter().map(|changes| format!("; {changes}"));
        let notes: String = by.chain(changes).collect();
        format!("{seconds:10.6}  {name}{verdict}{notes}  {summary}, {length} bytes")
    }
}

/// Why the program decided.
fn why(line: &PacketLine) -> String {
    let reason = line.reason.iter().filter(|reason| *reason != "rule" || line.rule.is_none());
    let reason = reason.map(|reason| format!(" ({})", reason.replace('-', " ")));
    let rule = line.rule.iter().map(|rule| format!(" rule {}: {}", rule.number, rule.text));
    reason.chain(rule).collect()
}

impl View for CaptureReport {
    fn text(&self, _paint: Paint) -> String {
        let Self { packets, written, lost, seconds, ended, interfaces, .. } = self;
        let names: Vec<_> = interfaces.iter().map(|one| one.interface.as_str()).collect();
        let names = names.join(", ");
        let why = match ended {
            Ended::Count => "",
            Ended::Time => ", the time is over",
            Ended::Interrupted => ", interrupted",
            Ended::ReaderGone => ", the reader closed the pipe",
        };
        let mut text = format!(
            "{names}: {packets} packets in {seconds:.1} s, {written} written, {lost} lost{why}"
        );
        if let [_, _, ..] = &interfaces[..] {
            for InterfaceCounts { interface, packets, written, lost } in interfaces {
                text.push_str(&format!(
                    "\n  {interface}: {packets} packets, {written} written, {lost} lost"
                ));
            }
        }
        text
    }
}
