//! `latency`: how long a frame takes from its sender through a device to a sink, one way.
//!
//! Each frame carries the time when it left. A sender's group of frames leaves together, so at a
//! high rate a frame also waits for those in front of it. At a low rate every frame wakes a
//! sleeping device: most of its time is the wake-up.

mod published;
mod reach;
mod times;
mod trip;

use std::time::Duration;

use anyhow::{Result, ensure};
use report::Bench;

use crate::field::{Cpus, Line};
use crate::harness::{Arm, Harness};
use crate::path::{BRIDGE, BUSY_POLL, Path, REDIRECT, ROUTE};
use crate::{Effort, Ground, Kind, Scenario};
use reach::{Reach, common};
use times::Times;
use trip::Trip;

pub const SCENARIO: Scenario = Scenario {
    name: "latency",
    kind: Kind::Picture,
    about: "time through a device, one way: bridge, router, XDP, AF_XDP; at 100 pps and many",
    effort: Effort { rounds: 9, seconds: 0.5 },
    run,
};

fn run(harness: &mut Harness, ground: &Ground) -> Result<Bench> {
    let line = &Line::build(ground)?;
    let Cpus { sender, process } = line.cpus;
    ensure!(sender != process, "the device needs a processor of its own, and there is one");
    let mut bench = Bench::new("latency");
    tell(&mut bench, line);
    let reaches = search(harness, &mut bench, line);
    let common = common(&reaches);
    if common.is_none() {
        bench.absent("a high rate", "there is none of those tried that any way carries");
    }
    let sets = sets(&reaches, common);
    let mut cells: Vec<Cell> = sets.iter().flat_map(|set| set.cells.iter().copied()).collect();
    cells.sort_by_key(|(way, pps)| (*pps, WAYS.iter().position(|known| known.name == way.name)));
    cells.dedup_by_key(|(way, pps)| row(way, *pps));
    let mut arms: Vec<Arm> = cells.iter().map(|(way, pps)| arm(line, way, *pps)).collect();
    harness.interleave(&mut bench, &mut arms)?;
    drop(arms);
    sets.iter().for_each(|set| published::draw(&mut bench, set));
    for pps in [LOW].into_iter().chain(common) {
        compare(&mut bench, pps);
    }
    Ok(bench)
}

/// What each way carries.
fn search(harness: &mut Harness, bench: &mut Bench, line: &Line) -> Vec<Reach> {
    harness.say("looking for the highest rate that each way carries");
    let mut reaches = Vec::new();
    for way in WAYS {
        if harness.is_interrupted() {
            break;
        }
        match Reach::find(line, way) {
            Ok(reach) => {
                harness.say(&reach.told());
                bench.note(reach.told());
                reaches.push(reach);
            }
            // It has its say in the rounds, too.
            Err(fault) => harness.say(&format!("{}: {fault:#}", way.name)),
        }
    }
    reaches
}

/// A way at a rate, in packets a second.
type Cell = (&'static Path, u64);

/// Cells of a picture.
struct Together {
    /// In the names of its files.
    name: &'static str,
    /// At the end of its titles.
    at: String,
    cells: Vec<Cell>,
}

/// All ways at a low rate and at the highest that all of them carry, and then each at its own
/// highest, if that is higher for any.
fn sets(reaches: &[Reach], common: Option<u64>) -> Vec<Together> {
    let all = |name, pps: u64| {
        let cells = WAYS.iter().map(|way| (*way, pps)).collect();
        Together { name, at: format!("{pps} packets a second"), cells }
    };
    let mut sets = vec![all("low", LOW)];
    sets.extend(common.map(|pps| all("high", pps)));
    let own = reaches.iter().filter_map(|reach| Some((reach.path, reach.pps?)));
    let cells: Vec<Cell> = own.collect();
    if cells.iter().any(|(_, pps)| Some(*pps) != common) {
        let at = "each at the highest rate that it carries".to_owned();
        sets.push(Together { name: "own", at, cells });
    }
    sets
}

fn compare(bench: &mut Bench, pps: u64) {
    for way in [&REDIRECT, &BUSY_POLL] {
        let [a, b] = [way, &BRIDGE].map(|way| format!("p50/{}", row(way, pps)));
        if bench.median(&a).is_some() && bench.median(&b).is_some() {
            bench.ratio(&a, &b);
        }
    }
}

fn row(way: &Path, pps: u64) -> String {
    format!("{}@{pps}", way.name)
}

fn tell(bench: &mut Bench, line: &Line) {
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
        ))
        .method(
            "Before the rounds the highest rate that each way carries is looked for, of a few: in \
             the best of five short trials the sender keeps 97 % of it, and 1 % at most is lost.",
        )
        .method(
            "A turn in which the sender does not keep its rate within 10 % is tried twice more, \
             then that round is missing.",
        );
    for way in WAYS {
        bench.method(&format!("{}: {}.", way.name, way.about));
    }
    let Cpus { sender, process } = line.cpus;
    bench.note(format!(
        "veth: the sender runs on processor {sender}, the device and the sink behind it on \
         {process}, favoured there over all ordinary processes."
    ));
}

fn arm<'a>(line: &'a Line, way: &'static Path, pps: u64) -> Arm<'a> {
    let name = row(way, pps);
    Arm::wide(&name.clone(), move |window| measure(line, way, pps, window)?.values(&name))
}

fn measure(line: &Line, way: &'static Path, pps: u64, window: Duration) -> Result<Times> {
    let times = Trip::begin(line, way)?.send(pps, window)?;
    times.check(pps)?;
    Ok(times)
}

const WAYS: [&Path; 4] = [&BRIDGE, &ROUTE, &REDIRECT, &BUSY_POLL];
/// Packets a second.
const LOW: u64 = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_picture_has_its_cells() {
        let names = |sets: &[Together]| -> Vec<(&str, Vec<String>)> {
            let of = |set: &Together| set.cells.iter().map(|(way, pps)| row(way, *pps)).collect();
            sets.iter().map(|set| (set.name, of(set))).collect()
        };
        let reach = |path, pps| Reach::of(path, Some(pps));
        let all = |pps: u64| -> Vec<String> { WAYS.iter().map(|way| row(way, pps)).collect() };
        let same = [reach(&BRIDGE, 500_000), reach(&ROUTE, 500_000)];
        let want = [("low", all(LOW)), ("high", all(500_000))];
        assert_eq!(names(&sets(&same, common(&same))), want);
        let unlike =
            [reach(&BRIDGE, 500_000), reach(&REDIRECT, 1_000_000), Reach::of(&ROUTE, None)];
        let own = ["bridge@500000", "xdp-redirect@1000000"].map(String::from).to_vec();
        let want = [("low", all(LOW)), ("high", all(500_000)), ("own", own)];
        assert_eq!(names(&sets(&unlike, common(&unlike))), want);
        assert_eq!(names(&sets(&[], None)), [("low", all(LOW))]);
    }
}
