//! `cpu`: how much of a processor receiving takes, by hook and by packets offered a second.
//!
//! On veth a receiver's work is done wherever its sender runs, and a sender that paces its frames
//! never sleeps: the time of that processor means nothing. The receiver therefore polls in a kernel
//! thread on the other processor. What the thread has run for, in nanoseconds as the scheduler
//! counts them, is all that receiving takes there: driver, hook and stack, and the interrupts that
//! hit it. `/proc/stat` would count it in hundredths of a second, together with other processes.
//! Not included: the thread's wake-ups, which the sender's processor pays for.

mod active;
mod busy_poll;
mod published;

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use report::figure::{Series, XAxis};
use report::{Bench, Figure};

use crate::field::{Field, Flood};
use crate::harness::{Arm, Harness, Value};
use crate::hook::{self, Span};
use crate::{Effort, Kind, Scenario, Testbed};
use active::{ActiveReceiver, Receiver};

/// The scenario `cpu`.
pub const SCENARIO: Scenario = Scenario {
    name: "cpu",
    kind: Kind::Picture,
    about: "processor time that receiving takes, by packets offered: XDP, netfilter, busy polling",
    effort: Effort { rounds: 9, seconds: 0.25 },
    run,
};

fn run(harness: &mut Harness, testbed: &Testbed) -> Result<Bench> {
    testbed.lab_only()?;
    let field = &Field::build(testbed)?;
    ensure!(field.sender_cpu != field.receiver_cpu, "needs two processors");
    let receivers = receivers();
    let mut bench = Bench::new("cpu");
    tell(&mut bench, field, &receivers);
    let reach = reach(field)?;
    bench.note(format!("The sender reaches {reach} packets a second: no points above that."));
    let mut cells = Vec::new();
    for receiver in &receivers {
        for pps in RATES {
            if taken_at(*receiver, pps) && pps <= reach {
                cells.push((*receiver, pps));
            } else if taken_at(*receiver, pps) {
                bench.absent(&row(*receiver, pps), format!("the sender reaches {reach} a second"));
            }
        }
    }
    let mut arms: Vec<Arm> =
        cells.iter().map(|(receiver, pps)| arm(field, *receiver, *pps)).collect();
    harness.interleave(&mut bench, &mut arms)?;
    drop(arms);
    mark(&mut bench, &cells);
    draw(&mut bench, &cells);
    Ok(bench)
}

/// Hooks by name, and receivers that always use a whole processor.
fn receivers() -> Vec<Receiver> {
    let hooks = HOOKS.iter().filter_map(|name| hook::ALL.iter().find(|hook| hook.name == *name));
    hooks.map(Receiver::Hook).chain([Receiver::BusyPoll]).collect()
}

/// Receivers that always use a whole processor need few points.
fn taken_at(receiver: Receiver, pps: u64) -> bool {
    match receiver {
        Receiver::Hook(_) => true,
        Receiver::BusyPoll => BUSY_RATES.contains(&pps),
    }
}

fn row(receiver: Receiver, pps: u64) -> String {
    format!("{}@{pps}", receiver.name())
}

fn tell(bench: &mut Bench, field: &Field, receivers: &[Receiver]) {
    bench
        .method("One sender offers UDP frames of 60 bytes at a fixed rate, in small groups.")
        .method(
            "The receiver polls in a kernel thread on another processor; counted is the time that \
             this thread ran, and that of the process where one receives: % of one processor.",
        )
        .method(
            "Rows are named after the requested rate; the figure shows the offered rate. Rows \
             where the two differ by more than 10 % are marked.",
        );
    for receiver in receivers {
        bench.method(&format!("{}: {}.", receiver.name(), receiver.about()));
    }
    bench.note(format!(
        "veth: the sender runs on processor {}, the receiver on {}, favoured there over all \
         ordinary processes.",
        field.sender_cpu, field.receiver_cpu
    ));
}

/// Packets per second that the sender can offer to a receiver of this kind: in the best of a few
/// trials, so that a disturbance of its processor removes no points.
fn reach(field: &Field) -> Result<u64> {
    let (there, failed): (Vec<_>, Vec<_>) =
        (0..TRIALS).map(|_| trial(field)).partition(Result::is_ok);
    match there.into_iter().flatten().max() {
        Some(best) => Ok(best),
        None => failed.into_iter().next().unwrap_or(Ok(0)),
    }
}

fn trial(field: &Field) -> Result<u64> {
    let Some(native) = hook::ALL.iter().find(|hook| hook.name == HOOKS[0]) else {
        return Ok(u64::MAX);
    };
    let active = Receiver::Hook(native).start(field)?;
    let flood = field.flood(None, TRIAL)?;
    let begun = begin(&active)?;
    let span = Span::of(&flood, active.set(), || sleep(TRIAL.saturating_sub(begun)))?;
    Ok(span.offered_rate() as u64)
}

fn arm(field: &Field, receiver: Receiver, pps: u64) -> Arm<'_> {
    let name = row(receiver, pps);
    Arm::wide(&name.clone(), move |window| {
        let Cell { busy, span } = measure(field, receiver, pps, window)?;
        let mut values = vec![Value::new(&name, "%", busy)];
        if let Some(span) = span {
            values.push(Value::new(format!("offered/{name}"), "pps", span.offered_rate()));
            values.push(Value::new(format!("lost/{name}"), "%", span.lost()));
        }
        Ok(values)
    })
}

struct Cell {
    /// Percent of a processor.
    busy: f64,
    /// No share if nothing is offered.
    span: Option<Span>,
}

fn measure(field: &Field, receiver: Receiver, pps: u64, window: Duration) -> Result<Cell> {
    let active = receiver.start(field)?;
    if pps == 0 {
        return Ok(Cell { busy: busy(&active, window)?, span: None });
    }
    let flood = field.flood(Some(pps), window + PATIENCE)?;
    begin(&active)?;
    watch(&active, &flood, window)
}

/// Waits until packets end there; returns how long that took.
fn begin(active: &ActiveReceiver) -> Result<Duration> {
    let (start, before) = (Instant::now(), active.set().ended()?);
    lab::until("packets at the hook", PATIENCE, || {
        Ok(active.set().ended().is_ok_and(|ended| ended > before + WARM_UP).then_some(()))
    })?;
    Ok(start.elapsed())
}

fn watch(active: &ActiveReceiver, flood: &Flood, window: Duration) -> Result<Cell> {
    let mut share = None;
    let span = Span::of(flood, active.set(), || share = Some(busy(active, window)))?;
    let busy = share.unwrap_or(Ok(0.0))?;
    Ok(Cell { busy, span: Some(span) })
}

/// The share of a processor that receiving takes during the window.
fn busy(active: &ActiveReceiver, window: Duration) -> Result<f64> {
    let (start, before) = (Instant::now(), active.spent_ns()?);
    sleep(window);
    let (took, after) = (start.elapsed(), active.spent_ns()?);
    let share = 100.0 * after.saturating_sub(before) as f64 / took.as_nanos() as f64;
    // A tick more at the end than at the beginning is not real time.
    Ok(share.min(100.0))
}

/// Marks a processor without losses whose share is full: another process used it.
fn mark(bench: &mut Bench, cells: &[(Receiver, u64)]) {
    for (name, pps) in cells.iter().map(|(receiver, pps)| (row(*receiver, *pps), *pps)) {
        let offered = offered(bench, &name, pps);
        if !is_kept(offered, pps) {
            bench.mark(&name, format!("the sender offered {offered:.0} packets a second"));
        }
        let (lost, busy) = (bench.median(&format!("lost/{name}")), bench.median(&name));
        let (Some(lost), Some(busy)) = (lost, busy) else { continue };
        if lost >= 1.0 {
            let full =
                if busy >= FULL { "" } else { ", yet it was not full: others ran there, too" };
            bench.mark(&name, format!("{lost:.0} % of what was offered was lost{full}"));
        }
    }
}

/// Packets a second that a row's sender did offer.
fn offered(bench: &Bench, row: &str, pps: u64) -> f64 {
    bench.median(&format!("offered/{row}")).unwrap_or(pps as f64)
}

fn is_kept(offered: f64, pps: u64) -> bool {
    (offered - pps as f64).abs() <= TOLERANCE * pps as f64
}

fn draw(bench: &mut Bench, cells: &[(Receiver, u64)]) {
    let mut series: Vec<Series> = Vec::new();
    for (receiver, pps) in cells {
        let (name, row) = (receiver.name(), row(*receiver, *pps));
        if bench.median(&row).is_none() {
            continue;
        }
        let point = (offered(bench, &row, *pps), row);
        match series.iter_mut().find(|curve| curve.name == name) {
            Some(curve) => curve.points.push(point),
            None => series.push(Series { name: name.to_owned(), points: vec![point] }),
        }
    }
    // A sender that does not reach its rates may offer less of a higher one.
    series.iter_mut().for_each(|curve| curve.points.sort_by(|a, b| a.0.total_cmp(&b.0)));
    let x = XAxis { label: "offered".into(), unit: "pps".into(), is_logarithmic: false };
    let title = "Processor time that receiving and dropping takes";
    let subtitle = "share of one processor; where it is full, packets are lost";
    let figure = Figure::curves("cpu", title, x, series).subtitle(subtitle);
    bench.figure(published::beside(figure));
}

/// Names in [`hook::ALL`]; the sender's highest rate is measured with the first.
const HOOKS: [&str; 3] = ["xdp-native", "xdp-generic", "nft-raw"];
/// Packets offered a second.
const RATES: [u64; 9] =
    [0, 100_000, 250_000, 500_000, 1_000_000, 2_000_000, 3_000_000, 5_000_000, 20_000_000];
const BUSY_RATES: [u64; 3] = [0, 500_000, 2_000_000];
/// Percent of a processor that has no time left, but for wake-ups.
const FULL: f64 = 90.0;
/// Relative tolerance of a rate.
const TOLERANCE: f64 = 0.1;
/// How often, and how long each time, the sender's highest rate is measured.
const TRIALS: usize = 3;
const TRIAL: Duration = Duration::from_millis(150);
const PATIENCE: Duration = Duration::from_secs(5);
/// Packets that end before the clock starts.
const WARM_UP: u64 = 500;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_stands_over_what_was_offered() {
        let mut bench = Bench::new("cpu");
        let native = receivers()[0];
        for (row, unit, value) in [
            ("xdp-native@1000000", "%", 40.0),
            ("offered/xdp-native@1000000", "pps", 760_000.0),
            ("xdp-native@500000", "%", 20.0),
            ("offered/xdp-native@500000", "pps", 480_000.0),
        ] {
            bench.round(row, unit, value);
        }
        let cells = [(native, 1_000_000), (native, 500_000)];
        assert_eq!(offered(&bench, &row(native, 1_000_000), 1_000_000), 760_000.0);
        assert_eq!(offered(&bench, &row(native, 0), 0), 0.0);
        mark(&mut bench, &cells);
        let text = format!("{:?}", bench.notes());
        assert!(text.contains("the sender offered 760000 packets a second"), "{text}");
        assert!(!text.contains("the sender offered 480000"), "{text}");
    }

    #[test]
    fn busy_polling_has_points_among_those_of_the_others() {
        assert!(BUSY_RATES.iter().all(|pps| RATES.contains(pps)));
    }
}
