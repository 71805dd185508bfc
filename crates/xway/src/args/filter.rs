//! `filter`: one action a variant, each with its own struct of arguments.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use super::FilterDetectArgs;
use super::attach::{ModeArg, assignment, duration, memory};
use super::sink::Telling;

#[derive(Debug, Subcommand)]
pub enum FilterAction {
    /// Read a file of rules, show how they are understood and what is perhaps not meant
    Check(FilterCheckArgs),
    /// Say for each packet of a capture which rule decides, and why not the ones before
    Explain(FilterExplainArgs),
    /// Translate the rules of another tool into a file of rules
    Import(FilterImportArgs),
    /// Run nft for `filter import`, with a request on standard input
    #[command(hide = true)]
    NftHelper,
    /// Translate a file of rules for another tool
    Export(FilterExportArgs),
    /// Put a file of rules in force; those in force before decide until then
    #[command(visible_alias = "apply")]
    Load(FilterLoadArgs),
    /// Add one rule to those in force, such as 'drop udp dport 1234 from 10.0.0.0/8'
    Add(FilterAddArgs),
    /// Remove rules from those in force, by name
    Remove(FilterRemoveArgs),
    /// Remove all rules; the default decides
    Flush(FilterFlushArgs),
    /// Take the filter off an interface
    Unload(FilterUnloadArgs),
    /// Show the rules in force with what they count
    Show(FilterShowArgs),
    /// Watch the rules in force: the busiest first
    Top(FilterTopArgs),
    /// Run new rules beside those in force, without effect: which packets would fare otherwise
    Try(FilterTryArgs),
    /// Show packets that rules sample, with their verdict, and write them into a capture
    Sample(FilterSampleArgs),
    /// Watch the traffic: what is too much, and which rules would stop it at what price
    Detect(FilterDetectArgs),
    /// Drop all that a source sends, for a time or until it is taken back
    Ban(FilterBanArgs),
    /// Take bans back
    Unban(FilterUnbanArgs),
    /// List banned sources
    Bans(FilterBansArgs),
}

/// How the program of the rules is put on an interface.
#[derive(Clone, Debug, Default, Args)]
pub struct FilterPlacement {
    /// In the driver, in the stack, or on the card; by itself where it runs now, else native
    #[arg(long, value_enum)]
    pub mode: Option<ModeArg>,

    /// Take the place of a program that is no filter
    #[arg(long)]
    pub replace: bool,

    /// Set a global variable of the program before it is loaded (may be repeated)
    #[arg(long = "set", value_name = "GLOBAL=VALUE", value_parser = assignment)]
    pub set: Vec<(String, String)>,

    /// Refuse rules whose maps take more of the kernel's memory, such as 16MiB
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    pub memory: Option<u64>,

    /// Load rules that depend on VLAN tags even where tags cannot be seen
    #[arg(long)]
    pub ignore_stripped_tags: bool,
}

impl From<&FilterPlacement> for control::filter::FilterPlacement {
    fn from(args: &FilterPlacement) -> Self {
        Self {
            mode: args.mode.map(Into::into),
            replace: args.replace,
            set: args.set.clone(),
            memory: args.memory,
            ignore_stripped_tags: args.ignore_stripped_tags,
        }
    }
}

/// `xway filter load`.
#[derive(Debug, Args)]
pub struct FilterLoadArgs {
    /// Network interface
    pub iface: String,

    /// File of rules, in TOML
    pub file: PathBuf,

    #[command(flatten)]
    pub placement: FilterPlacement,
}

/// `xway filter add`.
#[derive(Debug, Args)]
pub struct FilterAddArgs {
    /// Network interface
    pub iface: String,

    /// The rule
    pub rule: String,

    /// Its name; by itself one that is free
    #[arg(long)]
    pub name: Option<String>,

    /// In front of this rule; else behind all others
    #[arg(long, value_name = "NAME")]
    pub before: Option<String>,

    #[command(flatten)]
    pub placement: FilterPlacement,
}

/// `xway filter remove`.
#[derive(Debug, Args)]
pub struct FilterRemoveArgs {
    /// Network interface
    pub iface: String,

    /// Rules, by name
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
}

/// `xway filter flush`.
#[derive(Debug, Args)]
pub struct FilterFlushArgs {
    /// Network interface
    pub iface: String,
}

/// `xway filter unload`.
#[derive(Debug, Args)]
pub struct FilterUnloadArgs {
    /// Network interface
    pub iface: String,
}

/// `xway filter show`.
#[derive(Debug, Args)]
pub struct FilterShowArgs {
    /// Network interface
    pub iface: String,

    /// Time over which rates are measured, such as 500ms or 2s
    #[arg(long, default_value = "1s", value_parser = duration)]
    pub interval: Duration,

    /// Print the file of rules that is in force instead
    #[arg(long)]
    pub file: bool,
}

/// `xway filter top`.
#[derive(Debug, Args)]
pub struct FilterTopArgs {
    /// Network interface
    pub iface: String,

    /// Watch for this long; else until Ctrl-C
    #[arg(long, value_parser = duration, value_name = "TIME")]
    pub time: Option<Duration>,

    /// Take one in so many packets for senders and ports; by itself about 10,000 a second
    #[arg(long, value_parser = one_in, value_name = "1/N")]
    pub sample: Option<u32>,

    /// Rules alone, no senders and ports: the program in force stays as it is
    #[arg(long, conflicts_with = "sample")]
    pub rules_only: bool,

    #[command(flatten)]
    pub telling: Telling,
}

/// `xway filter check`.
#[derive(Debug, Args)]
pub struct FilterCheckArgs {
    /// File of rules, in TOML
    #[arg(required_unless_present = "policies")]
    pub file: Option<PathBuf>,

    /// Show what becomes of every kind of odd packet, not only what differs from the usual; without
    /// a file, the usual policies
    #[arg(long)]
    pub policies: bool,

    /// Refuse rules whose maps take more of the kernel's memory, such as 16MiB
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    pub memory: Option<u64>,
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use clap::Parser;

    use crate::args::Cli;

    #[test]
    fn a_file_or_policies() {
        let taken = |words: &str| {
            Cli::try_parse_from("xway filter check".split(' ').chain(words.split_whitespace()))
        };
        assert!(taken("rules.toml").is_ok() && taken("--policies").is_ok());
        let error = taken("").unwrap_err().to_string();
        assert!(error.contains("FILE"), "{error}");
    }
}

/// `xway filter try`.
#[derive(Debug, Args)]
pub struct FilterTryArgs {
    /// Network interface
    pub iface: String,

    /// File of the new rules, in TOML
    pub file: PathBuf,

    /// How long
    #[arg(long = "for", default_value = "10s", value_parser = duration, value_name = "TIME")]
    pub time: Duration,

    /// Show so many of the packets that would meet another verdict
    #[arg(long, default_value_t = 10)]
    pub samples: usize,

    /// Write such packets into a capture (pcapng)
    #[arg(long, value_name = "FILE")]
    pub write: Option<PathBuf>,
}

/// `xway filter sample`.
#[derive(Debug, Args)]
pub struct FilterSampleArgs {
    /// Network interface
    pub iface: String,

    /// How long; else until Ctrl-C or the last of `--count`
    #[arg(long = "for", value_parser = duration, value_name = "TIME")]
    pub time: Option<Duration>,

    /// End after so many packets
    #[arg(long, value_name = "N")]
    pub count: Option<u64>,

    /// Show so many of the packets
    #[arg(long, default_value_t = 10)]
    pub samples: usize,

    /// Write all of them into a capture (pcapng)
    #[arg(long, value_name = "FILE")]
    pub write: Option<PathBuf>,
}

/// `xway filter explain`.
#[derive(Debug, Args)]
pub struct FilterExplainArgs {
    /// Capture of Ethernet frames, pcap or pcapng; with --live, a network interface
    #[arg(value_name = "CAPTURE|IFACE")]
    pub what: PathBuf,

    /// File of rules; without it, those in force
    #[arg(long, value_name = "FILE")]
    pub rules: Option<PathBuf>,

    /// The packets came in by this interface; without a file, its rules
    #[arg(long)]
    pub iface: Option<String>,

    /// Packets as they arrive at the interface, by the rules in force
    #[arg(long, conflicts_with_all = ["rules", "iface"])]
    pub live: bool,

    /// Live: one in so many packets, by chance
    #[arg(long, value_parser = one_in, value_name = "1/N", default_value = "1/1")]
    pub sample: u32,

    /// Live: packets that these tests hold for, as in a rule, such as 'udp dport 53'
    #[arg(long, value_name = "TESTS", requires = "live")]
    pub only: Option<String>,

    /// Live: end after so many packets
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub count: u64,

    /// Live: end after this time; nobody else can change rules meanwhile
    #[arg(long = "for", value_parser = duration, value_name = "TIME", default_value = "10s")]
    pub time: Duration,
}

/// `1/N`.
fn one_in(text: &str) -> Result<u32, String> {
    let number = text.strip_prefix("1/").unwrap_or(text).parse().ok();
    number.filter(|one_in| *one_in > 0).ok_or_else(|| "write 1/N, such as 1/100".to_owned())
}

/// `xway filter ban`.
#[derive(Debug, Args)]
pub struct FilterBanArgs {
    /// Network interface
    pub iface: String,

    /// Addresses
    #[arg(required = true, value_name = "SOURCE")]
    pub sources: Vec<IpAddr>,

    /// How long; else until it is taken back
    #[arg(long = "for", value_parser = duration, value_name = "TIME")]
    pub time: Option<Duration>,
}

/// `xway filter unban`.
#[derive(Debug, Args)]
pub struct FilterUnbanArgs {
    /// Network interface
    pub iface: String,

    /// Addresses
    #[arg(required = true, value_name = "SOURCE")]
    pub sources: Vec<IpAddr>,
}

/// `xway filter bans`.
#[derive(Debug, Args)]
pub struct FilterBansArgs {
    /// Network interface
    pub iface: String,
}

/// `xway filter import`.
#[derive(Debug, Args)]
pub struct FilterImportArgs {
    #[arg(value_enum)]
    pub from: ForeignImport,

    /// What to translate; `-` for standard input
    pub file: PathBuf,

    /// Of nft: the chain, where several have hooks, as TABLE/CHAIN or FAMILY/TABLE/CHAIN
    #[arg(long)]
    pub chain: Option<String>,
}

/// `xway filter export`.
#[derive(Debug, Args)]
pub struct FilterExportArgs {
    #[arg(value_enum)]
    pub to: ForeignExport,

    /// File of rules, in TOML
    pub file: PathBuf,

    /// For nft: the interface whose packets are to be judged
    #[arg(long, required_if_eq("to", "nft"))]
    pub device: Option<String>,
}

/// Whose rules can be read.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ForeignImport {
    /// nftables: JSON of `nft -j list ruleset`, or text that nft takes (needs root)
    Nft,
    /// BGP FlowSpec routes, as ExaBGP's configuration has them
    Flowspec,
}

/// Whose rules can be written.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ForeignExport {
    /// nftables: a table for `nft -f`
    Nft,
    /// BGP FlowSpec routes, as ExaBGP's configuration has them
    Flowspec,
}
