//! `latency`: how long a frame takes from its sender through a device to a sink, one way.
//!
//! Each frame carries the time when it left. A sender's group of frames leaves together, so at a
//! high rate a frame also waits for those in front of it. At a low rate every frame wakes a
//! sleeping device: most of its time is the wake-up.

mod cable;
mod published;
mod redirect;
mod stage;
mod times;

use std::time::Duration;

use anyhow::Result;
use report::Bench;

use crate::harness::{Arm, Harness};
use crate::{Effort, Ground, Kind, Scenario};
use cable::Cable;
use redirect::Redirect;
use stage::Stage;
use times::Times;

pub const SCENARIO: Scenario = Scenario {
    name: "latency",
    kind: Kind::Picture,
    about: "time through a device, one way: bridge, router, XDP, AF_XDP; at 100 pps and many",
    effort: Effort { rounds: 9, seconds: 0.5 },
    run,
};

fn run(harness: &mut Harness, ground: &Ground) -> Result<Bench> {
    ground.lab_only()?;
    let stages = Stages { switched: Stage::switched()?, routed: Stage::routed()? };
    let mut bench = Bench::new("latency");
    tell(&mut bench, &stages);
    let high = highest(&mut bench, &stages);
    if high.is_none() {
        bench.absent("a high rate", "there is none of those tried that every way carries");
    }
    let rates: Vec<u64> = [LOW].into_iter().chain(high).collect();
    let cells = rates.iter().flat_map(|pps| Way::ALL.map(|way| (way, *pps)));
    let mut arms: Vec<Arm> = cells.map(|(way, pps)| arm(&stages, way, pps)).collect();
    harness.interleave(&mut bench, &mut arms)?;
    drop(arms);
    for pps in rates {
        published::draw(&mut bench, pps);
        let row = |way: Way| format!("p50/{}", cell(way, pps));
        let pairs = [(Way::Redirect, Way::Bridge), (Way::AfXdp, Way::Bridge)];
        for (a, b) in pairs.map(|(a, b)| (row(a), row(b))) {
            if bench.median(&a).is_some() && bench.median(&b).is_some() {
                bench.ratio(&a, &b);
            }
        }
    }
    Ok(bench)
}

/// What is between sender and sink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Bridge,
    Route,
    Redirect,
    AfXdp,
}

struct Stages {
    switched: Stage,
    routed: Stage,
}

/// Gone when dropped.
enum Set {
    /// The topology's own bridge or router does it.
    Kernel,
    Redirect {
        _redirect: Redirect,
    },
    Cable {
        _cable: Cable,
    },
}

impl Way {
    const ALL: [Self; 4] = [Self::Bridge, Self::Route, Self::Redirect, Self::AfXdp];

    /// Of its rows.
    const fn name(self) -> &'static str {
        match self {
            Self::Bridge => "bridge",
            Self::Route => "route",
            Self::Redirect => "xdp-redirect",
            Self::AfXdp => "af-xdp-busy-poll",
        }
    }

    const fn about(self) -> &'static str {
        match self {
            Self::Bridge => "a Linux bridge of two ports",
            Self::Route => "a Linux router with two routes",
            Self::Redirect => "XDP in the driver, through a map of devices to the other port",
            Self::AfXdp => "a thread that polls one AF_XDP socket and sends through another",
        }
    }

    fn stage(self, stages: &Stages) -> &Stage {
        if self == Self::Route { &stages.routed } else { &stages.switched }
    }

    fn set(self, stage: &Stage) -> Result<Set> {
        if self != Self::AfXdp {
            stage.near.poll_in_threads(stage.cpu)?;
        }
        Ok(match self {
            Self::Bridge | Self::Route => Set::Kernel,
            Self::Redirect => Set::Redirect { _redirect: Redirect::attach(stage)? },
            Self::AfXdp => Set::Cable { _cable: Cable::start(stage)? },
        })
    }

    fn measure(self, stages: &Stages, pps: u64, window: Duration) -> Result<Times> {
        let stage = self.stage(stages);
        let _set = self.set(stage)?;
        stage.send(pps, window)
    }
}

fn cell(way: Way, pps: u64) -> String {
    format!("{}@{pps}", way.name())
}

fn tell(bench: &mut Bench, stages: &Stages) {
    bench
        .method(
            "One sender sends UDP frames of 60 bytes with a stamp at a fixed rate. A sink behind \
             the device compares each stamp with the clock that it was written by.",
        )
        .method(
            "Each round is a histogram of every frame that arrived, in buckets of 1.6 %: average, \
             median, p99, maximum, and how many took less than 10 µs.",
        )
        .method(&format!(
            "At {LOW} frames a second a round has few of them, so that p99 is nearly its maximum."
        ));
    bench.method(
        "A rate that the sender does not keep within 10 % is tried twice more, then left out.",
    );
    for way in Way::ALL {
        bench.method(&format!("{}: {}.", way.name(), way.about()));
    }
    bench.note(stages.switched.facts());
}

/// The highest of some rates that every way carries; those above it are told with who does not.
fn highest(bench: &mut Bench, stages: &Stages) -> Option<u64> {
    HIGH.into_iter().find(|pps| {
        let refused = Way::ALL.iter().find_map(|way| {
            // A way that cannot be set up has its say in the rounds.
            let times = way.measure(stages, *pps, TRIAL).ok()?;
            let why = times.carried(*pps).err()?;
            Some(format!("Not at {pps} packets a second, where {} fails: {why}.", way.name()))
        });
        refused.map(|why| bench.note(why)).is_none()
    })
}

fn arm(stages: &Stages, way: Way, pps: u64) -> Arm<'_> {
    let name = cell(way, pps);
    Arm::wide(&name.clone(), move |window| attempt(stages, way, pps, window)?.values(&name))
}

/// Measures until the sender has kept its rate, a few times.
fn attempt(stages: &Stages, way: Way, pps: u64, window: Duration) -> Result<Times> {
    for _ in 1..ATTEMPTS {
        let times = way.measure(stages, pps, window)?;
        if times.check(pps).is_ok() {
            return Ok(times);
        }
    }
    let times = way.measure(stages, pps, window)?;
    times.check(pps)?;
    Ok(times)
}

/// Packets a second.
const LOW: u64 = 100;
const HIGH: [u64; 6] = [1_000_000, 750_000, 500_000, 250_000, 100_000, 50_000];
/// Of a cell in one round.
const ATTEMPTS: usize = 3;
/// How long a rate is tried.
const TRIAL: Duration = Duration::from_millis(100);
