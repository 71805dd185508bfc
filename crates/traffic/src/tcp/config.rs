//! `Config`: the connections of a run, their destination and their data.

use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::time::Duration;

/// The settings of one run. [`Config::new`] sets defaults.
#[derive(Clone, Debug)]
pub struct Config {
    /// The interface to send from, in the network namespace of the calling thread. It must not have
    /// an XDP program.
    pub interface: String,
    /// Destination address and port.
    pub destination: SocketAddr,
    /// First source address of flows; the address of the interface when `None`. The peer must be
    /// able to reach other addresses through this interface, by ARP or a route.
    pub source: Option<IpAddr>,
    /// Number of source addresses from the first one on.
    pub sources: u32,
    /// Local ports. The run consumes the packets of connections of this host from these ports to
    /// the same destination, so they should be outside of `ip_local_port_range`.
    pub ports: RangeInclusive<u16>,
    /// Number of connections, at most the number of addresses times that of ports.
    pub flows: u32,
    /// Processors, each with a sending thread. If empty, one thread runs on any processor.
    pub cpus: Vec<usize>,
    /// The congestion control algorithm.
    pub algorithm: Algorithm,
    /// Maximum segment size without options, in bytes; derived from the MTU when `None`.
    pub mss: Option<u16>,
    /// Number of bytes that each flow sends before its FIN; unlimited when `None`.
    pub bytes: Option<u64>,
    /// Time after which each flow sends its FIN.
    pub duration: Option<Duration>,
    /// Limit for the payload of all flows in bits a second.
    pub rate_bps: Option<u64>,
    /// Number of connections opened per second. Connections beyond the backlog of the peer are lost
    /// or reset.
    pub opens_per_second: u32,
    /// Number of segments that a flow sends in a row, so that its receiver can merge them.
    pub quantum: u32,
    /// Number of live frames in a batch, 1 to 256.
    pub batch: u32,
    /// Number of consecutive timeouts without a reply after which a flow is aborted; each lasts
    /// twice as long as the previous one.
    pub retries: u8,
    /// The shortest retransmission timeout.
    pub least_timeout: Duration,
    /// How long to wait at the end before the remaining flows are reset.
    pub patience: Duration,
}

/// The congestion control algorithm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Algorithm {
    /// NewReno (RFC 5681).
    NewReno,
    /// CUBIC (RFC 9438).
    #[default]
    Cubic,
}

impl Config {
    /// One flow for ten seconds.
    pub fn new(interface: impl Into<String>, destination: SocketAddr) -> Self {
        Self {
            interface: interface.into(),
            destination,
            source: None,
            sources: 1,
            ports: 1024..=32_767,
            flows: 1,
            cpus: Vec::new(),
            algorithm: Algorithm::Cubic,
            mss: None,
            bytes: None,
            duration: Some(Duration::from_secs(10)),
            rate_bps: None,
            opens_per_second: 2_000,
            quantum: 32,
            batch: 64,
            retries: 8,
            least_timeout: Duration::from_millis(200),
            patience: Duration::from_secs(5),
        }
    }
}
