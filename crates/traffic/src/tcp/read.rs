//! Converts the contents of the programs' maps to reports, without side effects.

use std::time::Duration;

use super::abi;
use super::plan::Plan;
use super::report::{Ends, FlowReport, Report, Rtt, Snapshot};
use crate::histogram::Histogram;

/// The totals from 64-bit words in the order of the C structure.
pub(super) fn totals(words: &[u64]) -> abi::Totals {
    let mut bytes = [0; abi::Totals::SIZE];
    for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    abi::Totals::from_bytes(&bytes)
}

pub(super) fn snapshot(totals: &abi::Totals, rtt_ns: Histogram, elapsed: Duration) -> Snapshot {
    let ended = |end: abi::End| totals.ends[end as usize];
    Snapshot {
        elapsed,
        opened: totals.opened,
        established: totals.established,
        ends: Ends {
            closed: ended(abi::End::Closed),
            refused: ended(abi::End::Refused),
            reset: ended(abi::End::Reset),
            unanswered: ended(abi::End::Unanswered),
            timed_out: ended(abi::End::TimedOut),
            aborted: ended(abi::End::Aborted),
        },
        acked_bytes: totals.acked,
        segments: totals.segments,
        data_segments: totals.data_segments,
        fast_retransmissions: totals.fast_repeats,
        timeout_retransmissions: totals.timeout_repeats,
        timeouts: totals.timeouts,
        window_probes: totals.probes,
        sack_overflows: totals.range_overflows,
        unacceptable: totals.unacceptable,
        rtt_ns,
    }
}

/// The report of a run; `now` is the time by the clock of the programs.
pub(super) fn report(
    plan: &Plan,
    totals: Snapshot,
    flows: &[abi::Flow],
    now: u64,
    stopped: bool,
) -> Report {
    let begun = flows.iter().map(|flow| flow.established).filter(|time| *time > 0).min();
    let ended = flows.iter().map(|flow| flow.progress).max().unwrap_or(0);
    let seconds = begun.map_or(0.0, |begun| seconds(begun, ended));
    let repeated = totals.fast_retransmissions + totals.timeout_retransmissions;
    Report {
        seconds,
        goodput_bps: share(totals.acked_bytes as f64 * 8.0, seconds),
        retransmitted: share(repeated as f64, totals.data_segments as f64),
        flows: (0..).zip(flows).map(|(number, flow)| one(plan, number, flow, now)).collect(),
        totals,
        stopped,
    }
}

fn one(plan: &Plan, number: u32, flow: &abi::Flow, now: u64) -> FlowReport {
    let until = if flow.ended > 0 { flow.progress } else { now };
    let time = if flow.established > 0 { seconds(flow.established, until) } else { 0.0 };
    let acked = acked(flow);
    FlowReport {
        local: plan.local(number),
        state: label(&abi::State::ALL, flow.state).map_or("", abi::State::label),
        end: label(&abi::End::ALL, flow.end)
            .filter(|end| *end != abi::End::None)
            .map(abi::End::label),
        acked_bytes: acked,
        goodput_bps: share(acked as f64 * 8.0, time),
        segments: flow.segments,
        fast_retransmissions: flow.fast_repeats.into(),
        timeout_retransmissions: flow.timeout_repeats.into(),
        congestion_window: flow.cwnd,
        window: flow.window,
        rtt: (flow.rtt_least > 0).then(|| Rtt {
            last: Duration::from_nanos(flow.rtt_last.into()),
            least: Duration::from_nanos(flow.rtt_least.into()),
            smoothed: Duration::from_nanos(flow.rtt),
        }),
    }
}

/// Acknowledged payload, without SYN and FIN.
fn acked(flow: &abi::Flow) -> u64 {
    flow.una.saturating_sub(1).min(flow.limit)
}

fn label<T: Copy>(all: &[T], number: u8) -> Option<T> {
    all.get(usize::from(number)).copied()
}

fn seconds(from: u64, to: u64) -> f64 {
    Duration::from_nanos(to.saturating_sub(from)).as_secs_f64()
}

fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
