//! Benchmarks: `cargo run --release -p xway-bench -- ENTRY [--json]`.
//!
//! Rule: every entry measures through the [`harness`], so that every number comes from
//! interleaved rounds and has a minimum, median, maximum and host. A new entry is one file with
//! an `ENTRY` and one line in [`ENTRIES`]. Results go to stdout, talk to stderr.
#![forbid(unsafe_code)]

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Parser;
use report::{Bench, Host};

mod drop;
mod drop_cost;
mod gen_cost;
mod gen_pacing;
mod gen_tcp;
mod gen_udp;
mod gen_watch;
mod harness;
mod noise;
mod outcome;
mod vm_interp;
mod xsk;
mod xsk_wait;

use harness::Harness;
use outcome::Outcome;

/// What can be measured, in the order of `--list`.
const ENTRIES: &[Entry] = &[
    drop::ENTRY,
    drop_cost::ENTRY,
    gen_cost::ENTRY,
    gen_pacing::ENTRY,
    gen_tcp::ENTRY,
    gen_udp::ENTRY,
    gen_watch::ENTRY,
    noise::ENTRY,
    vm_interp::ENTRY,
    xsk::ENTRY,
    xsk_wait::ENTRY,
];

/// One benchmark.
struct Entry {
    name: &'static str,
    /// One line for `--list`.
    about: &'static str,
    /// Measures, and asks for the ratios worth knowing.
    run: fn(&mut Harness) -> Result<Bench>,
}

/// Measures Expressway; every number comes with minimum, median, maximum and host.
#[derive(Debug, Parser)]
#[command(name = "xway-bench")]
struct Args {
    /// What to measure; --list tells what there is
    #[arg(required_unless_present = "list")]
    entry: Option<String>,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
    /// Rounds that count; each runs every arm once, after one warm-up round
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = harness::rounds)]
    rounds: usize,
    /// Seconds an arm runs in each round
    #[arg(long, value_name = "S", default_value_t = 1.0, value_parser = harness::seconds)]
    seconds: f64,
    /// Also write the result, every round, figures and a page into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// List the entries
    #[arg(long)]
    list: bool,
}

fn main() -> ExitCode {
    let args = Args::parse();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) if is_broken_pipe(&fault) => ExitCode::SUCCESS,
        Err(fault) => {
            // If stderr is closed too, the exit code has to do.
            let _ = writeln!(io::stderr(), "xway-bench: {fault:#}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> Result<()> {
    let Some(name) = args.entry.as_deref().filter(|_| !args.list) else { return list() };
    let entry = find(name)?;
    let mut harness = Harness::new(args.rounds, args.seconds, Box::new(io::stderr()));
    let bench = (entry.run)(&mut harness).with_context(|| format!("benchmark \"{name}\""))?;
    let outcome = Outcome::new(bench, Host::read())?;
    if let Some(folder) = &args.out {
        outcome.write_to(folder)?;
    }
    let text = if args.json { outcome.json()? } else { outcome.text() };
    Ok(io::stdout().write_all(text.as_bytes())?)
}

fn find(name: &str) -> Result<&'static Entry> {
    match ENTRIES.iter().find(|entry| entry.name == name) {
        Some(entry) => Ok(entry),
        None => bail!("no benchmark \"{name}\"; --list tells what there is"),
    }
}

fn list() -> Result<()> {
    let mut out = io::stdout().lock();
    ENTRIES.iter().try_for_each(|Entry { name, about, .. }| writeln!(out, "{name:<12} {about}"))?;
    Ok(())
}

fn is_broken_pipe(fault: &anyhow::Error) -> bool {
    let cause = fault.downcast_ref::<io::Error>();
    cause.is_some_and(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn arguments_are_consistent() {
        Args::command().debug_assert();
        let table: [(&[&str], bool); 7] = [
            (&["noise"], true),
            (&["noise", "--json", "--rounds", "9", "--seconds", "0.1"], true),
            (&["--list"], true),
            (&[], false),
            (&["noise", "--rounds", "4"], false),
            (&["noise", "--seconds", "0"], false),
            (&["noise", "--seconds", "nan"], false),
        ];
        for (words, is_right) in table {
            let parsed = Args::try_parse_from([&["xway-bench"], words].concat());
            assert_eq!(parsed.is_ok(), is_right, "{words:?}");
        }
    }

    #[test]
    fn entries_are_found_by_their_own_names() {
        for entry in ENTRIES {
            let same = ENTRIES.iter().filter(|other| other.name == entry.name);
            assert_eq!(same.count(), 1, "two entries are called {}", entry.name);
            assert_eq!(find(entry.name).unwrap().about, entry.about);
        }
        assert!(find("nothing").is_err());
    }
}
