//! `gen ndr`: what is searched for, how finely, for how long.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use traffic::Rate;
use traffic::ndr::FrameSize;

use super::parse;
use crate::args::attach::duration;

#[derive(Clone, Debug, Args)]
pub struct NdrArgs {
    /// Network interface that sends
    #[arg(long, value_name = "IFACE")]
    pub dev: String,

    /// Network interface that receives what the device under test lets through
    #[arg(long, value_name = "IFACE")]
    pub sink: String,

    /// Network namespace of that interface, by its name
    #[arg(long, value_name = "NAME")]
    pub sink_netns: Option<String>,

    /// Sizes that are measured one after the other, or the RFC's: 64, 128, 256, 512, 1024, 1280,
    /// 1518 bytes with checksum, and imix
    #[arg(long, value_name = "SIZES", value_delimiter = ',')]
    pub frames: Vec<FrameSize>,

    /// Loss that is accepted, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0, value_parser = percent)]
    pub loss: f64,

    /// How close to the limit the search goes, in percent of the rate
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0, value_parser = percent)]
    pub resolution: f64,

    /// The lowest rate that is tried
    #[arg(long, value_name = "RATE")]
    pub least: Option<Rate>,

    /// The highest rate that is tried; else what the generator reaches
    #[arg(long, value_name = "RATE")]
    pub most: Option<Rate>,

    /// How long frames are sent in each trial; RFC 2544 wants 60s
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration)]
    pub trial: Duration,

    /// Shares of the rate that was found at which latency is taken, in percent
    #[arg(long, value_name = "PERCENT", value_delimiter = ',', default_value = "50,90",
          value_parser = percent)]
    pub shares: Vec<f64>,

    /// How long frames are sent for each latency; RFC 2544 wants 120s
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration)]
    pub latency: Duration,

    /// Search for the longest burst without loss too, up to so many frames
    #[arg(long, value_name = "FRAMES", value_parser = parse::count)]
    pub bursts: Option<u64>,

    /// Processors to send from, a thread each: 0,2..3
    #[arg(long, value_name = "LIST", value_parser = parse::cpus)]
    pub cpus: Option<parse::Cpus>,

    /// Frames that leave together, 1 to 256; else chosen by the rate
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub batch: Option<u32>,

    /// What random values are drawn from
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Folder for report.html, the figure and the trials
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Send however fast on the interface that carries your own SSH session
    #[arg(long)]
    pub force: bool,
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').parse().ok();
    let inside = number.filter(|number: &f64| (0.0..=100.0).contains(number));
    inside.ok_or_else(|| format!("`{text}` is no percentage from 0 to 100"))
}
