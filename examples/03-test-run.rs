//! A packet through a program in the kernel, without any interface: load, set rules, run, look.
//! Needs root.
//!
//! `cargo build -p xway-examples && sudo target/debug/03-test-run`
#![allow(clippy::print_stdout, reason = "an example prints its results")]
#![forbid(unsafe_code)]

use anyhow::Result;
use functions::drop::{self, Config, Maps};
use kernel::{LoadOptions, Object, TestRun};
use lab::frame::{Flow, Side};
use spec::{Input, Spec};

fn main() -> Result<()> {
    let rules = vec!["10.0.0.2 udp 1234".parse()?];
    let config = Config { rules, ..Config::default() };
    let mut spec = Spec::parse("drop", drop::OBJECT)?;
    config.apply(&mut spec)?;
    let object = Object::load(&spec, &LoadOptions::default())?;
    drop::update(&config, &Maps::find(|name| object.map(name))?)?;

    let from = Side::new("02:00:00:00:00:01", "10.0.0.1", 4321)?;
    for (address, port) in [("10.0.0.2", 1234), ("10.0.0.2", 80), ("10.0.0.3", 1234)] {
        let packet = Flow::new(from, Side::new("02:00:00:00:00:02", address, port)?).udp(b"hi")?;
        let run = TestRun {
            input: Input { packet, ..Input::default() },
            repeat: 100_000,
            ..TestRun::default()
        };
        let outcome = object.program(drop::PROGRAM)?.run(&run)?;
        println!("{address} udp {port}: {}, {} ns", outcome.verdict(), outcome.duration_ns);
    }
    Ok(())
}
