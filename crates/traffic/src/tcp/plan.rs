//! `Plan`: a checked configuration and path, converted to the configuration of the programs.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use packet::header_len::ETHERNET;
use spec::Spec;

use super::abi;
use super::config::{Algorithm, Config};
use super::path::Path;
use crate::error::{ConfigError, Error, Result};
use crate::limits;

/// The compiled programs.
pub static OBJECT: &[u8] = include_bytes!("../../../../bpf/prebuilt/tcp.o");
/// Name of the sending program.
pub const SEND: &str = "xway_tcp_send";
/// Name of the receiving program.
pub const RECEIVE: &str = "xway_tcp_receive";
/// Name of the receiving program for an MTU above one page.
pub const RECEIVE_FRAGS: &str = "xway_tcp_receive_frags";

/// Name of the map of flows.
pub const FLOWS: &str = "tcp_flows";
/// Name of the map of deadlines.
pub const DEADLINES: &str = "tcp_deadlines";
/// Name of the map of queues of flows that may send.
pub const READY: &str = "tcp_ready";
/// Name of the map of the ends of these queues.
pub const TAILS: &str = "tcp_tails";
/// Name of the map of senders.
pub const SENDERS: &str = "tcp_senders";
/// Name of the map of the run's phase.
pub const CONTROL: &str = "tcp_control";
/// Name of the map of counters.
pub const TOTALS: &str = "tcp_totals";
/// Name of the map of the histogram of round trips.
pub const RTTS: &str = "tcp_rtts";

/// Number of flows in an element of [`DEADLINES`].
pub const DEADLINES_EACH: u32 = 16;

/// Offset of the flow in an element of [`FLOWS`], after its lock.
pub const FLOW_AT: usize = 8;

/// A checked run, without side effects: the same for the kernel and the engine.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Configuration of the first sender.
    config: abi::Config,
    senders: u32,
    source: IpAddr,
    to: SocketAddr,
}

impl Plan {
    /// Checks a configuration. `start` is the present time by the clock of the programs; `seed`
    /// determines initial sequence numbers.
    ///
    /// # Errors
    /// [`Error::Config`] for numbers that contradict each other.
    pub fn new(config: &Config, path: &Path, start: u64, seed: u32) -> Result<Self> {
        check(config)?;
        let mss = largest(config, path)?;
        let ports = config.ports.len() as u32;
        let first = first_address(config, path)?;
        let wanted = config.cpus.len().max(1) as u32;
        // A line of deadlines belongs to one sender.
        let share = config.flows.div_ceil(wanted).next_multiple_of(DEADLINES_EACH);
        let senders = config.flows.div_ceil(share);
        let mut macs = [0; 12];
        macs[..6].copy_from_slice(&path.next_hop.0);
        macs[6..].copy_from_slice(&path.mac.0);
        let settings = abi::Config {
            macs,
            source: words(first),
            destination: words(config.destination.ip()),
            port: config.destination.port().to_be_bytes(),
            first_port: *config.ports.start(),
            ports,
            flows: config.flows,
            share,
            ring: share.next_power_of_two(),
            sender: 0,
            ifindex: path.ifindex.0,
            seed,
            mss,
            ipv6: u8::from(first.is_ipv6()),
            algorithm: match config.algorithm {
                Algorithm::NewReno => abi::Algorithm::NewReno,
                Algorithm::Cubic => abi::Algorithm::Cubic,
            } as u8,
            batch: config.batch,
            quantum: config.quantum,
            initial: INITIAL_WINDOW,
            retries: config.retries.into(),
            bytes: config.bytes.unwrap_or(ENDLESS).min(ENDLESS),
            least_timeout: nanoseconds(config.least_timeout),
            time_wait: nanoseconds(TIME_WAIT),
            start,
            open_interval: interval(f64::from(config.opens_per_second) / f64::from(senders)),
            byte_interval: match config.rate_bps {
                Some(bits) => interval(bits as f64 / 8.0 / f64::from(senders)).max(1),
                None => 0,
            },
        };
        Ok(Self { config: settings, senders, source: first, to: config.destination })
    }

    /// Number of senders.
    pub fn senders(&self) -> u32 {
        self.senders
    }

    /// Number of flows.
    pub fn flows(&self) -> u32 {
        self.config.flows
    }

    /// The object for the sender with this number; all senders of a run share their maps.
    ///
    /// # Errors
    /// [`Error::Object`] if the built-in object cannot be read: a defect of this build.
    pub fn object(&self, number: u32) -> Result<Spec> {
        let mut spec = Spec::parse("tcp.o", OBJECT)?;
        let settings = abi::Config { sender: number, ..self.config };
        spec.set_global("tcp_config", &settings.to_bytes())?;
        let entries = [
            (FLOWS, settings.flows),
            (DEADLINES, settings.flows.div_ceil(DEADLINES_EACH)),
            (READY, settings.ring * self.senders),
            (TAILS, self.senders),
            (SENDERS, self.senders),
        ];
        for map in &mut spec.maps {
            let found = entries.iter().find(|(name, _)| *name == map.name);
            map.max_entries = found.map_or(map.max_entries, |(_, entries)| *entries);
        }
        Ok(spec)
    }

    /// The input of live runs: a frame as long as the longest segment.
    pub fn frame(&self) -> Vec<u8> {
        vec![0; ETHERNET + self.headers() as usize + usize::from(self.config.mss)]
    }

    /// Local address and port of the flow with this number.
    pub fn local(&self, number: u32) -> SocketAddr {
        let ip = beyond(self.source, number / self.config.ports).unwrap_or(self.source);
        let place = (number % self.config.ports) as u16;
        SocketAddr::new(ip, self.config.first_port + place)
    }

    /// Destination address and port.
    pub fn destination(&self) -> SocketAddr {
        self.to
    }

    fn headers(&self) -> u32 {
        if self.config.ipv6 == 1 { 60 } else { 40 }
    }
}

fn check(config: &Config) -> Result<()> {
    let refuse = |wrong| Err(Error::Config(wrong));
    let range = |what, max: u32, given: u64| {
        refuse(ConfigError::Range { what, min: 1, max: max.into(), given })
    };
    let flows = u64::from(config.flows);
    let pairs = u64::from(config.sources) * config.ports.len() as u64;
    if config.ports.is_empty() || *config.ports.start() == 0 {
        return refuse(ConfigError::Ports);
    }
    if !(1..=limits::FLOWS).contains(&config.flows) {
        return range("flows", limits::FLOWS, flows);
    }
    if flows > pairs {
        let (sources, ports) = (config.sources, config.ports.len());
        return refuse(ConfigError::Pairs { flows, sources, ports, pairs });
    }
    if config.cpus.len() > limits::THREADS {
        return range("sending processors", limits::THREADS as u32, config.cpus.len() as u64);
    }
    if !(1..=limits::BATCH).contains(&config.batch) {
        return range("frames in a batch", limits::BATCH, config.batch.into());
    }
    if !(1..=limits::BATCH).contains(&config.quantum) {
        return range("segments in a quantum", limits::BATCH, config.quantum.into());
    }
    if config.opens_per_second == 0 || config.rate_bps == Some(0) {
        return refuse(ConfigError::ZeroRate);
    }
    if let Some(given) = config.duration.filter(|time| *time > limits::DURATION) {
        return refuse(ConfigError::TooLong { given });
    }
    if config.duration.is_none() && config.bytes.is_none() {
        return refuse(ConfigError::NoFlowEnd);
    }
    if config.destination.port() == 0 {
        return refuse(ConfigError::NoPort);
    }
    Ok(())
}

/// The MSS, as counted by its option.
fn largest(config: &Config, path: &Path) -> Result<u16> {
    let headers = if config.destination.is_ipv6() { 60 } else { 40 };
    let room = (limits::FRAME_MAX - ETHERNET) as u32;
    let most = path.mtu.min(room).saturating_sub(headers);
    let mss = config.mss.map_or(most, u32::from);
    let least = limits::SEGMENT;
    if mss > most || mss < least {
        let (min, max, given) = (least.into(), most.into(), mss.into());
        let what = "bytes of the MSS with this MTU";
        return Err(ConfigError::Range { what, min, max, given }.into());
    }
    Ok(mss as u16)
}

fn first_address(config: &Config, path: &Path) -> Result<IpAddr> {
    let first = config.source.unwrap_or(path.source);
    if first.is_ipv6() != config.destination.is_ipv6() {
        return Err(ConfigError::SourceFamily { first }.into());
    }
    if beyond(first, config.sources.saturating_sub(1)).is_none() {
        return Err(ConfigError::SourceRange { first, count: config.sources }.into());
    }
    Ok(first)
}

/// The address `count` after `first`; IPv6 addresses differ only in their last 32 bits.
fn beyond(first: IpAddr, count: u32) -> Option<IpAddr> {
    match first {
        IpAddr::V4(ip) => Some(IpAddr::V4(ip.to_bits().checked_add(count)?.into())),
        IpAddr::V6(ip) => {
            (ip.to_bits() as u32).checked_add(count)?;
            Some(IpAddr::V6((ip.to_bits() + u128::from(count)).into()))
        }
    }
}

/// An address as four words in network byte order, IPv4 in the first.
fn words(ip: IpAddr) -> [u8; 16] {
    match ip {
        IpAddr::V4(ip) => {
            let mut bytes = [0; 16];
            bytes[..4].copy_from_slice(&ip.octets());
            bytes
        }
        IpAddr::V6(ip) => ip.octets(),
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Interval at a rate per second, in units of 2^-16 ns.
fn interval(per_second: f64) -> u64 {
    (65_536e9 / per_second) as u64
}

/// Initial congestion window in segments (RFC 6928).
const INITIAL_WINDOW: u32 = 10;
/// Duration of TIME-WAIT; short, because both ends of a run are known.
const TIME_WAIT: Duration = Duration::from_millis(500);
/// Number of bytes of an unlimited flow, far from the limit of 64-bit positions.
const ENDLESS: u64 = 1 << 60;

#[cfg(test)]
mod tests {
    use super::*;
    use packet::Mac;
    use sys::net::Ifindex;

    fn path(mtu: u32) -> Path {
        Path {
            ifindex: Ifindex(7),
            mtu,
            mac: Mac([2, 0, 0, 0, 0, 1]),
            next_hop: Mac([2, 0, 0, 0, 0, 2]),
            source: "10.0.0.250".parse().unwrap(),
        }
    }

    fn config(to: &str) -> Config {
        Config::new("eth0", to.parse().unwrap())
    }

    fn plan(config: &Config, path: &Path) -> Result<Plan> {
        Plan::new(config, path, 1, 1)
    }

    #[test]
    fn invalid_numbers_are_rejected() {
        use ConfigError as Wrong;
        type Is = fn(&ConfigError) -> bool;
        let good = || Config { flows: 100, ..config("10.0.0.2:80") };
        let last = || Some("255.255.255.255".parse().unwrap());
        let cases: [(Is, Config); 14] = [
            (
                |it| matches!(it, Wrong::Range { what: "flows", given: 0, .. }),
                Config { flows: 0, ..good() },
            ),
            (
                |it| matches!(it, Wrong::Pairs { sources: 2, ports: 9, pairs: 18, .. }),
                Config { ports: 1..=9, sources: 2, ..good() },
            ),
            (|it| matches!(it, Wrong::Ports), Config { ports: 0..=99, ..good() }),
            (|it| matches!(it, Wrong::Range { given: 257, .. }), Config { batch: 257, ..good() }),
            (|it| matches!(it, Wrong::Range { given: 0, .. }), Config { quantum: 0, ..good() }),
            (|it| matches!(it, Wrong::ZeroRate), Config { rate_bps: Some(0), ..good() }),
            (|it| matches!(it, Wrong::ZeroRate), Config { opens_per_second: 0, ..good() }),
            (|it| matches!(it, Wrong::NoFlowEnd), Config { duration: None, ..good() }),
            (
                |it| matches!(it, Wrong::TooLong { .. }),
                Config { duration: Some(2 * limits::DURATION), ..good() },
            ),
            (|it| matches!(it, Wrong::NoPort), config("10.0.0.2:0")),
            (
                |it| matches!(it, Wrong::Range { min: 88, max: 1460, given: 1461, .. }),
                Config { mss: Some(1461), ..good() },
            ),
            (|it| matches!(it, Wrong::Range { given: 87, .. }), Config { mss: Some(87), ..good() }),
            (|it| matches!(it, Wrong::SourceFamily { .. }), config("[fd00::2]:80")),
            (
                |it| matches!(it, Wrong::SourceRange { count: 2, .. }),
                Config { source: last(), sources: 2, ..good() },
            ),
        ];
        for (is_expected, bad) in cases {
            match plan(&bad, &path(1500)).unwrap_err() {
                Error::Config(wrong) => assert!(is_expected(&wrong), "{wrong:?}"),
                other => panic!("{other}"),
            }
        }
        plan(&good(), &path(1500)).unwrap();
    }

    #[test]
    fn flows_have_addresses_and_ports_in_order() {
        let config = Config { flows: 7, sources: 3, ports: 10..=12, ..config("10.0.0.2:80") };
        let plan = plan(&config, &path(1500)).unwrap();
        let locals: Vec<String> = (0..7).map(|flow| plan.local(flow).to_string()).collect();
        assert_eq!(locals[0], "10.0.0.250:10");
        assert_eq!(locals[2..4], ["10.0.0.250:12", "10.0.0.251:10"]);
        assert_eq!(locals[6], "10.0.0.252:10");
    }

    #[test]
    fn senders_share_flows_by_lines_of_deadlines() {
        for (flows, cpus, senders, share) in
            [(1, 1, 1, 16), (17, 2, 2, 16), (16, 4, 1, 16), (100_000, 2, 2, 50_000)]
        {
            let cpus = (0..cpus).collect();
            let config = Config { flows, cpus, sources: 4, ..config("10.0.0.2:80") };
            let plan = plan(&config, &path(1500)).unwrap();
            assert_eq!((plan.senders(), plan.config.share), (senders, share), "{flows}");
            let object = plan.object(senders - 1).unwrap();
            let entries = |name| object.map(name).unwrap().max_entries;
            assert_eq!(entries(FLOWS), flows);
            assert!(entries(DEADLINES) * DEADLINES_EACH >= flows);
            assert!(entries(READY) >= senders * share);
        }
    }

    #[test]
    fn frames_hold_the_longest_segment_and_no_more_than_a_page_has() {
        for (mtu, length) in [(1500, 1514), (576, 590), (9000, limits::FRAME_MAX)] {
            let plan = plan(&config("10.0.0.2:80"), &path(mtu)).unwrap();
            assert_eq!(plan.frame().len(), length);
        }
    }
}
