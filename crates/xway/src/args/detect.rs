//! `filter detect`: what is too much, and what may be done about it.

use std::time::Duration;

use clap::Args;
use filter::runtime::detect::Threshold;

use super::attach::{ModeArg, duration};

/// `xway filter detect`.
#[derive(Debug, Args)]
pub struct FilterDetectArgs {
    /// Network interface
    pub iface: String,

    /// Observe for this time, or until Ctrl-C
    #[arg(long = "for", default_value = "10s", value_parser = duration, value_name = "TIME")]
    pub time: Duration,

    /// Threshold of a flood: a packet rate such as 50kpps, or a share of all packets such as 20%
    /// (at least 1000 packets per second)
    #[arg(long, default_value = "10kpps", value_parser = threshold, value_name = "RATE")]
    pub above: Threshold,

    /// Never suggest rules that drop packets of this source: an address, a prefix, or a set of the
    /// filter as @NAME (may be repeated)
    #[arg(long, value_name = "SOURCE")]
    pub allow: Vec<String>,

    /// Number of rows in each list of senders and ports
    #[arg(long, default_value_t = 5, value_name = "N")]
    pub top: usize,

    /// Packets per second to analyze; of more, a random sample
    #[arg(long, default_value_t = 20_000, value_name = "N",
          value_parser = clap::value_parser!(u32).range(100..=1_000_000))]
    pub samples: u32,

    /// Duration of suggested rules, such as 60s
    #[arg(long, default_value = "60s", value_parser = whole_seconds, value_name = "TIME")]
    pub hold: Duration,

    /// Load the suggested rules for that duration, then remove them
    #[arg(long)]
    pub auto: bool,

    /// With --auto: largest number of rules to load
    #[arg(long, default_value_t = 4, value_name = "N")]
    pub max_rules: usize,

    /// With --auto: largest share of client packets that a loaded rule may drop
    #[arg(long, default_value = "5%", value_parser = part, value_name = "PART")]
    pub max_collateral: f64,

    /// Mode in which the program is attached if no filter is active
    #[arg(long, value_enum)]
    pub mode: Option<ModeArg>,
}

fn threshold(text: &str) -> Result<Threshold, String> {
    if text.ends_with('%') {
        return part(text).map(Threshold::Share);
    }
    let lower = text.to_ascii_lowercase();
    let number = lower.strip_suffix("pps").unwrap_or(&lower);
    let (number, factor) = match number.strip_suffix(['k', 'm']) {
        Some(digits) => (digits, if number.ends_with('k') { 1_000 } else { 1_000_000 }),
        None => (number, 1),
    };
    let pps = number.parse::<u64>().ok().and_then(|pps| pps.checked_mul(factor));
    match pps {
        Some(pps) if pps > 0 => Ok(Threshold::Pps(pps)),
        _ => Err(format!(
            "`{text}` is not a rate: expected one such as 50kpps, or 20% of all traffic"
        )),
    }
}

fn part(text: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%').and_then(|text| text.parse::<f64>().ok());
    match percent {
        Some(percent) if percent > 0.0 && percent <= 100.0 => Ok(percent / 100.0),
        _ => Err(format!("`{text}` is not a share: expected one such as 5%")),
    }
}

fn whole_seconds(text: &str) -> Result<Duration, String> {
    let time = duration(text)?;
    match time.subsec_nanos() {
        0 => Ok(time),
        _ => Err("rules hold for whole seconds: write 60s".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds() {
        assert_eq!(threshold("50kpps"), Ok(Threshold::Pps(50_000)));
        assert_eq!(threshold("2Mpps"), Ok(Threshold::Pps(2_000_000)));
        assert_eq!(threshold("700"), Ok(Threshold::Pps(700)));
        assert_eq!(threshold("20%"), Ok(Threshold::Share(0.2)));
        for text in ["0pps", "0%", "101%", "much", "-5%", "kpps", "5.5kpps", ""] {
            assert!(threshold(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rules_hold_for_whole_seconds() {
        assert_eq!(whole_seconds("2m"), Ok(Duration::from_mins(2)));
        assert!(whole_seconds("1500ms").is_err());
    }
}
