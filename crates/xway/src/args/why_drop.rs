//! `xway why-drop`.

use std::time::Duration;

use clap::Args;

use super::value::duration;

/// `xway why-drop`.
#[derive(Debug, Args)]
pub struct WhyDropArgs {
    /// Network interface
    pub iface: String,

    /// End after this time (default: at Ctrl-C)
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub time: Option<Duration>,

    /// End after this number of lost frames
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,

    /// Also report after each interval, such as 5s
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub interval: Option<Duration>,
}
