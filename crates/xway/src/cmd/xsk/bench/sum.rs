//! The result of a run, from the counters of its workers.

use bench::load::{Tally, Tracker};
use xsk::Stats;

use crate::view::sink::Times;
use crate::view::xsk::{Facts, Loss, Measured};

pub fn sum(facts: Facts, tallies: &[Tally]) -> Measured {
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
    Measured {
        facts,
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
        round_trip_ns: Times::of(&round_trips),
    }
}

/// Counters of lost and delayed packets that are not zero, by the names of the library.
fn losses(tallies: &[Tally]) -> Vec<Loss> {
    type Field = fn(&Stats) -> u64;
    let fields: [(&str, Field); 13] = [
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
