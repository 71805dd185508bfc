//! `lab`: topologies, hosts and commands.

use clap::{Args, Subcommand, ValueEnum};

/// A topology by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shape {
    TwoHosts,
    Router,
    ThreeHosts,
    Service,
}

#[derive(Debug, Args)]
pub struct LabArgs {
    #[command(subcommand)]
    pub action: LabAction,
}

#[derive(Debug, Subcommand)]
pub enum LabAction {
    /// Create a lab that persists until `lab down`
    Up {
        /// Topology of the lab
        shape: Shape,
        /// Number of receive and transmit queues of each interface
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=256))]
        queues: u32,
        /// MTU in bytes; native XDP without fragments supports at most 3506
        #[arg(long, default_value_t = 1500,
              value_parser = clap::value_parser!(u32).range(1280..=65_535))]
        mtu: u32,
    },
    /// List labs with their hosts and addresses
    List,
    /// Remove a lab
    Down {
        /// Lab from `lab list`
        lab: String,
    },
    /// Run a command on a host of a lab, or in a lab created for it
    Run {
        /// Lab from `lab list`, or a topology to create
        lab: String,
        /// Host of the lab, from `lab list`
        host: String,
        /// Run as root; without it, a command started by sudo runs as the invoking user
        #[arg(long)]
        root: bool,
        /// Command and its arguments
        #[arg(trailing_var_arg = true, required = true, allow_hyphen_values = true)]
        command: Vec<String>,
    },
    /// Start a shell on a host of a lab, or in a lab created for it
    Shell {
        /// Lab from `lab list`, or a topology to create
        lab: String,
        /// Host of the lab, from `lab list`
        host: String,
        /// Run as root; without it, a shell started by sudo runs as the invoking user
        #[arg(long)]
        root: bool,
    },
    /// Remove labs of processes that were killed
    Gc {
        /// Also remove labs that are up
        #[arg(long)]
        all: bool,
    },
}
