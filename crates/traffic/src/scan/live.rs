//! `Scan`: a scan in progress: a generator that makes probes, and a program that receives answers.
//!
//! Answers are received before the first probe is sent, and until a time after the last one.
//! Rule: dropping it ends the probes and restores the interface.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use kernel::{Attach, Link, LoadOptions, Map, Mode, Object, Replace, RingBuffer};
use packet::Mac;
use sys::net::Netlink;

use super::answer::{self, Answer, Reason, Reception};
use super::program::{self, Thread};
use super::{Cookies, Key, Plan, Probe};
use crate::error::{Error, Result};
use crate::generator::{Action, Completion, Config, Generator, Load, Snapshot};
use crate::maps::{STATS, find, packets_and_bytes};
use crate::rate::{Profile, Rate};
use crate::stream::{Quick, QuickProtocol, Value};
use crate::template::Template;

/// What a scan does beside its plan.
#[derive(Clone, Debug)]
pub struct ScanConfig {
    /// The interface that probes leave by, and that answers arrive at.
    pub interface: String,
    /// Probes a second.
    pub rate: Rate,
    /// Processors that send; one thread on any processor if empty.
    pub cpus: Vec<usize>,
    /// Time for answers after the last probe.
    pub wait: Duration,
    pub reception: Reception,
    pub key: Key,
}

/// The frame of the probes of a protocol.
#[derive(Clone, Debug)]
pub struct ProbeFrame {
    pub protocol: QuickProtocol,
    pub source: IpAddr,
    pub source_mac: Mac,
    /// Address of the next hop.
    pub next_hop: Mac,
}

/// A scan in progress.
#[derive(Debug)]
pub struct Scan {
    generator: Option<Generator>,
    /// Probes of all threads.
    total: u64,
    records: RingBuffer,
    maps: Vec<Map>,
    link: Link,
    wait: Duration,
    /// When the last probe was sent.
    ended: Option<Instant>,
    sent: Snapshot,
}

/// Counters of a scan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Probes that the interface accepted.
    pub sent: u64,
    /// Probes that it rejected.
    pub not_sent: u64,
    /// Packets that arrived, by what they are.
    pub arrived: BTreeMap<&'static str, u64>,
}

impl ProbeFrame {
    /// The probe, with ports from the upper half of all numbers.
    ///
    /// # Errors
    /// The frame cannot be described or is not a probe.
    pub fn probe(&self) -> Result<Probe> {
        let has_ports = self.protocol != QuickProtocol::Icmp;
        let port = has_ports.then(|| Value::from(1));
        let text = |text: String| Some(Value::from(text.as_str()));
        let quick = Quick {
            src: text(self.source.to_string()),
            // It is replaced by each target.
            dst: text(self.source.to_string()),
            src_mac: text(self.source_mac.to_string()),
            dst_mac: text(self.next_hop.to_string()),
            sport: port.clone(),
            dport: port,
            ..Quick::new(self.protocol.clone())
        };
        let template = quick.stream().template(0, LONGEST_PROBE)?;
        Ok(Probe::new(template.bytes, SOURCE_PORTS)?)
    }
}

impl Scan {
    /// Starts a scan in the network namespace of the calling thread.
    ///
    /// # Errors
    /// The family of a target is not that of the probe, the interface has an XDP program, or cannot
    /// send live frames.
    pub fn start(plan: &Plan, probe: &Probe, config: &ScanConfig) -> Result<Self> {
        plan.check_family(probe.is_ipv6())?;
        let total = u64::try_from(plan.len()).map_err(|_| super::Error::TooMany)?;
        let cookies = Cookies::new(config.key, probe.source());
        let interface = Netlink::open()?.link(&config.interface)?;
        let (maps, link) = receive(probe, &cookies, config, interface.ifindex)?;
        let records = RingBuffer::new(find(&maps, answer::RECORDS)?)?;
        let thread = Thread { number: 0, ifindex: interface.ifindex.0 };
        let completion = Completion {
            spec: program::prepare(plan, probe, &cookies, thread)?,
            program: program::PROGRAM.to_owned(),
            thread: program::THREAD.to_owned(),
        };
        let template = Template::constant("probes", probe.bytes().to_vec());
        let generator = Generator::start(Config {
            action: Action::Complete(Box::new(completion)),
            profile: Profile::from(config.rate),
            cpus: config.cpus.clone(),
            count: Some(total),
            duration: None,
            held: true,
            ..Config::new(&config.interface, Load::Streams(vec![template]))
        })?;
        let threads = config.cpus.len().max(1) as u32;
        program::fill::<_, Error>(plan, threads, |name| generator.map(name))?;
        generator.go();
        let (wait, sent) = (config.wait, generator.snapshot()?);
        Ok(Self { generator: Some(generator), total, records, maps, link, wait, ended: None, sent })
    }

    /// Probes of the whole scan.
    pub const fn total(&self) -> u64 {
        self.total
    }

    /// Passes answers to `each` for at most `time`, and returns whether the scan is over.
    ///
    /// # Errors
    /// A thread of the generator failed, or the ring buffer cannot be read.
    pub fn receive(&mut self, time: Duration, mut each: impl FnMut(Answer)) -> Result<bool> {
        let deadline = Instant::now() + time;
        self.records.wait(deadline, |record| {
            if let Some(answer) = Answer::read(record) {
                each(answer);
            }
        })?;
        if self.generator.as_ref().is_some_and(Generator::is_done) {
            self.stop_sending()?;
        }
        Ok(self.ended.is_some_and(|ended| ended.elapsed() >= self.wait))
    }

    /// Ends the probes; answers still arrive.
    ///
    /// # Errors
    /// A thread of the generator failed.
    pub fn stop_sending(&mut self) -> Result<()> {
        if let Some(generator) = self.generator.take() {
            self.sent = generator.stop()?.totals;
            self.ended = Some(Instant::now());
        }
        Ok(())
    }

    /// The counters so far.
    ///
    /// # Errors
    /// A map cannot be read.
    pub fn counts(&self) -> Result<Counts> {
        let now = self.generator.as_ref().map(Generator::snapshot).transpose()?;
        let sent = now.as_ref().unwrap_or(&self.sent);
        let mut arrived = BTreeMap::new();
        for reason in Reason::ALL {
            let (packets, _) = packets_and_bytes(find(&self.maps, STATS)?, reason as u32)?;
            arrived.insert(reason.label(), packets);
        }
        Ok(Counts { sent: sent.sent, not_sent: sent.not_sent, arrived })
    }

    /// Ends the scan, and returns its counters.
    ///
    /// # Errors
    /// The program cannot be detached, or a map not be read.
    pub fn finish(mut self) -> Result<Counts> {
        self.stop_sending()?;
        let counts = self.counts()?;
        self.link.detach()?;
        Ok(counts)
    }
}

/// Attaches the program that receives answers.
fn receive(
    probe: &Probe,
    cookies: &Cookies,
    config: &ScanConfig,
    ifindex: sys::net::Ifindex,
) -> Result<(Vec<Map>, Link)> {
    let spec = answer::prepare(probe, cookies, &config.reception)?;
    let object = Object::load(&spec, &LoadOptions::default())?;
    let program = object.program(answer::PROGRAM)?;
    let attach = |mode| Attach { ifindex, program, mode, replace: Replace::No };
    let link = match kernel::attach(&attach(Mode::Native)) {
        Ok(link) => link,
        Err(error @ (kernel::Error::Occupied { .. } | kernel::Error::Denied { .. })) => {
            return Err(error.into());
        }
        Err(_) => kernel::attach(&attach(Mode::Generic))?,
    };
    Ok((object.into_parts().1, link))
}

/// Bytes of the longest probe.
const LONGEST_PROBE: usize = 1_500;
/// Source ports of probes: dynamic ports (RFC 6335), which Linux does not use for its own
/// connections by default above 60,999.
const SOURCE_PORTS: std::ops::RangeInclusive<u16> = 61_000..=65_535;
