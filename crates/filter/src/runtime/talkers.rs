//! `Talker`: the busiest senders and ports, estimated from a random sample of packets.
//!
//! Each interval of time has its own sampling rate. The estimate is the sum over a window, with an
//! error at a confidence of 95 %. Without sampling, there is no error.
//!
//! Rule: memory is limited by the samples of a window. Not here: sampling packets (`tap`).

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::hash::Hash;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use spec::Verdict;

use crate::abi::Reason;
use crate::model::headers::{Frame, read};
use crate::{Field, Needs};

/// The destination of a packet: protocol and, if it has one, port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Port {
    pub protocol: u8,
    pub port: Option<u16>,
}

/// The verdict about a packet, with its reason.
pub type VerdictReason = (Verdict, Option<Reason>);

/// The samples of the last intervals.
#[derive(Clone, Debug)]
pub struct Window {
    /// Length of the window in seconds.
    span: f64,
    intervals: VecDeque<Interval>,
}

/// An interval of time with one sampling rate.
#[derive(Clone, Debug, Default)]
pub struct Interval {
    /// Length in seconds.
    pub seconds: f64,
    /// The number of packets that were sampled from.
    pub matched: u64,
    samples: u64,
    sources: HashMap<IpAddr, Tally>,
    ports: HashMap<Port, Tally>,
}

/// A sender or a port, with its traffic.
#[derive(Clone, Debug, PartialEq)]
pub struct Talker<K> {
    /// The address or port.
    pub key: K,
    /// Its number of samples.
    pub samples: u64,
    /// Estimated packets per second.
    pub pps: f64,
    /// The error of the estimate, with a confidence of 95 %.
    pub error_pps: f64,
    /// The most frequent outcome of its samples.
    pub outcome: VerdictReason,
}

#[derive(Clone, Debug, Default)]
struct Tally {
    samples: u64,
    outcomes: HashMap<VerdictReason, u64>,
}

impl Interval {
    /// Adds a sample: the first bytes of a frame, with its outcome.
    pub fn add(&mut self, bytes: &[u8], outcome: VerdictReason) {
        self.samples += 1;
        let frame = Frame { bytes, ..Frame::default() };
        let reading = read(&frame, Needs::ALL);
        let Some(layer) = reading.layers.first() else { return };
        let field = |field| layer.fields.field(field);
        let v4 = field(Field::Source4).map(|bits| Ipv4Addr::from_bits(bits as u32).into());
        let v6 = || field(Field::Source6).map(|bits| Ipv6Addr::from_bits(bits).into());
        if let Some(source) = v4.or_else(v6) {
            self.sources.entry(source).or_default().add(outcome);
        }
        if let Some(protocol) = field(Field::Protocol) {
            let port = field(Field::DestPort).map(|port| port as u16);
            let port = Port { protocol: protocol as u8, port };
            self.ports.entry(port).or_default().add(outcome);
        }
    }

    /// The number of samples.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// The number of packets per sample.
    fn weight(&self) -> f64 {
        if self.samples == 0 { 0.0 } else { self.matched as f64 / self.samples as f64 }
    }

    /// The variance of the estimated packets of a key with this number of samples.
    fn variance(&self, samples: u64) -> f64 {
        let (all, n) = (self.matched as f64, self.samples as f64);
        if n == 0.0 || n >= all {
            return 0.0;
        }
        let part = samples as f64 / n;
        all * all * part * (1.0 - part) / n * (1.0 - n / all)
    }
}

impl Tally {
    fn add(&mut self, outcome: VerdictReason) {
        self.samples += 1;
        *self.outcomes.entry(outcome).or_default() += 1;
    }
}

impl Window {
    /// An empty window of a length in seconds.
    pub fn new(span_seconds: f64) -> Self {
        Self { span: span_seconds, intervals: VecDeque::new() }
    }

    /// Adds an interval and removes those that are older than the window.
    pub fn add(&mut self, interval: Interval) {
        self.intervals.push_back(interval);
        while self.intervals.len() > 1 && self.seconds() - self.intervals[0].seconds >= self.span {
            self.intervals.pop_front();
        }
    }

    /// The length of all intervals in seconds.
    pub fn seconds(&self) -> f64 {
        self.intervals.iter().map(|one| one.seconds).sum()
    }

    /// The number of samples of all intervals.
    pub fn samples(&self) -> u64 {
        self.intervals.iter().map(|one| one.samples).sum()
    }

    /// The number of packets that were sampled from.
    pub fn matched(&self) -> u64 {
        self.intervals.iter().map(|one| one.matched).sum()
    }

    /// The busiest senders, in descending order.
    pub fn sources(&self, most: usize) -> Vec<Talker<IpAddr>> {
        self.busiest(most, |one| &one.sources)
    }

    /// The busiest ports, in descending order.
    pub fn ports(&self, most: usize) -> Vec<Talker<Port>> {
        self.busiest(most, |one| &one.ports)
    }

    fn busiest<K: Hash + Eq + Ord + Copy>(
        &self,
        most: usize,
        of: impl Fn(&Interval) -> &HashMap<K, Tally>,
    ) -> Vec<Talker<K>> {
        let mut all: HashMap<K, Estimate> = HashMap::new();
        for interval in &self.intervals {
            for (key, tally) in of(interval) {
                all.entry(*key).or_default().add(interval, tally);
            }
        }
        let seconds = self.seconds().max(f64::MIN_POSITIVE);
        let mut all: Vec<_> = all.into_iter().map(|(key, one)| one.talker(key, seconds)).collect();
        all.sort_by(|a, b| b.pps.total_cmp(&a.pps).then(a.key.cmp(&b.key)));
        all.truncate(most);
        all
    }
}

/// A sum over intervals.
#[derive(Default)]
struct Estimate {
    packets: f64,
    variance: f64,
    tally: Tally,
}

impl Estimate {
    /// Adds an interval. Intervals without a sample of the key do not add to the error.
    fn add(&mut self, interval: &Interval, tally: &Tally) {
        self.packets += tally.samples as f64 * interval.weight();
        self.variance += interval.variance(tally.samples);
        self.tally.samples += tally.samples;
        for (outcome, samples) in &tally.outcomes {
            *self.tally.outcomes.entry(*outcome).or_default() += samples;
        }
    }

    fn talker<K>(self, key: K, seconds: f64) -> Talker<K> {
        let outcomes = self.tally.outcomes.iter();
        // Ties are resolved the same way each time.
        let outcome = outcomes.max_by_key(|((verdict, reason), samples)| {
            (**samples, *verdict as u32, reason.map(|reason| reason as u32))
        });
        Talker {
            key,
            samples: self.tally.samples,
            pps: self.packets / seconds,
            error_pps: DEVIATIONS * self.variance.sqrt() / seconds,
            outcome: outcome.map_or((Verdict::Pass, None), |(outcome, _)| *outcome),
        }
    }
}

impl fmt::Display for Port {
    /// Writes the port, such as `udp/53`, `icmp` or `protocol 200`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match crate::language::text::protocol_name(self.protocol) {
            Some(name) => f.write_str(name)?,
            None => write!(f, "protocol {}", self.protocol)?,
        }
        self.port.map_or(Ok(()), |port| write!(f, "/{port}"))
    }
}

/// Standard deviations for a confidence of 95 %.
const DEVIATIONS: f64 = 1.96;

#[cfg(test)]
mod tests {
    use super::*;

    /// IPv4 and UDP from 10.0.0.`source` to a port.
    fn udp(source: u8, port: u16) -> Vec<u8> {
        let mut frame = vec![0; 60];
        frame[12..14].copy_from_slice(&[8, 0]);
        frame[14..18].copy_from_slice(&[0x45, 0, 0, 28]);
        frame[22..24].copy_from_slice(&[64, 17]);
        frame[26..30].copy_from_slice(&[10, 0, 0, source]);
        frame[36..38].copy_from_slice(&port.to_be_bytes());
        frame[38..40].copy_from_slice(&[0, 8]);
        frame
    }

    fn interval(matched: u64, samples: &[(u8, u16, u64)]) -> Interval {
        let mut interval = Interval { seconds: 1.0, matched, ..Interval::default() };
        for (source, port, count) in samples {
            for _ in 0..*count {
                interval.add(&udp(*source, *port), (Verdict::Drop, Some(Reason::Rule)));
            }
        }
        interval
    }

    #[test]
    fn without_sampling_there_is_no_error() {
        let mut window = Window::new(2.0);
        window.add(interval(10, &[(1, 53, 7), (2, 80, 3)]));
        let sources = window.sources(9);
        let rows: Vec<_> =
            sources.iter().map(|one| (one.key.to_string(), one.pps, one.error_pps)).collect();
        assert_eq!(rows, [("10.0.0.1".into(), 7.0, 0.0), ("10.0.0.2".into(), 3.0, 0.0)]);
        let ports: Vec<_> = window.ports(1).iter().map(|one| one.key.to_string()).collect();
        assert_eq!(ports, ["udp/53"]);
        assert_eq!(sources[0].outcome, (Verdict::Drop, Some(Reason::Rule)));
    }

    #[test]
    fn samples_are_weighted() {
        let mut window = Window::new(1.0);
        window.add(interval(10_000, &[(1, 53, 50), (2, 80, 50)]));
        let sources = window.sources(9);
        assert_eq!((sources[0].pps, sources[1].pps), (5000.0, 5000.0));
        // 1.96 · 10000 · sqrt(1/4 / 100 · 0.99)
        assert!((sources[0].error_pps - 975.1).abs() < 0.1, "{}", sources[0].error_pps);
    }

    #[test]
    fn sampling_rates_may_differ_and_old_intervals_are_removed() {
        let mut window = Window::new(2.0);
        window.add(interval(1_000_000, &[(9, 9, 10)]));
        window.add(interval(100, &[(1, 53, 100)]));
        window.add(interval(1000, &[(1, 53, 10)]));
        let sources = window.sources(9);
        assert_eq!(sources.len(), 1, "{sources:?}");
        assert_eq!((sources[0].pps, sources[0].samples), (550.0, 110));
        assert_eq!((window.seconds(), window.samples(), window.matched()), (2.0, 110, 1100));
    }

    #[test]
    fn any_bytes_are_counted() {
        let mut interval = Interval { seconds: 1.0, matched: 3, ..Interval::default() };
        for bytes in [&[][..], &[0; 13], &udp(1, 1)[..20]] {
            interval.add(bytes, (Verdict::Drop, Some(Reason::Truncated)));
        }
        assert_eq!(interval.samples(), 3);
        let mut window = Window::new(1.0);
        window.add(interval);
        assert_eq!(window.sources(9), []);
    }

    #[test]
    fn ports_have_names() {
        for (protocol, port, text) in
            [(17, Some(53), "udp/53"), (1, None, "icmp"), (200, None, "protocol 200")]
        {
            assert_eq!(Port { protocol, port }.to_string(), text);
        }
    }
}
