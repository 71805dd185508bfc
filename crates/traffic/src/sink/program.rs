//! The XDP program of a sink: prepares it for a configuration, and reads its maps.
//!
//! Rule: maps are accessed through the trait `Map`, so any runtime can execute the program. Slots
//! of sources and streams are read before their counters: while frames arrive, a report may miss
//! some of them, but reports no false losses.

use kernel::Mode;
use packet::Mac;
use spec::{Map, Spec, Verdict};

use super::abi::{self, Count, Reason, Source};
use super::account::{self, Account};
use super::config::{Clocks, FrameAction, SinkConfig};
use super::report::SinkReport;
use crate::error::Result;
use crate::histogram::{BUCKETS, Histogram};
use crate::maps::{STATS, packets_and_bytes};
use crate::stamp::Expect;

/// The compiled program.
pub static OBJECT: &[u8] = include_bytes!("../../../../bpf/prebuilt/sink.o");
/// Name of the program in the object.
pub const PROGRAM: &str = "xway_sink";
/// Name of the program for frames of several buffers: an MTU above one page, Linux 5.18. Loaded
/// only by name.
pub const PROGRAM_FRAGS: &str = "xway_sink_frags";

/// The object with a configuration.
///
/// # Errors
/// [`Error::Config`](crate::Error::Config) for numbers beyond their limits.
pub fn prepare(config: &SinkConfig) -> Result<Spec> {
    config.check()?;
    let mut spec = Spec::parse("sink", OBJECT)?;
    let verdict = match config.action {
        FrameAction::Drop => Verdict::Drop,
        FrameAction::Pass => Verdict::Pass,
        FrameAction::Reflect => Verdict::Tx,
    };
    let clocks = match config.clocks {
        Clocks::Ignored => abi::Clocks::Ignored,
        Clocks::Apart => abi::Clocks::Apart,
        Clocks::Shared => abi::Clocks::Shared,
    };
    let globals = [
        ("sink_default_verdict", verdict as u32),
        ("sink_verify", config.verify.into()),
        ("sink_clocks", clocks as u32),
        ("sink_stream_places", config.streams),
        ("sink_source_mask", config.sources - 1),
    ];
    for (name, value) in globals {
        spec.set_global(name, &value.to_le_bytes())?;
    }
    let sources = [SOURCES, WINDOWS, COUNTS].map(|name| (name, config.sources));
    for (name, entries) in sources.into_iter().chain([(TIMES, config.streams)]) {
        if let Some(map) = spec.maps.iter_mut().find(|map| map.name == name) {
            map.max_entries = entries;
        }
    }
    Ok(spec)
}

/// Reflects only frames to this address; without one, frames to any address.
///
/// # Errors
/// When the object has no such global: a defect of this build.
pub fn set_mac(spec: &mut Spec, mac: Option<Mac>) -> Result<()> {
    let mut bytes = [0; 8];
    bytes[..6].copy_from_slice(&mac.map_or([0; 6], |mac| mac.0));
    Ok(spec.set_global("sink_mac", &bytes)?)
}

/// The maps of a running program.
#[derive(Clone, Copy, Debug)]
pub struct Maps<'a, M> {
    pub sources: &'a M,
    pub streams: &'a M,
    pub counts: &'a M,
    pub times: &'a M,
    pub stats: &'a M,
}

impl<'a, M: Map> Maps<'a, M> {
    /// Finds the maps by name.
    ///
    /// # Errors
    /// The error of `map`.
    pub fn find<E>(mut map: impl FnMut(&str) -> Result<&'a M, E>) -> Result<Self, E> {
        Ok(Self {
            sources: map(SOURCES)?,
            streams: map(STREAMS)?,
            counts: map(COUNTS)?,
            times: map(TIMES)?,
            stats: map(STATS)?,
        })
    }

    /// The counters so far, without the elapsed time.
    ///
    /// # Errors
    /// When a map cannot be read.
    pub fn report(&self, config: &SinkConfig) -> Result<SinkReport, M::Error> {
        let mut accounts = Vec::new();
        for (place, source) in self.sources(config)? {
            accounts.push(self.account(place, &source)?);
        }
        let mut streams = account::streams(accounts);
        for place in 0..config.streams {
            let Some(key) = word(self.streams, place)?.filter(|key| *key != FREE) else { break };
            if let Some(stream) = streams.iter_mut().find(|stream| stream.id == key as u16) {
                [stream.latency_ns, stream.jitter_ns] = self.times(place)?;
            }
        }
        let (foreign, foreign_bytes) = self.reason(Reason::Foreign)?;
        Ok(SinkReport {
            streams,
            foreign,
            foreign_bytes,
            damaged: self.reason(Reason::Damaged)?.0,
            beyond: self.reason(Reason::Beyond)?.0,
            ..SinkReport::default()
        })
    }

    /// Whether the end of every known source was received, and at least one source is known.
    ///
    /// # Errors
    /// When a map cannot be read.
    pub fn all_ended(&self, config: &SinkConfig) -> Result<bool, M::Error> {
        let sources = self.sources(config)?;
        Ok(!sources.is_empty() && sources.iter().all(|(_, source)| source.end > 0))
    }

    /// The known sources with their slots.
    fn sources(&self, config: &SinkConfig) -> Result<Vec<(u32, Source)>, M::Error> {
        let mut sources = Vec::new();
        for place in 0..config.sources {
            let value = self.sources.lookup(&place.to_le_bytes())?.unwrap_or_default();
            let source = value.first_chunk().map(Source::from_bytes).unwrap_or_default();
            if source.key != FREE {
                sources.push((place, source));
            }
        }
        Ok(sources)
    }

    fn account(&self, place: u32, source: &Source) -> Result<Account, M::Error> {
        let expect = match source.expect {
            EXPECT_PASS => Some(Expect::Pass),
            EXPECT_DROP => Some(Expect::Drop),
            _ => None,
        };
        let mut account = Account {
            stream: (source.key >> 8) as u16,
            next: source.next,
            end: source.end.checked_sub(1),
            expect,
            ..Account::default()
        };
        let value = self.counts.lookup(&place.to_le_bytes())?.unwrap_or_default();
        for count in value.as_chunks().0.iter().map(Count::from_bytes) {
            account.received += count.received;
            account.bytes += count.bytes;
            account.reordered += count.reordered;
            account.duplicated += count.duplicated;
            account.late += count.late;
            account.corrupted += count.corrupted;
        }
        Ok(account)
    }

    /// Latency and jitter of a stream, over all processors.
    fn times(&self, place: u32) -> Result<[Histogram; 2], M::Error> {
        let value = self.times.lookup(&place.to_le_bytes())?.unwrap_or_default();
        let mut times = [Histogram::default(), Histogram::default()];
        let histograms = value.chunks_exact(8 * BUCKETS).enumerate();
        for (number, histogram) in histograms {
            let counts = histogram.as_chunks().0.iter().map(|count| u64::from_le_bytes(*count));
            times[number % 2].add(&Histogram::from_counts(counts));
        }
        Ok(times)
    }

    /// Packets and bytes of a reason, over all verdicts and processors.
    fn reason(&self, reason: Reason) -> Result<(u64, u64), M::Error> {
        packets_and_bytes(self.stats, reason as u32)
    }
}

fn word<M: Map>(map: &M, place: u32) -> Result<Option<u32>, M::Error> {
    let value = map.lookup(&place.to_le_bytes())?;
    Ok(value.and_then(|value| Some(u32::from_le_bytes(*value.first_chunk()?))))
}

/// The programs and modes to try, in order.
pub(super) fn candidates(mode: Option<Mode>, mtu: u32) -> Vec<(Mode, &'static str)> {
    let native = [(Mode::Native, PROGRAM), (Mode::Native, PROGRAM_FRAGS)];
    let native = native.into_iter().take(if mtu > ETHERNET_MTU { 2 } else { 1 });
    let all = native.chain([(Mode::Generic, PROGRAM)]);
    all.filter(|(one, _)| mode.is_none_or(|mode| mode == *one)).collect()
}

const ETHERNET_MTU: u32 = 1500;

/// The key of a free slot.
const FREE: u32 = 0;
/// Values of `enum sink_expect`.
const EXPECT_PASS: u32 = 1;
const EXPECT_DROP: u32 = 2;

// Names of the object's maps.
const SOURCES: &str = "sink_sources";
const WINDOWS: &str = "sink_windows";
const COUNTS: &str = "sink_counts";
const STREAMS: &str = "sink_streams";
const TIMES: &str = "sink_times";
