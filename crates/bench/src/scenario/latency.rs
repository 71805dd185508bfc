//! `latency`: how long a frame takes from its sender through a device to a sink, one way.
//!
//! Each frame carries the time when it left. A sender's group of frames leaves together, so at a
//! high rate a frame also waits for the earlier ones. At a low rate every frame wakes a sleeping
//! device: most of its time is the wake-up.

mod max_rate;
mod published;
mod run;
mod times;

use std::time::Duration;

use anyhow::{Result, ensure};
use report::Bench;

use crate::field::{Cpus, Line};
use crate::harness::{Arm, Harness};
use crate::path::{BRIDGE, BUSY_POLL, Path, REDIRECT, ROUTE};
use crate::{Effort, Kind, Scenario, Testbed};
use max_rate::{MaxRate, common};
use run::LatencyRun;
use times::Times;

/// The scenario `latency`.
pub const SCENARIO: Scenario = Scenario {
    name: "latency",
    kind: Kind::Picture,
    about: "time through a device, one way: bridge, router, XDP, AF_XDP; at 100 pps and many",
    effort: Effort { rounds: 9, seconds: 0.5 },
    run,
};

fn run(harness: &mut Harness, testbed: &Testbed) -> Result<Bench> {
    let line = &Line::build(testbed)?;
    let Cpus { sender, process } = line.cpus;
    ensure!(sender != process, "the device needs a processor of its own, and there is one");
    let mut bench = Bench::new("latency");
    tell(&mut bench, line);
    let max_rates = search(harness, &mut bench, line);
    let common = common(&max_rates);
    if common.is_none() {
        bench.absent("a high rate", "no path carries any of the rates tried");
    }
    let sets = sets(&max_rates, common);
    let mut cells: Vec<Cell> = sets.iter().flat_map(|set| set.cells.iter().copied()).collect();
    cells.sort_by_key(|(path, pps)| (*pps, PATHS.iter().position(|known| known.name == path.name)));
    cells.dedup_by_key(|(path, pps)| row(path, *pps));
    let mut arms: Vec<Arm> = cells.iter().map(|(path, pps)| arm(line, path, *pps)).collect();
    harness.interleave(&mut bench, &mut arms)?;
    drop(arms);
    sets.iter().for_each(|set| published::draw(&mut bench, set));
    for pps in [LOW].into_iter().chain(common) {
        compare(&mut bench, pps);
    }
    Ok(bench)
}

/// Finds the highest rate that each path carries.
fn search(harness: &mut Harness, bench: &mut Bench, line: &Line) -> Vec<MaxRate> {
    harness.say("looking for the highest rate that each path carries");
    let mut max_rates = Vec::new();
    for path in PATHS {
        if harness.is_interrupted() {
            break;
        }
        match MaxRate::find(line, path) {
            Ok(max_rate) => {
                harness.say(&max_rate.sentence());
                bench.note(max_rate.sentence());
                max_rates.push(max_rate);
            }
            // The rounds report it, too.
            Err(fault) => harness.say(&format!("{}: {fault:#}", path.name)),
        }
    }
    max_rates
}

/// A path at a rate, in packets a second.
type Cell = (&'static Path, u64);

/// Cells of a figure.
struct CellSet {
    /// The part of its file names.
    name: &'static str,
    /// The end of its titles.
    at: String,
    cells: Vec<Cell>,
}

/// All paths at a low rate and at the highest that all of them carry, and then each at its own
/// highest, if that is higher for any.
fn sets(max_rates: &[MaxRate], common: Option<u64>) -> Vec<CellSet> {
    let all = |name, pps: u64| {
        let cells = PATHS.iter().map(|path| (*path, pps)).collect();
        CellSet { name, at: format!("{pps} packets a second"), cells }
    };
    let mut sets = vec![all("low", LOW)];
    sets.extend(common.map(|pps| all("high", pps)));
    let own = max_rates.iter().filter_map(|max_rate| Some((max_rate.path, max_rate.pps?)));
    let cells: Vec<Cell> = own.collect();
    if cells.iter().any(|(_, pps)| Some(*pps) != common) {
        let at = "each at the highest rate that it carries".to_owned();
        sets.push(CellSet { name: "own", at, cells });
    }
    sets
}

fn compare(bench: &mut Bench, pps: u64) {
    for path in [&REDIRECT, &BUSY_POLL] {
        let [a, b] = [path, &BRIDGE].map(|path| format!("p50/{}", row(path, pps)));
        if bench.median(&a).is_some() && bench.median(&b).is_some() {
            bench.ratio(&a, &b);
        }
    }
}

fn row(path: &Path, pps: u64) -> String {
    format!("{}@{pps}", path.name)
}

fn tell(bench: &mut Bench, line: &Line) {
    bench
        .method(
            "One sender sends UDP frames of 60 bytes with a stamp at a fixed rate. A sink after \
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
            "Before the rounds the highest rate that each path carries is looked for, of a few: in \
             the best of five short trials the sender keeps 97 % of it, and 1 % at most is lost.",
        )
        .method(
            "A turn in which the sender does not keep its rate within 10 % is tried twice more, \
             then that round is missing.",
        );
    for path in PATHS {
        bench.method(&format!("{}: {}.", path.name, path.about));
    }
    let Cpus { sender, process } = line.cpus;
    bench.note(format!(
        "veth: the sender runs on processor {sender}, the device and the sink after it on \
         {process}, favoured there over all ordinary processes."
    ));
}

fn arm<'a>(line: &'a Line, path: &'static Path, pps: u64) -> Arm<'a> {
    let name = row(path, pps);
    Arm::wide(&name.clone(), move |window| measure(line, path, pps, window)?.values(&name))
}

fn measure(line: &Line, path: &'static Path, pps: u64, window: Duration) -> Result<Times> {
    let times = LatencyRun::begin(line, path)?.send(pps, window)?;
    times.check(pps)?;
    Ok(times)
}

const PATHS: [&Path; 4] = [&BRIDGE, &ROUTE, &REDIRECT, &BUSY_POLL];
/// Packets a second.
const LOW: u64 = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_picture_has_its_cells() {
        let names = |sets: &[CellSet]| -> Vec<(&str, Vec<String>)> {
            let of = |set: &CellSet| set.cells.iter().map(|(path, pps)| row(path, *pps)).collect();
            sets.iter().map(|set| (set.name, of(set))).collect()
        };
        let max_rate = |path, pps| MaxRate::of(path, Some(pps));
        let all = |pps: u64| -> Vec<String> { PATHS.iter().map(|path| row(path, pps)).collect() };
        let same = [max_rate(&BRIDGE, 500_000), max_rate(&ROUTE, 500_000)];
        let want = [("low", all(LOW)), ("high", all(500_000))];
        assert_eq!(names(&sets(&same, common(&same))), want);
        let unlike =
            [max_rate(&BRIDGE, 500_000), max_rate(&REDIRECT, 1_000_000), MaxRate::of(&ROUTE, None)];
        let own = ["bridge@500000", "xdp-redirect@1000000"].map(String::from).to_vec();
        let want = [("low", all(LOW)), ("high", all(500_000)), ("own", own)];
        assert_eq!(names(&sets(&unlike, common(&unlike))), want);
        assert_eq!(names(&sets(&[], None)), [("low", all(LOW))]);
    }
}
