//! `filter detect`: thresholds of a flood, and limits of the suggested rules.

use std::time::Duration;

use clap::Args;
use control::detection::DetectOptions;
use filter::runtime::detect::Threshold;
use packet::quantity;

use super::attach::ModeArg;
use super::value::{ValueError, duration, whole_seconds};

/// `xway filter detect`.
#[derive(Debug, Args)]
pub struct FilterDetectArgs {
    /// Network interface
    pub iface: String,

    /// Observe for this time, or until Ctrl-C
    #[arg(long, alias = "for", default_value = "10s", value_parser = duration, value_name = "TIME")]
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
    #[arg(long, default_value = "5%", value_parser = share, value_name = "PART")]
    pub max_collateral: f64,

    /// Mode in which the program is attached if no filter is active
    #[arg(long, value_enum)]
    pub mode: Option<ModeArg>,
}

impl FilterDetectArgs {
    /// What counts as a flood, and which rules may be loaded.
    pub fn options(&self) -> DetectOptions {
        DetectOptions {
            above: self.above,
            time: self.time,
            hold: self.hold,
            allow: self.allow.clone(),
            samples: self.samples,
            top: self.top,
            max_rules: self.max_rules,
            max_collateral: self.max_collateral,
            mode: self.mode.map(Into::into),
            ..DetectOptions::default()
        }
    }
}

fn threshold(text: &str) -> Result<Threshold, ValueError> {
    let expected = "a rate such as 50kpps, or a share of all packets such as 20%";
    Threshold::parse(text).ok_or(ValueError::Expected(expected))
}

fn share(text: &str) -> Result<f64, ValueError> {
    let share = quantity::share(text).filter(|share| *share > 0.0);
    share.ok_or(ValueError::Expected("a share such as 5%"))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        detect: FilterDetectArgs,
    }

    #[test]
    fn thresholds() {
        assert_eq!(threshold("50kpps").unwrap(), Threshold::Pps(50_000));
        assert_eq!(threshold("2Mpps").unwrap(), Threshold::Pps(2_000_000));
        assert_eq!(threshold("700").unwrap(), Threshold::Pps(700));
        assert_eq!(threshold("20%").unwrap(), Threshold::Share(0.2));
        for text in ["0pps", "0%", "101%", "much", "-5%", "kpps", "0.5pps", ""] {
            assert!(threshold(text).is_err(), "{text}");
        }
    }

    /// A declaration without options detects as the command does.
    #[test]
    fn defaults_are_those_of_the_library() {
        let line = Line::parse_from(["detect", "eth0"]);
        assert_eq!(line.detect.options(), DetectOptions::default());
    }
}
