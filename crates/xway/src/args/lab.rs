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
    /// Make a lab that stays until `lab down`
    Up {
        shape: Shape,
        /// Receive and transmit queues of each interface
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=256))]
        queues: u32,
        /// Largest packet in bytes; native XDP without fragments takes at most 3506
        #[arg(long, default_value_t = 1500,
              value_parser = clap::value_parser!(u32).range(1280..=65_535))]
        mtu: u32,
    },
    /// Labs that are up, with their hosts and addresses
    List,
    /// Remove a lab
    Down { lab: String },
    /// Run a command on a host of a lab; with a topology's name, in a lab made for it
    Run {
        /// A lab from `lab list`, or a topology
        lab: String,
        host: String,
        /// Keep root's rights: without it, a command started by sudo runs as the invoking user
        #[arg(long)]
        root: bool,
        #[arg(trailing_var_arg = true, required = true, allow_hyphen_values = true)]
        command: Vec<String>,
    },
    /// A shell on a host of a lab; with a topology's name, in a lab made for it
    Shell {
        /// A lab from `lab list`, or a topology
        lab: String,
        host: String,
        /// Keep root's rights: without it, a shell started by sudo is the invoking user's
        #[arg(long)]
        root: bool,
    },
    /// Remove what killed runs left behind
    Gc {
        /// Also labs that are up
        #[arg(long)]
        all: bool,
    },
}
