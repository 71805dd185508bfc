//! `route`: one action a variant, each with its own struct of arguments. `forward` is another name
//! of `route start`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use functions::PassOrDrop;
use functions::route::{Config, IcmpErrors, ReversePath};

use super::attach::Placement;
use super::link::LinkArg;
use super::value::{duration, flow_label, number};

#[derive(Debug, Subcommand)]
pub enum RouteAction {
    /// Route packets by the kernel's routes, rules and neighbors, with destination NAT
    Start(RouteStartArgs),
    /// Stop the router of these interfaces; other programs of their chains continue to run
    Stop(RouteStopArgs),
    /// Show what routers receive by port and reason, send by next hop, and remember
    Show,
    /// Show the busiest destination networks, refreshed until Ctrl-C
    Top(RouteTopArgs),
    /// Explain why packets are forwarded or not: rule, table, route, next hop and rewrite
    Why(RouteWhyArgs),
}

#[derive(Debug, Args)]
pub struct RouteStartArgs {
    /// Network interfaces to route between
    #[arg(required = true, value_name = "IFACE")]
    pub ifaces: Vec<String>,

    #[command(flatten)]
    pub translation: Translation,

    #[command(flatten)]
    pub netfilter: Netfilter,

    /// Number of routes that each processor remembers; 0 to ask the kernel for each packet
    #[arg(long, value_name = "ROUTES", default_value_t = Config::default().memory)]
    pub memory: u32,

    /// Attach even if the program cannot see VLAN tags; tagged frames are then routed as untagged
    #[arg(long)]
    pub ignore_stripped_tags: bool,

    // Options of further features are groups of their own, each flattened here as `translation` is.
    #[command(flatten)]
    pub refusals: Refusals,

    #[command(flatten)]
    pub placement: Placement,
}

/// What happens to packets that are not forwarded.
#[derive(Clone, Debug, Args)]
pub struct Refusals {
    /// Leave all ICMP errors to the stack
    #[arg(long, conflicts_with_all = ["icmp_rate", "icmp_prefix_rate", "icmp_extensions"])]
    pub no_icmp_errors: bool,

    /// Name the interface that a packet came in from, in ICMP errors about it (RFC 4884, RFC 5837)
    #[arg(long)]
    pub icmp_extensions: bool,

    /// Number of ICMP errors per second to all receivers; 0 for no limit
    #[arg(long, value_name = "PPS", default_value_t = IcmpErrors::default().total.rate_pps)]
    pub icmp_rate: u32,

    /// Number of ICMP errors per second to each network of receivers, IPv4 /24 or IPv6 /48; 0 for
    /// no limit
    #[arg(long, value_name = "PPS", default_value_t = IcmpErrors::default().prefix.rate_pps)]
    pub icmp_prefix_rate: u32,

    /// Drop packets whose source has no route (loose), or whose source has its route through
    /// another interface (strict): off, loose, strict
    #[arg(long, value_name = "MODE", default_value_t = ReversePath::default())]
    pub reverse_path: ReversePath,

    /// Packets with IPv4 options or IPv6 extension headers: pass to the stack, or drop
    #[arg(long, value_name = "VERDICT", default_value_t = PassOrDrop::default())]
    pub ip_options: PassOrDrop,
}

/// Destination NAT.
#[derive(Clone, Debug, Args)]
pub struct Translation {
    /// Destination NAT rule, such as '10.1.0.2 udp 1234 -> 10.1.1.2' (may be repeated)
    #[arg(long, value_name = "RULE")]
    pub nat: Vec<String>,

    /// Pass packets that match no NAT rule to the stack instead of routing them
    #[arg(long, requires = "nat")]
    pub nat_only: bool,

    /// Do not translate the source address of replies
    #[arg(long, requires = "nat")]
    pub no_replies: bool,
}

/// What the stack would do with the packets.
#[derive(Clone, Debug, Args)]
pub struct Netfilter {
    /// Translate established connections as the kernel's connection tracking does (NAT of nft)
    ///
    /// All other packets go to the stack, which establishes and closes connections.
    #[arg(long, conflicts_with = "nat")]
    pub conntrack: bool,

    /// Start although the stack's firewall has rules, which packets that XDP forwards do not meet
    #[arg(long)]
    pub past_firewall: bool,
}

#[derive(Debug, Args)]
pub struct RouteStopArgs {
    /// All network interfaces of the router
    #[arg(required = true, value_name = "IFACE")]
    pub ifaces: Vec<String>,
}

#[derive(Debug, Args)]
pub struct RouteWhyArgs {
    /// Frame in hexadecimal digits, or a capture file, pcap or pcapng
    #[arg(value_name = "FRAME|CAPTURE")]
    pub what: PathBuf,

    /// Interface that the packets arrive at; without it, the one that has the MAC address to which
    /// each packet is sent
    #[arg(long = "dev", value_name = "IFACE")]
    pub iface: Option<String>,

    /// Only the packet of this number, counted from 1
    #[arg(long, value_name = "N")]
    pub packet: Option<u64>,

    /// Run the router in the user-space engine, without privileges; also where none runs
    #[arg(long)]
    pub engine: bool,

    /// Firewall mark for the kernel's route lookup, such as 0x10; packets that XDP forwards have
    /// none
    #[arg(long, value_name = "MARK", default_value = "0", value_parser = number)]
    pub mark: u32,

    /// Flow label that IPv6 packets have instead of their own, such as 0x12345
    #[arg(long, value_name = "LABEL", value_parser = flow_label)]
    pub flow_label: Option<u32>,

    /// What to do with packets that were captured without an Ethernet header
    #[arg(long, value_enum, default_value_t, value_name = "POLICY")]
    pub link: LinkArg,
}

#[derive(Debug, Args)]
pub struct RouteTopArgs {
    /// Interval over which rates are measured, such as 500ms or 2s
    #[arg(long, default_value = "1s", value_parser = duration, value_name = "TIME")]
    pub interval: Duration,

    /// End after this number of intervals (default: at Ctrl-C)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,

    /// Print a table for one interval, also on a terminal
    #[arg(long, conflicts_with = "count")]
    pub once: bool,
}
