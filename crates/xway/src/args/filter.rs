//! `filter`: one action a variant, each with its own struct of arguments.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use super::FilterDetectArgs;
use super::attach::{Caution, ModeArg};
use super::link::LinkArg;
use super::sink::MonitorArgs;
use super::value::{assignment, duration, memory, one_in};

#[derive(Debug, Subcommand)]
pub enum FilterAction {
    /// Check a rule file and report errors, warnings and the compiled program
    Check(FilterCheckArgs),
    /// Explain for each packet of a capture which rule decides, and why earlier rules do not
    Explain(FilterExplainArgs),
    /// Translate rules of another tool to a rule file
    Import(FilterImportArgs),
    /// Run nft for `filter import`, with a request on standard input
    #[command(hide = true)]
    NftHelper,
    /// Translate a rule file to rules of another tool
    Export(FilterExportArgs),
    /// Load a ruleset, atomically replacing the active one
    #[command(visible_alias = "apply")]
    Load(FilterLoadArgs),
    /// Add one rule to the active ones, such as 'drop udp dport 1234 from 10.0.0.0/8'
    Add(FilterAddArgs),
    /// Remove active rules by name
    Remove(FilterRemoveArgs),
    /// Remove all rules, so that the default verdict applies
    Flush(FilterFlushArgs),
    /// Detach the filter from an interface
    Unload(FilterUnloadArgs),
    /// Show the active rules and their counters
    Show(FilterShowArgs),
    /// Show the busiest rules, senders and ports, refreshed until Ctrl-C
    Top(FilterTopArgs),
    /// Run new rules beside the active ones, without effect, and report packets with another
    /// verdict
    Try(FilterTryArgs),
    /// Show packets that `sample` rules choose, and write them to a capture
    Sample(FilterSampleArgs),
    /// Detect floods, and suggest rules against them with their collateral damage
    Detect(FilterDetectArgs),
    /// Ban sources for a time or until `unban`
    Ban(FilterBanArgs),
    /// Lift bans
    Unban(FilterUnbanArgs),
    /// List banned sources
    Bans(FilterBansArgs),
}

/// How the program of the rules is attached to an interface.
#[derive(Clone, Debug, Default, Args)]
pub struct FilterPlacement {
    /// Mode in which the program is attached; the mode of the active filter, else native, without
    /// it
    #[arg(long, value_enum)]
    pub mode: Option<ModeArg>,

    /// Replace an existing non-filter program
    #[arg(long)]
    pub replace: bool,

    /// Set a global variable before the program is loaded, such as port=53 (may be repeated)
    #[arg(long = "set", value_name = "GLOBAL=VALUE", value_parser = assignment)]
    pub set: Vec<(String, String)>,

    /// Refuse rules whose maps take more kernel memory than this, such as 16MiB
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    pub memory: Option<u64>,

    /// Load rules that depend on VLAN tags even if the program cannot see tags
    #[arg(long)]
    pub ignore_stripped_tags: bool,

    #[command(flatten)]
    pub caution: Caution,
}

impl From<&FilterPlacement> for control::filter::FilterPlacement {
    fn from(args: &FilterPlacement) -> Self {
        Self {
            mode: args.mode.map(Into::into),
            replace: args.replace,
            set: args.set.clone(),
            memory: args.memory,
            ignore_stripped_tags: args.ignore_stripped_tags,
            confirm: args.caution.wait.confirm,
            lockout: args.caution.lockout(),
            ..Self::default()
        }
    }
}

impl From<&Caution> for control::filter::FilterPlacement {
    fn from(caution: &Caution) -> Self {
        Self { confirm: caution.wait.confirm, lockout: caution.lockout(), ..Self::default() }
    }
}

/// `xway filter load`.
#[derive(Debug, Args)]
pub struct FilterLoadArgs {
    /// Network interface
    pub iface: String,

    /// Rule file, in TOML
    pub file: PathBuf,

    #[command(flatten)]
    pub placement: FilterPlacement,
}

/// `xway filter add`.
#[derive(Debug, Args)]
pub struct FilterAddArgs {
    /// Network interface
    pub iface: String,

    /// Rule, such as 'drop udp dport 1234'
    pub rule: String,

    /// Name of the rule; an unused one is chosen without it
    #[arg(long)]
    pub name: Option<String>,

    /// Insert before the rule of this name; after all rules without it
    #[arg(long, value_name = "RULE")]
    pub before: Option<String>,

    #[command(flatten)]
    pub placement: FilterPlacement,
}

/// `xway filter remove`.
#[derive(Debug, Args)]
pub struct FilterRemoveArgs {
    /// Network interface
    pub iface: String,

    /// Names of rules
    #[arg(required = true, value_name = "RULE")]
    pub names: Vec<String>,

    #[command(flatten)]
    pub caution: Caution,
}

/// `xway filter flush`.
#[derive(Debug, Args)]
pub struct FilterFlushArgs {
    /// Network interface
    pub iface: String,

    #[command(flatten)]
    pub caution: Caution,
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

    /// Interval over which rates are measured, such as 500ms or 2s
    #[arg(long, default_value = "1s", value_parser = duration)]
    pub interval: Duration,

    /// Print the active rules as a rule file instead
    #[arg(long = "toml", alias = "file")]
    pub file: bool,
}

/// `xway filter top`.
#[derive(Debug, Args)]
pub struct FilterTopArgs {
    /// Network interface
    pub iface: String,

    /// Stop after this time, such as 30s; on Ctrl-C without it
    #[arg(long, value_parser = duration, value_name = "TIME")]
    pub time: Option<Duration>,

    /// Sample one of N packets to find senders and ports, such as 1/100; about 10,000 per second
    /// without it
    #[arg(long, value_parser = one_in, value_name = "1/N")]
    pub sample: Option<u32>,

    /// Show rules only, without senders and ports; leaves the attached program unchanged
    #[arg(long, conflicts_with = "sample")]
    pub rules_only: bool,

    #[command(flatten)]
    pub monitor: MonitorArgs,
}

/// `xway filter check`.
#[derive(Debug, Args)]
pub struct FilterCheckArgs {
    /// Rule file, in TOML
    #[arg(required_unless_present = "policies")]
    pub file: Option<PathBuf>,

    /// Show the policy for every kind of malformed packet, not only those that differ from the
    /// default; without a file, the defaults
    #[arg(long)]
    pub policies: bool,

    /// Refuse rules whose maps take more kernel memory than this, such as 16MiB
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    pub memory: Option<u64>,
}

/// `xway filter try`.
#[derive(Debug, Args)]
pub struct FilterTryArgs {
    /// Network interface
    pub iface: String,

    /// File of new rules, in TOML
    pub file: PathBuf,

    /// Duration, such as 30s or 5m
    #[arg(long, alias = "for", default_value = "10s", value_parser = duration, value_name = "TIME")]
    pub time: Duration,

    /// Number of packets with another verdict to show
    #[arg(long = "show", alias = "samples", value_name = "N", default_value_t = 10)]
    pub samples: usize,

    /// Write such packets to a capture file (pcapng)
    #[arg(long, value_name = "FILE")]
    pub write: Option<PathBuf>,
}

/// `xway filter sample`.
#[derive(Debug, Args)]
pub struct FilterSampleArgs {
    /// Network interface
    pub iface: String,

    /// Stop after this time; on Ctrl-C or after --count packets without it
    #[arg(long, alias = "for", value_parser = duration, value_name = "TIME")]
    pub time: Option<Duration>,

    /// Stop after N packets
    #[arg(long, value_name = "N")]
    pub count: Option<u64>,

    /// Number of packets to show
    #[arg(long = "show", alias = "samples", value_name = "N", default_value_t = 10)]
    pub samples: usize,

    /// Write all packets to a capture file (pcapng)
    #[arg(long, value_name = "FILE")]
    pub write: Option<PathBuf>,
}

/// `xway filter explain`.
#[derive(Debug, Args)]
pub struct FilterExplainArgs {
    /// Capture file, pcap or pcapng; with --live, a network interface
    #[arg(value_name = "CAPTURE|IFACE")]
    pub what: PathBuf,

    /// What to do with packets that were captured without an Ethernet header
    #[arg(long, value_enum, default_value_t, value_name = "POLICY", conflicts_with = "live")]
    pub link: LinkArg,

    /// Rule file; the active rules without it
    #[arg(long, value_name = "FILE")]
    pub rules: Option<PathBuf>,

    /// Interface that received the packets; its active rules apply if no file is given
    #[arg(long = "dev", alias = "iface", value_name = "IFACE")]
    pub iface: Option<String>,

    /// Explain packets as they arrive at the interface, by the active rules
    #[arg(long, conflicts_with_all = ["rules", "iface"])]
    pub live: bool,

    /// With --live: sample one of N packets at random
    #[arg(long, value_parser = one_in, value_name = "1/N", default_value = "1/1")]
    pub sample: u32,

    /// With --live: only packets that match these tests of a rule, such as 'udp dport 53'
    #[arg(long, value_name = "TESTS", requires = "live")]
    pub only: Option<String>,

    /// With --live: stop after N packets
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub count: u64,

    /// With --live: stop after this time
    #[arg(long, alias = "for", value_parser = duration, value_name = "TIME", default_value = "10s")]
    pub time: Duration,
}

/// `xway filter ban`.
#[derive(Debug, Args)]
pub struct FilterBanArgs {
    /// Network interface
    pub iface: String,

    /// IPv4 or IPv6 addresses
    #[arg(required = true, value_name = "SOURCE")]
    pub sources: Vec<IpAddr>,

    /// Duration of the ban, such as 10m; until `unban` without it
    #[arg(long, alias = "for", value_parser = duration, value_name = "TIME")]
    pub time: Option<Duration>,
}

/// `xway filter unban`.
#[derive(Debug, Args)]
pub struct FilterUnbanArgs {
    /// Network interface
    pub iface: String,

    /// IPv4 or IPv6 addresses
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
    /// Tool whose rules are translated
    #[arg(value_enum)]
    pub from: ForeignImport,

    /// File to translate; - for standard input
    pub file: PathBuf,

    /// For nft and iptables: chain to translate if several have hooks, as CHAIN, TABLE/CHAIN or
    /// FAMILY/TABLE/CHAIN, such as inet/filter/input [default for iptables: INPUT, or FORWARD if
    /// only that has rules]
    #[arg(long)]
    pub chain: Option<String>,

    /// For nft and iptables: translate states of connections, logging, rejects and limits that have
    /// no exact counterpart to the nearest rules, and list the differences
    #[arg(long)]
    pub approximate: bool,

    /// For nft and iptables: also leave out rules that cannot be translated, and list them
    /// (implies --approximate)
    #[arg(long)]
    pub partial: bool,
}

/// `xway filter export`.
#[derive(Debug, Args)]
pub struct FilterExportArgs {
    /// Tool to translate the rules for
    #[arg(value_enum)]
    pub to: ForeignExport,

    /// Rule file, in TOML
    pub file: PathBuf,

    /// For nft: interface to whose packets the rules apply, such as eth0
    #[arg(long = "dev", alias = "device", value_name = "IFACE", required_if_eq("to", "nft"))]
    pub device: Option<String>,
}

/// A tool whose rules can be imported.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ForeignImport {
    /// nftables: JSON from `nft -j list ruleset`, or an nft script (requires root)
    Nft,
    /// The output of iptables-save or ip6tables-save, or of both one after the other
    Iptables,
    /// As iptables, where the file does not name the tool in its first comment
    Ip6tables,
    /// BGP FlowSpec routes in the syntax of ExaBGP's configuration
    Flowspec,
}

/// A tool for which rules can be exported.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ForeignExport {
    /// nftables: a table for `nft -f`
    Nft,
    /// BGP FlowSpec routes in the syntax of ExaBGP's configuration
    Flowspec,
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
