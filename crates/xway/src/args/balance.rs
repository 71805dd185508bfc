//! `balance`: one action a variant, each with its own struct of arguments.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand};
use functions::backend::{DEFAULT_GENEVE_PORT, DEFAULT_GUE_PORT};
use packet::Prefix;

use super::attach::Placement;

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
    /// Show what another file of services would move, before it is loaded
    Plan(BalancePlanArgs),
    /// Give a backend no new connections; it keeps those that it has
    Drain(BalanceDrainArgs),
    /// Set the weight of a backend, or whether it is up or down
    Set(BalanceSetArgs),
    /// End the keeping of older connections with backends that drained
    Settle(BalanceSettleArgs),
    /// Open tunnels on a backend, without tunnel devices; without --from, show what was received
    Backend(BalanceBackendArgs),
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

#[derive(Debug, Args)]
pub struct BalanceBackendArgs {
    /// Network interface at which tunnels arrive
    pub iface: String,

    /// Outer source that is allowed, such as 10.0.0.1 or 10.0.0.0/24: a balancer (may be repeated)
    #[arg(long, value_name = "PREFIX", requires = "service")]
    pub from: Vec<Prefix>,

    /// Address of a service, to which packets in tunnels are sent (may be repeated)
    #[arg(long, value_name = "PREFIX", requires = "from")]
    pub service: Vec<Prefix>,

    /// Outer destination, instead of all addresses that this host has now (may be repeated)
    #[arg(long, value_name = "PREFIX", requires = "from")]
    pub address: Vec<Prefix>,

    /// UDP port of GUE; 0 for none
    #[arg(long, value_name = "PORT", default_value_t = DEFAULT_GUE_PORT)]
    pub gue_port: u16,

    /// UDP port of Geneve; 0 for none
    #[arg(long, value_name = "PORT", default_value_t = DEFAULT_GENEVE_PORT)]
    pub geneve_port: u16,

    /// Largest IP packet that clients are to send, from which the announced MSS follows; the
    /// default is the interface's MTU less 76
    #[arg(long, value_name = "BYTES", requires = "from")]
    pub mtu: Option<u16>,

    /// Leave the announced MSS as it is
    #[arg(long, requires = "from", conflicts_with = "mtu")]
    pub keep_mss: bool,

    /// Open no tunnels any more
    #[arg(long, conflicts_with = "from")]
    pub stop: bool,

    #[command(flatten)]
    pub placement: Placement,
}
