//! `bench`: scenarios and runs to compare.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand};

use super::value::{ValueError, duration};

#[derive(Debug, Subcommand)]
pub enum BenchAction {
    /// List scenarios
    List,
    /// Run scenarios in interleaved rounds
    Run(BenchRunArgs),
    /// Compare two saved runs; exit code 1 if something became slower by more than its rounds
    /// differ
    Compare(BenchCompareArgs),
}

#[derive(Debug, Args)]
pub struct BenchCompareArgs {
    /// Earlier run: its directory, or its raw.json
    #[arg(value_name = "A")]
    pub before: PathBuf,

    /// Later run: its directory, or its raw.json
    #[arg(value_name = "B")]
    pub after: PathBuf,
}

#[derive(Debug, Args)]
pub struct BenchRunArgs {
    /// Scenarios to run; `xway bench list` shows all
    #[arg(required_unless_present = "all", value_name = "NAME")]
    pub names: Vec<String>,

    /// Run all scenarios that draw a figure
    #[arg(long, conflicts_with = "names")]
    pub all: bool,

    /// Measure only the rows whose names begin with these parts; `*` is any part:
    /// `--only 'ours/*/full,redirect'`. Repeatable
    #[arg(long, value_name = "ROW", value_delimiter = ',')]
    pub only: Vec<bench::Pattern>,

    /// Number of rounds after one warm-up round; each runs every arm once. The scenario's own
    /// number without it
    #[arg(long, value_name = "N", value_parser = rounds)]
    pub rounds: Option<usize>,

    /// Time that each arm runs per round, such as 2s; the scenario's own value without it
    #[arg(long = "time", alias = "seconds", value_name = "TIME", value_parser = seconds)]
    pub seconds: Option<f64>,

    /// Directory for raw.json, report.html, the figures and summary.md, which are replaced. Without
    /// it, a new directory in bench/runs if that exists
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Measure on this interface instead of in a lab
    #[arg(long = "dev", alias = "iface", value_name = "IFACE", requires = "peer")]
    pub iface: Option<String>,

    /// Interface that sends to it; or the MAC address of another host's card, for which the
    /// commands to run there are printed
    #[arg(long, value_name = "IFACE|MAC", requires = "iface")]
    pub peer: Option<String>,
}

fn rounds(text: &str) -> Result<usize, ValueError> {
    bounded(text, &bench::ROUNDS, " rounds")
}

fn seconds(text: &str) -> Result<f64, ValueError> {
    let seconds = duration(text)?.as_secs_f64();
    bench::SECONDS
        .contains(&seconds)
        .then_some(seconds)
        .ok_or_else(|| ValueError::range(&bench::SECONDS, " seconds"))
}

fn bounded<T>(text: &str, bounds: &RangeInclusive<T>, unit: &'static str) -> Result<T, ValueError>
where
    T: FromStr + PartialOrd + Display,
{
    let value = text.parse().ok().filter(|value| bounds.contains(value));
    value.ok_or_else(|| ValueError::range(bounds, unit))
}
