//! Which connections, to where, carrying what.

use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::time::Duration;

/// One run. [`Config::new`] gives the rest of the fields a value.
#[derive(Clone, Debug)]
pub struct Config {
    /// The interface to send from, in the calling thread's namespace. It must have no XDP program.
    pub interface: String,
    /// Where somebody listens.
    pub destination: SocketAddr,
    /// First of the addresses that flows come from; the interface's own when `None`. Others must
    /// lead back to this interface: the peer asks for them by ARP or has a route.
    pub source: Option<IpAddr>,
    /// How many addresses from the first one on are flows' own.
    pub sources: u32,
    /// Local ports. A connection of this host from such a port to the same destination would lose
    /// its packets to the run: choose others than the host does (`ip_local_port_range`).
    pub ports: RangeInclusive<u16>,
    /// Connections, at most as many as there are addresses times ports.
    pub flows: u32,
    /// One sending thread for each. Empty: one thread, where the caller is.
    pub cpus: Vec<usize>,
    pub algorithm: Algorithm,
    /// Largest segment, without options; from the interface's MTU when `None`.
    pub mss: Option<u16>,
    /// Bytes that each flow sends before its FIN; until the duration is over when `None`.
    pub bytes: Option<u64>,
    /// After this time each flow sends its FIN.
    pub duration: Option<Duration>,
    /// Bits of payload a second of all flows together, at most.
    pub rate_bps: Option<u64>,
    /// Connections opened in a second. More than the other end accepts meanwhile, beyond its
    /// backlog, are lost there, or even reset.
    pub opens_per_second: u32,
    /// Segments that a flow sends in one go, so that its receiver can merge them.
    pub quantum: u32,
    /// Live frames prepared at once, 1 to 256.
    pub batch: u32,
    /// Timeouts in a row without any answer after which a flow is given up; each waits twice as
    /// long as the one before.
    pub retries: u8,
    /// The shortest retransmission timeout.
    pub least_timeout: Duration,
    /// How long flows are waited for at the end before they are reset.
    pub patience: Duration,
}

/// How the congestion window grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Algorithm {
    /// RFC 5681.
    NewReno,
    /// RFC 9438.
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
