//! `demo`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Time of each of the four phases
    #[arg(long, default_value = "6s", value_parser = super::attach::duration, value_name = "TIME")]
    pub phase: Duration,

    /// Frames a second that the attacker sends
    #[arg(long, default_value_t = 1_000_000, value_name = "PPS",
          value_parser = clap::value_parser!(u64).range(1_000..=20_000_000))]
    pub rate: u64,

    /// Folder for report.html, the figure and the samples
    #[arg(long, default_value = "demo-report", value_name = "DIR")]
    pub out: PathBuf,
}
