//! Text of `gen tcp`: goodput, retransmissions, round trips, outcomes.

mod live;

use report::number::human;
use report::table::{Column, Table};
use traffic::Quantiles;
use traffic::tcp::{Connection, Ends, Flows, Summary};

pub use live::HEIGHT;

use super::sink::time;
use super::{Paint, View};

impl View for Summary {
    fn text(&self, paint: Paint) -> String {
        let Quantiles { p50, p99, max, .. } = self.rtt_ns.quantiles();
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
        text.push_str(&format!("connections: {}\n", flows_line(&self.flows)));
        if self.flows.failed() > 0 {
            let failed = format!("{} connections failed", self.flows.failed());
            text.push_str(&format!("{}\n", paint.bad(&failed)));
        }
        let table = table(&self.connections).map(|table| format!("\n{table}"));
        text + &table.unwrap_or_default()
    }
}

fn table(connections: &[Connection]) -> Option<Table> {
    let texts = ["local", "state"].map(Column::text);
    let numbers = ["bytes", "goodput", "segments", "again", "RTT"].map(Column::number);
    let mut table = Table::new(texts.into_iter().chain(numbers));
    for one in connections {
        table.row([
            one.local.to_string(),
            one.end.unwrap_or(one.state).to_owned(),
            one.acked_bytes.to_string(),
            human(one.goodput_bps, "bit/s"),
            one.segments.to_string(),
            one.retransmissions.to_string(),
            one.rtt_us.map_or_else(|| "-".to_owned(), |us| human(us, "µs")),
        ]);
    }
    (!connections.is_empty()).then_some(table)
}

fn flows_line(flows: &Flows) -> String {
    let Flows { opened, established, ends } = flows;
    let Ends { closed, refused, reset, unanswered, timed_out, aborted } = ends;
    let words = [
        (opened, "opened"),
        (established, "established"),
        (closed, "closed"),
        (refused, "refused"),
        (reset, "reset"),
        (unanswered, "unanswered"),
        (timed_out, "timed out"),
        (aborted, "aborted at the end"),
    ];
    let counted = words.into_iter().filter(|(count, _)| **count > 0);
    let counted: Vec<_> = counted.map(|(count, word)| format!("{count} {word}")).collect();
    if counted.is_empty() { "none".to_owned() } else { counted.join(", ") }
}

#[cfg(test)]
mod tests;
