//! `LoadReport`: the result of a run, from the counters of its workers.

use serde::Serialize;
use sys::net::Statistics;
use traffic::Quantiles;
use xsk::Stats;

use super::plan::{Progress, Role};
use super::recorder::Tally;
use super::tracker::Tracker;

/// The attributes that are known before the first packet.
#[derive(Clone, Debug, Serialize)]
pub struct Setup {
    /// What the sockets do.
    pub role: Role,
    /// Interface.
    pub dev: String,
    /// Egress interface of the role `forward`.
    pub out_dev: Option<String>,
    /// All sockets work without a copy, as the kernel reports.
    pub zero_copy: bool,
    /// Why packets are copied, where that is known.
    pub why_copy: Option<String>,
    /// Where each queue's thread runs, and why there.
    pub workers: Vec<String>,
}

/// Packets that were lost or delayed, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Loss {
    /// Name of the counter, as `xsk.md` explains it; `refused` are packets that found no room to be
    /// sent on.
    pub name: &'static str,
    /// Packets or events; not 0.
    pub count: u64,
}

/// Growth of an interface's own counters during the run.
#[derive(Clone, Debug, Serialize)]
pub struct InterfaceCounters {
    /// Name of the interface.
    pub interface: String,
    /// Packets received.
    pub rx_packets: u64,
    /// Received packets that were dropped.
    pub rx_dropped: u64,
    /// Receive errors.
    pub rx_errors: u64,
    /// Packets sent.
    pub tx_packets: u64,
    /// Packets to be sent that were dropped.
    pub tx_dropped: u64,
    /// Transmit errors.
    pub tx_errors: u64,
}

/// The result of a run, of all workers together.
#[derive(Clone, Debug, Serialize)]
pub struct LoadReport {
    #[serde(flatten)]
    pub setup: Setup,
    /// Packets given to the kernel.
    pub sent: u64,
    /// Packets that the kernel returned as sent.
    pub completed: u64,
    /// Different numbered packets that were received.
    pub received: u64,
    /// Numbers between the first and the last that were not received.
    pub missing: u64,
    /// Packets received again. A packet that is more than 1,024 gaps late counts here.
    pub duplicated: u64,
    /// Packets received after a later one.
    pub reordered: u64,
    /// Packets without a number.
    pub foreign: u64,
    /// Round trips that did not end in 200 ms (`rtt`).
    pub unanswered: u64,
    /// Packets that the kernel could not pass to the sockets: `rx_dropped` and `rx_ring_full`.
    pub dropped: u64,
    /// Time from the first packet to the last, in seconds.
    pub seconds: f64,
    /// Packets received per second, or sent where none are received.
    pub pps: f64,
    /// Processor time in user mode of all threads from their first packet on, in nanoseconds.
    pub user_ns: u64,
    /// Processor time in the kernel, in nanoseconds; on veth that of the sender includes the
    /// receiver's work in the kernel.
    pub system_ns: u64,
    /// `user_ns` per packet.
    pub user_ns_per_packet: f64,
    /// `system_ns` per packet.
    pub system_ns_per_packet: f64,
    /// Counters of the sockets that are not 0.
    pub losses: Vec<Loss>,
    /// Growth of the interfaces' own counters.
    pub interfaces: Vec<InterfaceCounters>,
    /// Round-trip times, in nanoseconds (`rtt`).
    pub round_trip_ns: Quantiles,
}

/// Counters of a run, and rates since the reading before.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// Seconds since the first packet.
    pub t: f64,
    /// Packets given to the kernel so far.
    pub sent: u64,
    /// Different numbered packets received so far.
    pub received: u64,
    /// Numbers that were not received so far.
    pub missing: u64,
    /// Packets sent per second since the line before.
    pub sent_pps: f64,
    /// Packets received per second since the line before.
    pub received_pps: f64,
}

impl Interval {
    /// The counters of `now`, and the rates since `before`.
    pub fn between(before: Progress, now: Progress) -> Self {
        let seconds = now.elapsed.as_secs_f64() - before.elapsed.as_secs_f64();
        let rate = |old: u64, new: u64| {
            if seconds > 0.0 { new.saturating_sub(old) as f64 / seconds } else { 0.0 }
        };
        Self {
            t: now.elapsed.as_secs_f64(),
            sent: now.sent,
            received: now.received,
            missing: now.missing,
            sent_pps: rate(before.sent, now.sent),
            received_pps: rate(before.received, now.received),
        }
    }
}

impl LoadReport {
    /// Sums the counters of all workers.
    pub fn new(setup: Setup, tallies: &[Tally]) -> Self {
        let total = |field: fn(&Tally) -> u64| -> u64 { tallies.iter().map(field).sum() };
        let mut tracker = Tracker::default();
        tallies.iter().for_each(|tally| tracker.add(&tally.tracker));
        let arrived = tracker.arrived();
        let seconds = tallies.iter().map(|tally| tally.time.as_secs_f64()).fold(0.0, f64::max);
        let packets = total(|tally| tally.sent.max(tally.tracker.arrived().received));
        let (user_ns, system_ns) =
            (total(|tally| tally.spent.user_ns), total(|tally| tally.spent.system_ns));
        let each = |ns: u64| if packets > 0 { ns as f64 / packets as f64 } else { 0.0 };
        let mut round_trips = traffic::Histogram::default();
        tallies.iter().for_each(|tally| round_trips.add(&tally.round_trips_ns));
        Self {
            setup,
            sent: total(|tally| tally.sent),
            completed: total(|tally| tally.completed),
            received: arrived.received,
            missing: arrived.missing,
            duplicated: arrived.duplicated,
            reordered: arrived.reordered,
            foreign: tracker.foreign,
            unanswered: total(|tally| tally.unanswered),
            dropped: total(|tally| tally.stats.kernel.rx_dropped + tally.stats.kernel.rx_ring_full),
            seconds,
            pps: if seconds > 0.0 { packets as f64 / seconds } else { 0.0 },
            user_ns,
            system_ns,
            user_ns_per_packet: each(user_ns),
            system_ns_per_packet: each(system_ns),
            losses: losses(tallies),
            interfaces: Vec::new(),
            round_trip_ns: round_trips.quantiles(),
        }
    }

    /// Notes by how much the counters of each interface grew.
    pub fn note_interfaces(
        &mut self,
        before: &[(String, Statistics)],
        after: &[(String, Statistics)],
    ) {
        let pairs = before.iter().zip(after);
        let grown = pairs.map(|((name, old), (_, new))| InterfaceCounters::between(name, old, new));
        self.interfaces = grown.collect();
    }
}

impl InterfaceCounters {
    fn between(name: &str, old: &Statistics, new: &Statistics) -> Self {
        let more = |field: fn(&Statistics) -> u64| field(new).saturating_sub(field(old));
        Self {
            interface: name.to_owned(),
            rx_packets: more(|all| all.rx_packets),
            rx_dropped: more(|all| all.rx_dropped),
            rx_errors: more(|all| all.rx_errors),
            tx_packets: more(|all| all.tx_packets),
            tx_dropped: more(|all| all.tx_dropped),
            tx_errors: more(|all| all.tx_errors),
        }
    }
}

/// Counters of lost and delayed packets that are not zero, by the names of the library.
fn losses(tallies: &[Tally]) -> Vec<Loss> {
    type Field = fn(&Stats) -> u64;
    let fields: [(&'static str, Field); 13] = [
        ("rx_ring_full", |stats| stats.kernel.rx_ring_full),
        ("rx_dropped", |stats| stats.kernel.rx_dropped),
        ("fill_ring_empty", |stats| stats.kernel.fill_ring_empty),
        ("fill_invalid", |stats| stats.kernel.fill_invalid),
        ("tx_invalid", |stats| stats.kernel.tx_invalid),
        ("rx.starved", |stats| stats.rx.starved),
        ("rx.invalid", |stats| stats.rx.invalid),
        ("rx.too_long", |stats| stats.rx.too_long),
        ("tx.dropped", |stats| stats.tx.dropped),
        ("tx.full", |stats| stats.tx.full),
        ("tx.kicks_refused", |stats| stats.tx.kicks_refused),
        ("tx.invalid", |stats| stats.tx.invalid),
        ("faults", |stats| stats.rx.faults + stats.tx.faults),
    ];
    let sum = |field: Field| tallies.iter().map(|tally| field(&tally.stats)).sum();
    let own = [("refused", tallies.iter().map(|tally| tally.refused).sum())];
    let all = fields.iter().map(|(name, field)| (*name, sum(*field))).chain(own);
    all.filter(|(_, count)| *count > 0).map(|(name, count)| Loss { name, count }).collect()
}
