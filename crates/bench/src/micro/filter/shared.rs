//! A limit per source, used by two processors in parallel, and by one.
//!
//! Rule: both run the same program on a frame of their own for the same time, and a value is the
//! mean of both. Within the limit each packet is written into buckets, which is what processors
//! contend for; over it (`-over`) they only read. One processor alone is measured in the same way.

use std::rc::Rc;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use ::filter::PROGRAM;
use anyhow::{Result, anyhow, ensure};
use kernel::Object;
use lab::frame::{Flow, Side};

use super::VERDICTS;
use crate::field::{Cpus, FRAME};
use crate::harness::Arm;
use crate::hook::filter;
use crate::micro::mean::{Runs, mean_ns};

/// One processor; two with a source each; two with the same.
pub fn arms<'a>() -> Result<Vec<Arm<'a>>> {
    let Cpus { process: first, sender: second } = Cpus::here()?;
    let mut arms = Vec::new();
    for (over, limit) in [("", WITHIN), ("-over", OVER)] {
        let text = format!("rules = ['all: {limit} per source udp']");
        let object = Rc::new(filter::object(&filter::parsed(&text)?)?);
        for (name, lanes) in [
            ("one-cpu", vec![(first, SOURCES[0])]),
            ("two-cpus", vec![(first, SOURCES[0]), (second, SOURCES[1])]),
            ("two-cpus-same", vec![(first, SOURCES[0]), (second, SOURCES[0])]),
        ] {
            let (object, name) = (Rc::clone(&object), format!("limit{over}-{name}"));
            arms.push(Arm::new(&name, "ns", move |window| measure(&object, &lanes, window)));
        }
    }
    Ok(arms)
}

/// Mean nanoseconds a packet, of each processor with its source.
fn measure(object: &Object, lanes: &[(usize, &'static str)], window: Duration) -> Result<f64> {
    let is_one = lanes.iter().all(|(cpu, _)| *cpu == lanes[0].0);
    ensure!(lanes.len() == 1 || !is_one, "there is one processor alone");
    let gate = Mutex::new(());
    let means: Vec<f64> = thread::scope(|scope| {
        let spawn = |&(cpu, source)| {
            let gate = &gate;
            let work = move || lane(object, cpu, source, (gate, window));
            sys::thread::spawn_scoped(scope, "lane", work)
        };
        // No lane starts before all threads exist.
        let closed = gate.lock();
        let all = lanes.iter().map(spawn).collect::<sys::Result<Vec<_>>>()?;
        drop(closed);
        let joined = all.into_iter().map(|one| {
            one.join().unwrap_or_else(|_| Err(anyhow!("a thread that ran the program died")))
        });
        joined.collect::<Result<_>>()
    })?;
    Ok(means.iter().sum::<f64>() / means.len() as f64)
}

/// Runs the program on one processor while the others do.
fn lane(
    object: &Object,
    cpu: usize,
    source: &str,
    (gate, window): (&Mutex<()>, Duration),
) -> Result<f64> {
    sys::cpu::set_affinity(&[cpu])?;
    let frame = frame(source)?;
    drop(gate.lock());
    let runs = Runs { frame: &frame, repeat: REPEAT, verdicts: &VERDICTS };
    mean_ns(object.program(PROGRAM)?, runs, window)
}

fn frame(source: &str) -> Result<Vec<u8>> {
    let from = Side::new("02:00:00:00:00:01", source, 1234)?;
    let to = Side::new("02:00:00:00:00:02", "10.0.0.2", 1234)?;
    Ok(Flow::new(from, to).udp_of_length(FRAME)?)
}

/// A bound above the sum of two processors and below that of one.
const WITHIN: &str = "limit 500mpps burst 100m";
const OVER: &str = "limit 10pps burst 20";
/// Sources that share no prefix.
const SOURCES: [&str; 2] = ["10.0.0.1", "172.16.0.1"];
/// Runs of one call: a few milliseconds, so that both end at about the same time.
const REPEAT: u32 = 20_000;
