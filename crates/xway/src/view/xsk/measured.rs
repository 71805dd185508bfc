//! Text of `xsk bench`.

use bench::load::{InterfaceCounters, LoadReport, Role, Setup};
use report::number::human;
use serde::Serialize;
use traffic::Quantiles;

use crate::view::sink::time;
use crate::view::{Paint, View};

/// The line that announces, with `--ready`, that packets may be sent to the sockets.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Ready {
    /// Always `true`.
    pub ready: bool,
}

impl View for Ready {
    fn text(&self, _paint: Paint) -> String {
        "ready\n".to_owned()
    }
}

/// Where threads run, and how packets reach the sockets.
pub fn setup_line(setup: &Setup) -> String {
    let mode = match (setup.zero_copy, &setup.why_copy) {
        (true, _) => "zero copy".to_owned(),
        (false, Some(why)) => format!("copy mode: {why}"),
        (false, None) => "copy mode".to_owned(),
    };
    format!("{}; {mode}", setup.workers.join("; "))
}

fn counts(report: &LoadReport) -> String {
    let mut parts = Vec::new();
    if report.setup.role != Role::Rx {
        parts.push(format!("sent {} ({} completed)", report.sent, report.completed));
    }
    if report.setup.role != Role::Tx {
        parts.push(format!("received {}, missing {}", report.received, report.missing));
    }
    let rest = [
        (report.duplicated, "twice"),
        (report.reordered, "reordered"),
        (report.unanswered, "unanswered"),
        (report.foreign, "without a number"),
    ];
    let rest = rest.iter().filter(|(count, _)| *count > 0);
    parts.extend(rest.map(|(count, what)| format!("{count} {what}")));
    parts.join(", ")
}

/// Losses outside of the sockets.
fn interface_line(counters: &InterfaceCounters) -> Option<String> {
    let counts = [
        (counters.rx_dropped, "rx_dropped"),
        (counters.rx_errors, "rx_errors"),
        (counters.tx_dropped, "tx_dropped"),
        (counters.tx_errors, "tx_errors"),
    ];
    let counted = counts.iter().filter(|(count, _)| *count > 0);
    let counted: Vec<_> = counted.map(|(count, name)| format!("{name} {count}")).collect();
    (!counted.is_empty()).then(|| format!("{} counted: {}", counters.interface, counted.join(", ")))
}

impl View for LoadReport {
    fn text(&self, paint: Paint) -> String {
        let mut lines = vec![
            paint.bold(&counts(self)),
            format!(
                "{} over {:.2} s; a packet cost {} user, {} system",
                human(self.pps, "pps"),
                self.seconds,
                human(self.user_ns_per_packet, "ns"),
                human(self.system_ns_per_packet, "ns"),
            ),
        ];
        let Quantiles { min, p50, p99, max, .. } = self.round_trip_ns;
        if p50.is_some() {
            let [min, p50, p99, max] = [min, p50, p99, max].map(time);
            lines.push(format!("round trips: min {min}, p50 {p50}, p99 {p99}, max {max}"));
        }
        if !self.losses.is_empty() {
            let losses = self.losses.iter().map(|loss| format!("{} {}", loss.name, loss.count));
            lines.push(format!("sockets counted: {}", losses.collect::<Vec<_>>().join(", ")));
        }
        lines.extend(self.interfaces.iter().filter_map(interface_line));
        lines.join("\n") + "\n"
    }
}
