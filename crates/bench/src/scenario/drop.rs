//! `drop`: how many UDP frames a second each hook of the receive path can end, from a socket down
//! to the driver.
//!
//! `limit` is a program of two instructions in the driver: what is left when ending a packet costs
//! nothing, so it is what the sender can do. A hook near it is bounded by the sender.

use std::thread::sleep;
use std::time::Duration;

use anyhow::Result;
use report::{Bench, Figure};

use crate::field::Field;
use crate::harness::{Arm, Harness, Value};
use crate::hook::{self, Hook, Span};
use crate::{Ground, Kind, Scenario, nic};

pub const SCENARIO: Scenario = Scenario {
    name: "drop",
    kind: Kind::Picture,
    about: "packets that end a second, by hook: socket, netfilter, tc, XDP",
    run,
};

fn run(harness: &mut Harness, ground: &Ground) -> Result<Bench> {
    let field = &Field::build(ground)?;
    let mut bench = Bench::new("drop");
    bench
        .method("One sender floods with UDP frames of 60 bytes, made once and sent by XDP.")
        .method("Each hook in turn ends them; counted is what ended there, not what was sent.");
    for hook in hook::ALL {
        bench.method(&format!("{}: {}.", hook.name, hook.about));
    }
    nic::begin(field, harness, &mut bench)?;
    let mut arms: Vec<Arm> = hook::ALL.iter().map(|hook| arm(field, hook)).collect();
    harness.interleave(&mut bench, &mut arms)?;
    drop(arms);
    let rows: Vec<String> = bench.rounds().iter().map(|row| row.name.clone()).collect();
    let rates = rows.into_iter().filter(|row| !row.contains('/'));
    bench.figure(Figure::bars("drop", "Packets that end a second, by hook", rates));
    bench.ratio("xdp-native", "xdp-generic");
    Ok(bench)
}

fn arm<'a>(field: &'a Field, hook: &'a Hook) -> Arm<'a> {
    Arm::wide(hook.name, move |window| {
        let span = measure(field, hook, window)?;
        let mut values = vec![Value::new(hook.name, "pps", span.rate())];
        if field.is_offer_known() {
            values.push(Value::new(format!("lost/{}", hook.name), "%", span.lost()));
        }
        Ok(values)
    })
}

/// One hook under the flood.
fn measure(field: &Field, hook: &Hook, window: Duration) -> Result<Span> {
    let set = (hook.set)(field)?;
    let flood = field.flood(None, window)?;
    let start = set.ended()?;
    lab::until("packets at the hook", PATIENCE, || {
        Ok((set.ended().is_ok_and(|ended| ended > start + WARM_UP)).then_some(()))
    })?;
    Span::of(&flood, set.as_ref(), || sleep(window))
}

const PATIENCE: Duration = Duration::from_secs(5);
/// Packets that end before the clock starts.
const WARM_UP: u64 = 1000;
