//! `xway top`.

use std::time::Duration;

use clap::Args;

use super::value::duration;

/// `xway top`.
#[derive(Debug, Args)]
pub struct TopArgs {
    /// Only this network interface (default: all of this network namespace)
    pub iface: Option<String>,

    /// Interval over which rates are measured, such as 500ms or 2s
    #[arg(long, default_value = "1s", value_parser = duration, value_name = "TIME")]
    pub interval: Duration,

    /// End after this number of intervals (default: at Ctrl-C)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,

    /// Print tables for one interval, also on a terminal
    #[arg(long, conflicts_with = "count")]
    pub once: bool,

    /// Measure how long the programs of this host run, in nanoseconds per packet; costs each run
    /// some tens of nanoseconds, and requires CAP_SYS_ADMIN
    #[arg(long)]
    pub run_time: bool,
}
