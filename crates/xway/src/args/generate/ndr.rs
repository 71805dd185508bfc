//! `gen ndr`: range, resolution and duration of the search.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use traffic::Rate;
use traffic::ndr::FrameSize;

use super::parse;
use crate::args::value::{ValueError, duration};

#[derive(Clone, Debug, Args)]
pub struct NdrArgs {
    /// Egress interface
    #[arg(long, value_name = "IFACE")]
    pub dev: String,

    /// Ingress interface, which receives what the device under test forwards
    #[arg(long, value_name = "IFACE")]
    pub sink: String,

    /// Network namespace of that interface
    #[arg(long, value_name = "NAME")]
    pub sink_netns: Option<String>,

    /// Frame sizes to measure, with checksum; without it, that of --size (which counts no
    /// checksum), or those of the RFC: 64, 128, 256, 512, 1024, 1280, 1518 and imix
    #[arg(long, value_name = "SIZES", value_delimiter = ',')]
    pub frames: Vec<FrameSize>,

    /// Accepted loss, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0, value_parser = percent)]
    pub loss: f64,

    /// Resolution of the search, in percent of the rate
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0, value_parser = percent)]
    pub resolution: f64,

    /// Lowest rate to try, such as 10kpps
    #[arg(long = "min-rate", alias = "least", value_name = "RATE")]
    pub least: Option<Rate>,

    /// Highest rate to try; what the generator reaches without it
    #[arg(long = "max-rate", alias = "most", value_name = "RATE")]
    pub most: Option<Rate>,

    /// Duration of each trial; RFC 2544 requires 60s
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration)]
    pub trial: Duration,

    /// Percentages of the found rate at which latency is measured
    #[arg(long, value_name = "PERCENT", value_delimiter = ',', default_value = "50,90",
          value_parser = percent)]
    pub shares: Vec<f64>,

    /// Duration of each latency measurement; RFC 2544 requires 120s
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration)]
    pub latency: Duration,

    /// Also search for the longest burst without loss, up to N frames
    #[arg(long, value_name = "FRAMES", value_parser = parse::count)]
    pub bursts: Option<u64>,

    /// Processors to send from, one thread each, such as 0,2..3
    #[arg(long, value_name = "LIST", value_parser = parse::cpus)]
    pub cpus: Option<parse::Cpus>,

    /// Frames that leave together, 1 to 256; chosen by the rate without it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub batch: Option<u32>,

    /// Seed of random values
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Directory for report.html, the figure and the trials
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Permit any rate on the interface that carries your own SSH session
    #[arg(long)]
    pub force: bool,
}

fn percent(text: &str) -> Result<f64, ValueError> {
    let number = text.trim_end_matches('%').parse().ok();
    let inside = number.filter(|number: &f64| (0.0..=100.0).contains(number));
    inside.ok_or(ValueError::Expected("a percentage from 0 to 100"))
}
