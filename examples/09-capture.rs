//! Runs a program over a capture in the engine, and explains its first packet. Needs no root.
//!
//! `cargo run -p xway-examples --bin 09-capture -- OBJECT CAPTURE`
#![allow(clippy::print_stdout, reason = "an example prints its results")]
#![forbid(unsafe_code)]

use anyhow::{Context, Result};
use runner::{Callbacks, Item, Job, Options};

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let object = arguments.next().context("the first argument is an object, such as prog.o")?;
    let input = arguments.next().context("the second argument is a capture")?.into();
    let options = Options { object, input, ..Options::default() };

    let report = Job::open(&options, Callbacks::default())?.run()?;
    for (verdict, counted) in &report.tally.verdicts {
        println!("{verdict}: {} packets, {} bytes", counted.packets, counted.bytes);
    }

    let explanation = Job::open(&options, Callbacks::default())?.explain(1)?;
    println!("packet 1: {}", explanation.summary);
    for item in &explanation.path {
        if let Item::Line { file, line, text, .. } = item {
            println!("  {file}:{line}: {text}");
        }
    }
    println!("verdict {}", explanation.verdict);
    Ok(())
}
