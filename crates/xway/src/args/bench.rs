//! `bench`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub enum BenchAction {
    /// What can be measured
    List,
    /// Measure: every number comes from interleaved rounds
    Run(BenchRunArgs),
    /// Two runs that were kept: what became faster, what slower, and whether the pictures are the
    /// same; exit code 1 when something became slower than its rounds differ
    Compare(BenchCompareArgs),
}

#[derive(Debug, Args)]
pub struct BenchCompareArgs {
    /// The earlier run: its folder, or its raw.json
    #[arg(value_name = "A")]
    pub before: PathBuf,

    /// The later one
    #[arg(value_name = "B")]
    pub after: PathBuf,
}

#[derive(Debug, Args)]
pub struct BenchRunArgs {
    /// What to measure; `xway bench list` tells what there is
    #[arg(required_unless_present = "all", value_name = "NAME")]
    pub names: Vec<String>,

    /// All pictures of the list
    #[arg(long, conflicts_with = "names")]
    pub all: bool,

    /// Rounds that count; each runs every arm once, after one warm-up round. Without it, as many as
    /// `xway bench list` tells of the scenario
    #[arg(long, value_name = "N", value_parser = rounds)]
    pub rounds: Option<usize>,

    /// Seconds that an arm runs in each round; without it, those of the list
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub seconds: Option<f64>,

    /// Folder for raw.json, report.html, the figures and summary.md; what is there is replaced.
    /// Without it, and where there is a folder bench/runs, a new one in that
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Measure on this interface instead of in a lab; no other is touched
    #[arg(long, value_name = "DEV", requires = "peer")]
    pub iface: Option<String>,

    /// The interface that sends to it; or, for a card of another host, its MAC address: then what
    /// to type on that host is told
    #[arg(long, value_name = "DEV|MAC", requires = "iface")]
    pub peer: Option<String>,
}

fn rounds(text: &str) -> Result<usize, String> {
    let rounds: usize = text.parse().map_err(|_| format!("\"{text}\" is no number"))?;
    let (least, most) = (bench::ROUNDS.start(), bench::ROUNDS.end());
    let is_bounded = bench::ROUNDS.contains(&rounds);
    is_bounded.then_some(rounds).ok_or(format!("from {least} to {most} rounds"))
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("\"{text}\" is no number"))?;
    let (least, most) = (bench::SECONDS.start(), bench::SECONDS.end());
    let is_bounded = bench::SECONDS.contains(&seconds);
    is_bounded.then_some(seconds).ok_or(format!("from {least} to {most} seconds"))
}
