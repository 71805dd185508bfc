//! Text of `capture`.

use control::capture::{CaptureReport, Ended, PacketLine};

use super::{Paint, View};

impl View for PacketLine {
    fn text(&self, paint: Paint) -> String {
        let verdict = match self.verdict {
            "drop" | "aborted" | "invalid" => paint.bad(self.verdict),
            verdict => verdict.to_owned(),
        };
        let by = self.program.iter().map(|program| format!(" by {program}"));
        let changes = self.changes.iter().map(|changes| format!("; {changes}"));
        let notes: String = by.chain(changes).collect();
        format!("{:10.6}  {verdict}{notes}  {}, {} bytes", self.seconds, self.summary, self.length)
    }
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
