//! The program of example 03 in the engine: the same object, rules and packets, and statistics by
//! reason. Needs neither root nor a kernel that supports XDP.
//!
//! `cargo run -p xway-examples --bin 05-engine`
#![allow(clippy::print_stdout, reason = "an example prints its results")]
#![forbid(unsafe_code)]

use anyhow::{Context, Result};
use functions::drop::{self, Config, Maps, Reason};
use functions::stats::{self, Stats};
use lab::frame::{Flow, Side};
use spec::{Input, Runtime, Spec};
use vm::{Map, VmRuntime};

fn main() -> Result<()> {
    let rules = vec!["10.0.0.2 udp 1234".parse()?];
    let config = Config { rules, ..Config::default() };
    let mut spec = Spec::parse("drop", drop::OBJECT)?;
    config.apply(&mut spec)?;
    let mut engine = VmRuntime::default();
    engine.load(&spec)?;
    drop::update(&config, &Maps::find(|name| map(&engine, name))?)?;

    let from = Side::new("02:00:00:00:00:01", "10.0.0.1", 4321)?;
    for (address, port) in [("10.0.0.2", 1234), ("10.0.0.2", 80), ("10.0.0.3", 1234)] {
        let packet = Flow::new(from, Side::new("02:00:00:00:00:02", address, port)?).udp(b"hi")?;
        let outcome = engine.run(drop::PROGRAM, &Input { packet, ..Input::default() })?;
        println!("{address} udp {port}: {}", outcome.verdict);
    }

    let labels: Vec<String> = Reason::ALL.iter().map(|reason| reason.label().into()).collect();
    for row in Stats::read(map(&engine, stats::MAP)?, &labels)?.rows {
        println!("{}: {} {}", row.reason, row.verdict, row.count.packets);
    }
    Ok(())
}

fn map<'a>(engine: &'a VmRuntime, name: &str) -> Result<&'a Map> {
    engine.map(name).with_context(|| format!("the object has no map `{name}`"))
}
