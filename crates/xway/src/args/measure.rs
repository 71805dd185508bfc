//! `demo`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::RuntimeArg;

#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Runtime: the kernel in a lab (requires root), or the engine on a generated capture; the
    /// kernel if permitted without it
    #[arg(long, value_enum)]
    pub runtime: Option<RuntimeArg>,

    /// Duration of each phase; 6s in the kernel and 100ms of the generated capture without it
    #[arg(long, value_parser = super::value::duration, value_name = "TIME")]
    pub phase: Option<Duration>,

    /// Frames per second that the attacker sends
    #[arg(long, default_value_t = 1_000_000, value_name = "PPS",
          value_parser = clap::value_parser!(u64).range(1_000..=20_000_000))]
    pub rate: u64,

    /// Directory for report.html, the figure and the samples
    #[arg(long, default_value = "demo-report", value_name = "DIR")]
    pub out: PathBuf,
}
