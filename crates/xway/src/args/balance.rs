//! `balance`: one action a variant, each with its own struct of arguments.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, Subcommand};
use functions::balancer::Flow;

use super::attach::Placement;
use super::value::duration;

/// Arguments of `set` of which one is required.
const CHANGES: [&str; 3] = ["weight", "up", "down"];

#[derive(Debug, Subcommand)]
pub enum BalanceAction {
    /// Balance the services of a file; if a balancer runs, change them and keep all connections
    Load(BalanceLoadArgs),
    /// Check a file of services without loading it
    Check(BalanceCheckArgs),
    /// Show services and backends, with what was sent to each
    Show,
    /// Show which backends are busiest, live
    Top(BalanceTopArgs),
    /// Show which backend a flow has, and why
    Why(BalanceWhyArgs),
    /// Show what another file of services would move, before it is loaded
    Plan(BalancePlanArgs),
    /// Give a backend no new connections; it keeps those that it has
    Drain(BalanceDrainArgs),
    /// Set the weight of a backend, or whether it is up or down
    Set(BalanceSetArgs),
    /// End the keeping of older connections with backends that drained
    Settle(BalanceSettleArgs),
    /// Compare the balancer with katran's test fixtures, in the engine
    Fixtures(BalanceFixturesArgs),
}

#[derive(Debug, Args)]
pub struct BalanceLoadArgs {
    /// Network interface at which clients' packets arrive
    pub iface: String,

    /// File of services, in TOML
    pub file: PathBuf,

    /// Further interfaces that packets may leave by (may be repeated)
    #[arg(long, value_name = "IFACE")]
    pub out: Vec<String>,

    #[command(flatten)]
    pub placement: Placement,
}

#[derive(Debug, Args)]
pub struct BalanceCheckArgs {
    /// File of services, in TOML
    pub file: PathBuf,
}

#[derive(Debug, Args)]
pub struct BalanceFixturesArgs {
    /// Checkout of katran, whose headers of fixtures are read and never executed
    pub dir: PathBuf,
}

#[derive(Debug, Args)]
pub struct BalanceTopArgs {
    /// Interval over which rates are measured, such as 500ms or 2s
    #[arg(long, default_value = "1s", value_parser = duration, value_name = "TIME")]
    pub interval: Duration,

    /// End after this number of intervals (default: at Ctrl-C)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,

    /// Print the rates of one interval, and end
    #[arg(long, conflicts_with = "count")]
    pub once: bool,
}

#[derive(Debug, Args)]
pub struct BalanceWhyArgs {
    /// Protocol, client and service, such as 'tcp 10.0.0.7:4000 192.0.2.1:80'; of an echo request
    /// the identifier, and no port of the service: 'icmp 10.0.0.7:17 192.0.2.1'
    pub flow: Flow,

    /// Interface of the balancer; without it, all balancers with a service for the flow
    #[arg(long = "dev", value_name = "IFACE")]
    pub iface: Option<String>,
}

#[derive(Debug, Args)]
pub struct BalancePlanArgs {
    /// File of services as they are
    pub old: PathBuf,

    /// File of services as they will be
    pub new: PathBuf,
}

#[derive(Debug, Args)]
pub struct BalanceDrainArgs {
    /// Network interface of the balancer
    pub iface: String,

    /// Address of the backend
    pub backend: IpAddr,

    /// In this service only; otherwise in all
    #[arg(long, value_name = "NAME")]
    pub service: Option<String>,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("change").args(CHANGES).required(true).multiple(true))]
pub struct BalanceSetArgs {
    /// Network interface of the balancer
    pub iface: String,

    /// Address of the backend
    pub backend: IpAddr,

    /// In this service only; otherwise in all
    #[arg(long, value_name = "NAME")]
    pub service: Option<String>,

    /// Share of new connections, relative to those of others
    #[arg(long)]
    pub weight: Option<u16>,

    /// Give it new connections again
    #[arg(long, conflicts_with = "down")]
    pub up: bool,

    /// Move its connections to others
    #[arg(long)]
    pub down: bool,
}

#[derive(Debug, Args)]
pub struct BalanceSettleArgs {
    /// Network interface of the balancer
    pub iface: String,
}
