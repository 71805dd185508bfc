//! Text of `capture`.

use control::capture::{CaptureReport, Ended, PacketLine};

use super::{Paint, View};

impl View for PacketLine {
    fn text(&self, paint: Paint) -> String {
        let verdict = match self.verdict {
            "drop" | "aborted" | "invalid" => paint.bad(self.verdict),
            verdict => verdict.to_owned(),
        };
        let by = self.program.iter().map(|program| format!(" by {program}{}", why(self)));
        let changes = self.changes.iter().map(|changes| format!("; {changes}"));
        let notes: String = by.chain(changes).collect();
        format!("{:10.6}  {verdict}{notes}  {}, {} bytes", self.seconds, self.summary, self.length)
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
        let Self { interface, packets, written, lost, seconds, ended } = self;
        let why = match ended {
            Ended::Count => "",
            Ended::Time => ", the time is over",
            Ended::Interrupted => ", interrupted",
            Ended::ReaderGone => ", the reader closed the pipe",
        };
        format!(
            "{interface}: {packets} packets in {seconds:.1} s, {written} written, {lost} lost{why}"
        )
    }
}
