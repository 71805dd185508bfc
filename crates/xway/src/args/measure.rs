//! `demo`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::RuntimeArg;
use super::value::{ValueError, packet_rate};

/// A rate in packets a second; a number alone is one, too.
fn flood(text: &str) -> Result<u64, ValueError> {
    let expected = "a rate from 1kpps to 20mpps";
    let rate = packet_rate(text).filter(|pps| FLOOD.contains(pps));
    rate.map(|pps| pps as u64).ok_or(ValueError::Expected(expected))
}

/// Rates of the demo in packets a second.
const FLOOD: std::ops::RangeInclusive<f64> = 1e3..=20e6;

#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Runtime: the kernel in a lab (requires root), or the engine on a generated capture; the
    /// kernel if permitted without it
    #[arg(long, value_enum)]
    pub runtime: Option<RuntimeArg>,

    /// Duration of each phase; 6s in the kernel and 100ms of the generated capture without it
    #[arg(long, value_parser = super::value::duration, value_name = "TIME")]
    pub phase: Option<Duration>,

    /// Rate at which the attacker sends, from 1kpps to 20mpps
    #[arg(long, default_value = "1mpps", value_name = "RATE", value_parser = flood)]
    pub rate: u64,

    /// Directory for report.html, the figure and the samples
    #[arg(long, default_value = "demo-report", value_name = "DIR")]
    pub out: PathBuf,
}
