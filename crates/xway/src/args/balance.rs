//! `balance`: one action a variant, each with its own struct of arguments.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, Subcommand};
use functions::backend::{DEFAULT_GENEVE_PORT, DEFAULT_GUE_PORT};
use functions::balancer::Flow;
use packet::Prefix;

use super::attach::Placement;
use super::generate::{Bytes, hex};
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
    /// Exchange remembered flows with the balancers of other hosts, until interrupted
    Sync(BalanceSyncArgs),
    /// Check the backends of services that have `[service.health]`, and take out those that fail,
    /// until interrupted: as the daemon does
    Health(BalanceHealthArgs),
    /// Open tunnels on a backend, without tunnel devices; without --from, show what was received
    Backend(BalanceBackendArgs),
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

    /// Longest time to wait for the state of a peer of `[sync]`, before the program is attached
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = duration)]
    pub wait_sync: Duration,

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

    /// QUIC destination connection ID of the packet, in hexadecimal digits
    #[arg(long, value_name = "HEX", value_parser = hex)]
    pub quic_id: Option<Bytes>,

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

#[derive(Debug, Args)]
pub struct BalanceSyncArgs {
    /// Network interface of the balancer
    pub iface: String,

    /// Own address and UDP port; without options, those of `[sync]` in the loaded file are used
    #[arg(long, value_name = "ADDR", requires = "peer")]
    pub listen: Option<SocketAddr>,

    /// Address and UDP port of another balancer (may be repeated)
    #[arg(long, value_name = "ADDR", requires_all = ["listen", "key_file"])]
    pub peer: Vec<SocketAddr>,

    /// File with the secret that all balancers share, at least 16 bytes
    #[arg(long, value_name = "FILE", requires = "peer")]
    pub key_file: Option<PathBuf>,

    /// End after this time instead of when interrupted
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub time: Option<Duration>,
}

#[derive(Debug, Args)]
pub struct BalanceHealthArgs {
    /// Network interface of the balancer
    pub iface: String,

    /// End after this time, such as 10s (default: at Ctrl-C)
    #[arg(long, value_parser = duration)]
    pub time: Option<Duration>,
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
