//! What a program meets in the engine: globals, maps, environment. `run` and `debug` share it.

use std::path::PathBuf;

use clap::Args;

use super::generate::parse_count;
use super::link::LinkArg;
use super::object::ObjectArgs;
use super::value::assignment;

#[derive(Clone, Debug, Args)]
pub struct ScenarioArgs {
    /// What to do with packets that were captured without an Ethernet header
    #[arg(long, value_enum, default_value_t, value_name = "POLICY")]
    pub link: LinkArg,

    /// Program of the object; required if there are several
    #[arg(long, value_name = "NAME")]
    pub program: Option<String>,

    /// Program type, if the section name does not contain it, such as xdp or xdp.frags
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,

    /// Environment of the program (interfaces, routes, sockets, clock): a scenario file, or host
    /// for that of this machine
    #[arg(long, value_name = "FILE|host")]
    pub world: Option<PathBuf>,

    /// Fill a map from a file of lines `KEY VALUE` (may be repeated)
    #[arg(long = "map", value_name = "NAME=FILE", value_parser = assignment)]
    pub maps: Vec<(String, String)>,

    /// Set a global variable before the program is loaded, such as port=53 (may be repeated)
    #[arg(long = "set", value_name = "GLOBAL=VALUE", value_parser = assignment)]
    pub set: Vec<(String, String)>,

    #[command(flatten)]
    pub open: ObjectArgs,

    /// Rule of the built-in program drop (may be repeated)
    #[arg(long, value_name = "RULE")]
    pub rule: Vec<String>,

    /// NAT rule of the built-in program forward (may be repeated)
    #[arg(long, value_name = "RULE")]
    pub nat: Vec<String>,

    /// Let forward pass packets that match no NAT rule to the stack
    #[arg(long, requires = "nat")]
    pub nat_only: bool,

    /// Number of the interface that receives the packets
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub ifindex: u32,

    /// Receive queue of packets for which the capture does not contain one
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub queue: u32,

    /// Number of processors in the engine
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=256))]
    pub cpus: u32,

    /// Stop after N packets
    #[arg(long = "count", alias = "limit", value_name = "N", value_parser = parse_count)]
    pub limit: Option<u64>,
}
