//! What connections came to: goodput, retransmissions, round trips, how they ended.

mod live;

use report::number::human;
use report::table::{Column, Table};
use serde::Serialize;
use traffic::tcp::{Ends, FlowReport, Report, Snapshot};

pub use live::{Sample, Talking};

use super::sink::{Times, time};
use super::{Paint, View};

/// Serialises to the contract for scripts too: `sent` are segments; whether the interface took
/// them is not known.
#[derive(Clone, Debug, Serialize)]
pub struct Talked {
    pub sent: u64,
    pub not_sent: Option<u64>,
    pub seconds: f64,
    pub pps: f64,
    /// Bits of acknowledged payload a second.
    pub goodput_bps: f64,
    pub acked_bytes: u64,
    pub flows: Flows,
    pub data_segments: u64,
    pub fast_retransmissions: u64,
    pub timeout_retransmissions: u64,
    pub timeouts: u64,
    /// Share of data segments, 0 to 1.
    pub retransmitted: f64,
    pub window_probes: u64,
    pub unacceptable: u64,
    pub rtt_ns: Times,
    pub stopped: bool,
    /// Each one, where that was asked for.
    pub connections: Vec<Connection>,
}

/// Connections, by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Flows {
    pub opened: u64,
    pub established: u64,
    pub closed: u64,
    pub refused: u64,
    pub reset: u64,
    pub unanswered: u64,
    pub timed_out: u64,
    pub aborted: u64,
}

#[derive(Clone, Debug, Serialize)]
pub struct Connection {
    pub local: String,
    pub state: &'static str,
    pub end: Option<&'static str>,
    pub acked_bytes: u64,
    pub goodput_bps: f64,
    pub segments: u64,
    pub retransmissions: u64,
    pub rtt_us: Option<f64>,
}

impl Talked {
    /// `each` lists the connections, too.
    pub fn new(report: &Report, each: bool) -> Self {
        let totals = &report.totals;
        let shown = if each { report.flows.as_slice() } else { &[] };
        let pps = match report.seconds {
            none if none <= 0.0 => 0.0,
            seconds => totals.segments as f64 / seconds,
        };
        Self {
            sent: totals.segments,
            not_sent: None,
            seconds: report.seconds,
            pps,
            goodput_bps: report.goodput_bps,
            acked_bytes: totals.acked_bytes,
            flows: Flows::of(totals),
            data_segments: totals.data_segments,
            fast_retransmissions: totals.fast_retransmissions,
            timeout_retransmissions: totals.timeout_retransmissions,
            timeouts: totals.timeouts,
            retransmitted: report.retransmitted,
            window_probes: totals.window_probes,
            unacceptable: totals.unacceptable,
            rtt_ns: Times::of(&totals.rtt_ns),
            stopped: report.stopped,
            connections: shown.iter().map(Connection::of).collect(),
        }
    }

    fn table(&self) -> Option<Table> {
        let texts = ["local", "state"].map(Column::text);
        let numbers = ["bytes", "goodput", "segments", "again", "RTT"].map(Column::number);
        let mut table = Table::new(texts.into_iter().chain(numbers));
        for one in &self.connections {
            table.row([
                one.local.clone(),
                one.end.unwrap_or(one.state).to_owned(),
                one.acked_bytes.to_string(),
                human(one.goodput_bps, "bit/s"),
                one.segments.to_string(),
                one.retransmissions.to_string(),
                one.rtt_us.map_or_else(|| "-".to_owned(), |us| human(us, "µs")),
            ]);
        }
        (!self.connections.is_empty()).then_some(table)
    }
}

impl View for Talked {
    fn text(&self, paint: Paint) -> String {
        let Times { p50, p99, max, .. } = self.rtt_ns;
        let [p50, p99, max] = [p50, p99, max].map(time);
        let mut text = format!(
            "{} of payload acknowledged in {}: {} of goodput{}\n\
             {} segments ({}), {} of {} with data sent again ({:.2} %)\n\
             round trips: p50 {p50}, p99 {p99}, max {max}\n",
            human(self.acked_bytes as f64, "B"),
            human(self.seconds, "s"),
            human(self.goodput_bps, "bit/s"),
            if self.stopped { ", stopped" } else { "" },
            self.sent,
            human(self.pps, "pps"),
            self.fast_retransmissions + self.timeout_retransmissions,
            self.data_segments,
            100.0 * self.retransmitted,
        );
        text.push_str(&format!("connections: {}\n", self.flows.line()));
        if self.flows.failed() > 0 {
            let failed = format!("{} connections failed", self.flows.failed());
            text.push_str(&format!("{}\n", paint.bad(&failed)));
        }
        self.table().map_or(text.clone(), |table| format!("{text}\n{table}"))
    }
}

impl Flows {
    fn of(totals: &Snapshot) -> Self {
        let Ends { closed, refused, reset, unanswered, timed_out, aborted } = totals.ends;
        let Snapshot { opened, established, .. } = *totals;
        Self { opened, established, closed, refused, reset, unanswered, timed_out, aborted }
    }

    /// Ended by the other end, or by its silence.
    pub fn failed(&self) -> u64 {
        self.refused + self.reset + self.unanswered + self.timed_out
    }

    fn line(&self) -> String {
        let words = [
            (self.opened, "opened"),
            (self.established, "established"),
            (self.closed, "closed"),
            (self.refused, "refused"),
            (self.reset, "reset"),
            (self.unanswered, "unanswered"),
            (self.timed_out, "timed out"),
            (self.aborted, "given up at the end"),
        ];
        let told = words.into_iter().filter(|(count, _)| *count > 0);
        let told: Vec<_> = told.map(|(count, word)| format!("{count} {word}")).collect();
        if told.is_empty() { "none".to_owned() } else { told.join(", ") }
    }
}

impl Connection {
    fn of(flow: &FlowReport) -> Self {
        Self {
            local: flow.local.to_string(),
            state: flow.state,
            end: flow.end,
            acked_bytes: flow.acked_bytes,
            goodput_bps: flow.goodput_bps,
            segments: flow.segments,
            retransmissions: flow.fast_retransmissions + flow.timeout_retransmissions,
            rtt_us: flow.rtt.map(|rtt| rtt.smoothed.as_secs_f64() * 1e6),
        }
    }
}

#[cfg(test)]
mod tests;
