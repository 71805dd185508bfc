//! `demo`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::RuntimeArg;

#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Who runs the program: the kernel in a lab (needs root), or the engine over a generated
    /// capture; the kernel where that is allowed
    #[arg(long, value_enum)]
    pub runtime: Option<RuntimeArg>,

    /// Time of each phase: 6s in the kernel, 100ms of the generated capture
    #[arg(long, value_parser = super::attach::duration, value_name = "TIME")]
    pub phase: Option<Duration>,

    /// Frames a second that the attacker sends
    #[arg(long, default_value_t = 1_000_000, value_name = "PPS",
          value_parser = clap::value_parser!(u64).range(1_000..=20_000_000))]
    pub rate: u64,

    /// Folder for report.html, the figure and the samples
    #[arg(long, default_value = "demo-report", value_name = "DIR")]
    pub out: PathBuf,
}
