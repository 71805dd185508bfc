//! `forward`: how many UDP frames per second arrive after a forwarder, by forwarding path, from
//! user space down to the driver.
//!
//! The sink counts what arrives and inspects some of it: a path that corrupts packets is left out.
//! `limit` is the sink on the first link: a path near it is bounded by the sender.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use report::{Bench, Figure};

use crate::field::{Flood, Line};
use crate::harness::{Arm, Harness, Value};
use crate::path::{self, ActivePath, Journey, Path, Sink};
use crate::transient::Transient;
use crate::{Effort, Kind, Scenario, Testbed};

/// The scenario `forward`.
pub const SCENARIO: Scenario = Scenario {
    name: "forward",
    kind: Kind::Picture,
    about: "packets per second that arrive after a forwarder: proxies, netfilter, tc, bridge, XDP",
    effort: Effort::SHORT,
    run,
};

fn run(harness: &mut Harness, testbed: &Testbed) -> Result<Bench> {
    let line = &Line::build(testbed)?;
    let mut bench = Bench::new("forward");
    tell(&mut bench);
    bench.note(line.facts());
    let mut arms: Vec<Arm> = path::ALL.iter().map(|path| arm(line, path)).collect();
    harness.interleave(&mut bench, &mut arms)?;
    drop(arms);
    draw(&mut bench);
    for path in path::ALL.iter().filter(|path| path.name != BASE) {
        bench.ratio(path.name, BASE);
    }
    Ok(bench)
}

fn tell(bench: &mut Bench) {
    bench
        .method("One sender floods a forwarder with UDP frames of 60 bytes, all of one flow.")
        .method(
            "The forwarder sends them to the sink in one way after the other; a least XDP program \
             there counts and drops them. Counted is what arrived, not what was sent.",
        )
        .method(
            "One in 64 that arrive is inspected: addresses and checksums must be right, or \
             the way is left out. Ways that change the destination also repair both checksums.",
        )
        .method("One flow: nft-dnat finds the same tracked connection for every packet.");
    for path in path::ALL {
        bench.method(&format!("{}: {}.", path.name, path.about));
    }
}

fn draw(bench: &mut Bench) {
    let measured: Vec<String> = bench.rounds().iter().map(|row| row.name.clone()).collect();
    let rows = |wanted: fn(Journey) -> bool| {
        let paths = path::ALL.iter().filter(move |path| wanted(path.journey));
        let names = paths.map(|path| path.name.to_owned());
        names.filter(|name| measured.contains(name)).collect::<Vec<_>>()
    };
    let (translated, untouched) =
        (rows(is_translated), rows(|journey| !is_translated(journey) || is_limit(journey)));
    if !translated.is_empty() {
        bench.figure(with_references(
            Figure::bars("forward-translated", "Forward with address rewriting", translated)
                .subtitle("UDP, 60 bytes, one flow; what arrived with right checksums"),
            TALK,
            TALK_SOURCE,
        ));
    }
    if !untouched.is_empty() {
        bench.figure(with_references(
            Figure::bars("forward-untouched", "Forward with addresses untouched", untouched)
                .subtitle("UDP, 60 bytes, one flow; hardware addresses at most are changed"),
            PAPER,
            PAPER_SOURCE,
        ));
    }
}

fn with_references(figure: Figure, values: &[(&str, f64)], source: &str) -> Figure {
    values.iter().fold(figure, |figure, (name, pps)| figure.reference(name, *pps, source))
}

/// Both figures have the sender's bound.
fn is_translated(journey: Journey) -> bool {
    journey == Journey::Translated || is_limit(journey)
}

fn is_limit(journey: Journey) -> bool {
    journey == Journey::Stopped
}

fn arm<'a>(line: &'a Line, path: &'a Path) -> Arm<'a> {
    Arm::wide(path.name, move |window| {
        let span = measure(line, path, window)?;
        Ok(vec![
            Value::new(path.name, "pps", span.arrived as f64 / span.seconds),
            Value::new(format!("lost/{}", path.name), "%", span.lost()),
        ])
    })
}

/// Packets and time between two readings.
struct Span {
    seconds: f64,
    offered: u64,
    arrived: u64,
}

impl Span {
    /// Share of the offered packets that was lost, in percent.
    fn lost(&self) -> f64 {
        100.0 * self.offered.saturating_sub(self.arrived) as f64 / self.offered.max(1) as f64
    }
}

/// Measures one path under the flood.
fn measure(line: &Line, path: &Path, window: Duration) -> Result<Span> {
    let sink = Sink::attach(path.journey.end(line))?;
    let mut set = (path.set)(line)?;
    let frame = path.journey.frame(line)?;
    let flood = line.flood(frame.clone(), window + PATIENCE)?;
    begin(&sink, set.as_mut())?;
    let span = watch(&sink, &flood, window)?;
    set.check()?;
    drop(flood);
    drop(set);
    for sample in sink.samples()? {
        let judged = path.journey.judge(line, &frame, &sample);
        judged.context("packets arrive, but not as they should")?;
    }
    Ok(span)
}

/// Waits until packets arrive.
fn begin(sink: &Sink, set: &mut dyn ActivePath) -> Result<()> {
    let start = Instant::now();
    while sink.arrived()? < WARM_UP {
        set.check()?;
        let (arrived, is_late) = (sink.arrived()?, start.elapsed() >= PATIENCE);
        ensure!(!is_late || arrived > 0, "no packet arrived");
        // A process that was given no time may have some at the next try.
        ensure!(!is_late, Transient::Stalled { arrived, waited: PATIENCE });
        sleep(LOOK);
    }
    Ok(())
}

fn watch(sink: &Sink, flood: &Flood, window: Duration) -> Result<Span> {
    let look = || -> Result<_> { Ok((Instant::now(), flood.given(), sink.arrived()?)) };
    let (start, given, arrived) = look()?;
    sleep(window);
    // Waits for a process that got no processor time in a short window: it is slow, not absent.
    let waited = lab::until("a packet after the forwarder", PATIENCE, || {
        Ok((sink.arrived().is_ok_and(|now| now > arrived)).then_some(()))
    });
    waited.map_err(Transient::from)?;
    let after = look()?;
    Ok(Span {
        seconds: (after.0 - start).as_secs_f64(),
        offered: after.1 - given,
        arrived: after.2 - arrived,
    })
}

/// The row that others are compared with.
const BASE: &str = "xdp-native";
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(1);
/// Packets that arrive before the clock starts.
const WARM_UP: u64 = 1000;

const TALK: &[(&str, f64)] = &[
    ("nginx", 373_263.0),
    ("nft-dnat", 668_728.0),
    ("tc-bpf", 1_425_938.0),
    ("xdp-native", 3_029_764.0),
];
const TALK_SOURCE: &str = "\"Faster Packet Processing in Linux: XDP\", SOSCON 2019: ConnectX-4, \
                           10 Gbit/s, one core";
const PAPER: &[(&str, f64)] =
    &[("dpdk", 21_893_094.0), ("xdp-tx", 16_900_699.0), ("xdp-redirect", 8_641_197.0)];
const PAPER_SOURCE: &str = "\"The eXpress Data Path\", CoNEXT 2018, figure 5: ConnectX-5 Ex, \
                            100 Gbit/s, one core of an E5-1650 v4";
