//! `route`: one action a variant, each with its own struct of arguments. `forward` is another name
//! of `route start`.

use clap::{Args, Subcommand};
use functions::route::Config;

use super::attach::Placement;

#[derive(Debug, Subcommand)]
pub enum RouteAction {
    /// Route packets by the kernel's routes, rules and neighbors, with destination NAT
    Start(RouteStartArgs),
    /// Stop the router of these interfaces; other programs of their chains continue to run
    Stop(RouteStopArgs),
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
    pub placement: Placement,
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
