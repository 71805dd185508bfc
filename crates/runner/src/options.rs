//! `Options`: what to run, on which packets, in which environment.

use std::path::PathBuf;

use pcap::LinkPolicy;
use vm::World;

/// What runs the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Runtime {
    /// The engine in user space: no root, any machine, reproducible.
    #[default]
    Vm,
    /// This machine's kernel, by test runs; requires root.
    Kernel,
}

/// The request for a run. The default runs the only program of an object in the engine.
#[derive(Clone, Debug)]
pub struct Options {
    /// Path of an object file, or name of a built-in program.
    pub object: String,
    /// Path of the capture.
    pub input: PathBuf,
    /// Whether packets that were captured without an Ethernet header get one.
    pub link: LinkPolicy,
    /// Directory for captures of the packets after the program.
    pub out: Option<PathBuf>,
    /// Name of the program; required if the object has several.
    pub program: Option<String>,
    /// Program type, if the section name does not contain it, such as `xdp.frags`.
    pub kind: Option<String>,
    /// What runs the program. A comparison uses both.
    pub runtime: Runtime,
    /// Environment of the program; `None` for an empty one at the time of the capture.
    pub world: Option<World>,
    /// Take options of the kernel's configuration that the object reads from this machine.
    pub host_configuration: bool,
    /// Maps by name, with files of their contents before the first packet: lines `KEY VALUE` as
    /// `xway map update` takes them; `#` starts a comment.
    pub maps: Vec<(String, PathBuf)>,
    /// Global variables by name, with their values as text.
    pub globals: Vec<(String, String)>,
    /// Sizes of maps by name, in entries or in bytes of a ring buffer.
    pub map_sizes: Vec<(String, u32)>,
    /// Options of the kernel's configuration by name, with their values as text.
    pub kconfig: Vec<(String, String)>,
    /// Rules of the built-in program `drop`, such as `10.1.0.2 udp 1234`.
    pub rules: Vec<String>,
    /// NAT rules of the built-in program `forward`, such as `10.1.0.2 udp 1234 -> 10.1.1.2`.
    pub translations: Vec<String>,
    /// Let `forward` pass packets that match no NAT rule to the stack.
    pub nat_only: bool,
    /// Number of the interface that receives the packets.
    pub ifindex: u32,
    /// Receive queue of packets for which the capture does not contain one.
    pub queue: u32,
    /// Processors of the engine.
    pub cpus: u32,
    /// Rounds that measure the rate; verdicts and maps are those of one pass.
    pub repeat: u32,
    /// Number of packets after which the run ends.
    pub limit: Option<u64>,
    /// Names of maps that are neither listed nor compared.
    pub ignored_maps: Vec<String>,
    /// Count how often each source line runs (engine only).
    pub cover: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            object: String::new(),
            input: PathBuf::new(),
            link: LinkPolicy::default(),
            out: None,
            program: None,
            kind: None,
            runtime: Runtime::Vm,
            world: None,
            host_configuration: false,
            maps: Vec::new(),
            globals: Vec::new(),
            map_sizes: Vec::new(),
            kconfig: Vec::new(),
            rules: Vec::new(),
            translations: Vec::new(),
            nat_only: false,
            ifindex: 1,
            queue: 0,
            cpus: 1,
            repeat: 3,
            limit: None,
            ignored_maps: Vec::new(),
            cover: false,
        }
    }
}
