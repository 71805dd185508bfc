//! An object as data: its programs, functions and maps. Needs neither root nor Linux.
//!
//! `cargo run -p xway-examples --bin 01-read-object -- bpf/prebuilt/drop.o`
#![allow(clippy::print_stdout, reason = "an example prints its results")]
#![forbid(unsafe_code)]

use anyhow::{Context, Result};
use spec::Spec;

fn main() -> Result<()> {
    let path = std::env::args().nth(1).context("which object?")?;
    let spec = Spec::parse(&path, &std::fs::read(&path)?)?;
    println!("{path}, license {}", spec.license);
    for program in &spec.programs {
        println!("program {} ({}), {} slots", program.name, program.section, program.insns.len());
        for function in &program.functions {
            println!("  {:>6} {}", function.slot, function.name);
        }
    }
    for map in &spec.maps {
        let kind = map.kind.name().unwrap_or("unknown");
        println!(
            "map {}: {kind}, {} + {} bytes, {} entries",
            map.name, map.key_size, map.value_size, map.max_entries
        );
    }
    for global in spec.globals() {
        println!("global {global:?}");
    }
    Ok(())
}
