//! `Tracker`: the counters of a sink in memory, for frames from a socket.
//!
//! Rule: the same result as `bpf/sink` for every frame, which tests verify. One thread at a time;
//! `cpu` is the processor on which the frame arrived.

use std::collections::BTreeMap;

use super::abi::Reason;
use super::account::{self, Account};
use super::config::{Clocks, SinkConfig};
use super::report::SinkReport;
use super::verify::{self, Finding};
use crate::histogram::Histogram;
use crate::stamp::{Expect, Kind, Stamp};

/// The counters of a sink in memory: the model of the program `bpf/sink`.
#[derive(Clone, Debug)]
pub struct Tracker {
    config: SinkConfig,
    sources: BTreeMap<(u16, u8), Source>,
    times: BTreeMap<u16, Times>,
    foreign: u64,
    foreign_bytes: u64,
    damaged: u64,
    beyond: u64,
}

#[derive(Clone, Debug, Default)]
struct Source {
    account: Account,
    window: Window,
    /// Transit time of the previous frame, by processor.
    transits: BTreeMap<usize, u32>,
}

#[derive(Clone, Debug, Default)]
struct Times {
    latency: Histogram,
    jitter: Histogram,
}

impl Tracker {
    /// Counters without frames.
    pub fn new(config: &SinkConfig) -> Self {
        Self {
            config: config.clone(),
            sources: BTreeMap::new(),
            times: BTreeMap::new(),
            foreign: 0,
            foreign_bytes: 0,
            damaged: 0,
            beyond: 0,
        }
    }

    /// Counts a frame that arrived at `now_ns` of the monotonic clock; returns how it was counted.
    pub fn judge(&mut self, frame: &[u8], now_ns: u64, cpu: usize) -> Reason {
        let Some(stamp) = Stamp::read(frame) else { return self.foreign(frame) };
        let Ok(stamp) = stamp else { return self.damaged(frame) };
        let finding = if self.config.verify { verify::check(frame) } else { Finding::Right };
        if finding == Finding::Quote {
            return self.foreign(frame);
        }
        let Self { config, sources, times, .. } = self;
        let Some((source, times)) = admit(config, sources, times, &stamp) else {
            self.beyond += 1;
            return Reason::Beyond;
        };
        let account = &mut source.account;
        let expect = match stamp.kind {
            // Only the stamp is verified, since the frame may have a wrong checksum on purpose.
            Kind::End | Kind::ReflectedEnd => {
                account.end = Some(number(account.next, stamp.number));
                return Reason::End;
            }
            Kind::Data(expect) | Kind::Reflected(expect) => expect,
        };
        if finding == Finding::Wrong {
            account.corrupted += 1;
            return Reason::Corrupted;
        }
        let reason = source.receive(stamp.number, expect, frame.len());
        if reason != Reason::Duplicated && config.clocks != Clocks::Ignored {
            let is_reflected = matches!(stamp.kind, Kind::Reflected(_));
            let is_comparable = is_reflected || config.clocks == Clocks::Shared;
            source.time((now_ns as u32).wrapping_sub(stamp.time_ns), is_comparable, cpu, times);
        }
        reason
    }

    /// The counters so far, without the elapsed time.
    pub fn report(&self) -> SinkReport {
        let mut streams = account::streams(self.sources.values().map(|source| source.account));
        for stream in &mut streams {
            if let Some(times) = self.times.get(&stream.id) {
                stream.latency_ns = times.latency.clone();
                stream.jitter_ns = times.jitter.clone();
            }
        }
        SinkReport {
            streams,
            foreign: self.foreign,
            foreign_bytes: self.foreign_bytes,
            damaged: self.damaged,
            beyond: self.beyond,
            ..SinkReport::default()
        }
    }

    /// Whether the end of every known source was received, and at least one source is known.
    pub fn all_ended(&self) -> bool {
        let mut ends = self.sources.values().map(|source| source.account.end.is_some());
        !self.sources.is_empty() && ends.all(|ended| ended)
    }

    fn foreign(&mut self, frame: &[u8]) -> Reason {
        self.foreign += 1;
        self.foreign_bytes += frame.len() as u64;
        Reason::Foreign
    }

    /// Counts a frame with a damaged stamp, which may or may not name its source.
    fn damaged(&mut self, frame: &[u8]) -> Reason {
        let known = named(frame).and_then(|name| self.sources.get_mut(&name));
        match known {
            Some(source) => {
                source.account.corrupted += 1;
                Reason::Corrupted
            }
            None => {
                self.damaged += 1;
                Reason::Damaged
            }
        }
    }
}

/// The source of a stamp, created if the limits permit.
fn admit<'a>(
    config: &SinkConfig,
    sources: &'a mut BTreeMap<(u16, u8), Source>,
    times: &'a mut BTreeMap<u16, Times>,
    stamp: &Stamp,
) -> Option<(&'a mut Source, &'a mut Times)> {
    let full = times.len() >= config.streams as usize;
    if full && !times.contains_key(&stamp.stream) {
        return None;
    }
    let times = times.entry(stamp.stream).or_default();
    let name = (stamp.stream, stamp.source);
    let full = sources.len() >= config.sources as usize;
    if full && !sources.contains_key(&name) {
        return None;
    }
    let account = Account { stream: stamp.stream, ..Account::default() };
    let source = sources.entry(name);
    Some((source.or_insert_with(|| Source { account, ..Source::default() }), times))
}

impl Source {
    fn receive(&mut self, low: u32, expect: Expect, bytes: usize) -> Reason {
        let account = &mut self.account;
        account.expect = Some(expect);
        let number = number(account.next, low);
        let reason = self.window.mark(number);
        match reason {
            Reason::Duplicated => {
                account.duplicated += 1;
                return reason;
            }
            Reason::Late => account.late += 1,
            _ => {}
        }
        if number < account.next {
            account.reordered += 1;
        }
        account.next = account.next.max(number + 1);
        account.received += 1;
        account.bytes += bytes as u64;
        reason
    }

    fn time(&mut self, transit: u32, has_latency: bool, cpu: usize, times: &mut Times) {
        if has_latency {
            // Clocks of two processors may differ slightly.
            times.latency.record(transit.cast_signed().max(0).cast_unsigned());
        }
        if let Some(before) = self.transits.insert(cpu, transit) {
            let difference = transit.wrapping_sub(before).cast_signed();
            times.jitter.record(difference.unsigned_abs());
        }
    }
}

/// The last numbers that were received: words of 32 consecutive numbers, each with the number of
/// the window's round in which it was written. As `sink_windows`, described in `sink.abi.h`.
#[derive(Clone, Debug)]
struct Window {
    words: Vec<(u32, u32)>,
}

impl Default for Window {
    fn default() -> Self {
        Self { words: vec![(0, 0); WINDOW / 32] }
    }
}

impl Window {
    fn mark(&mut self, number: u64) -> Reason {
        let (round, bit) = ((number / WINDOW as u64) as u32, 1 << (number % 32));
        let place = (number / 32) as usize % self.words.len();
        let (held, came) = self.words[place];
        let behind = round.wrapping_sub(held).cast_signed();
        if behind < 0 {
            return Reason::Late;
        }
        let came = if behind == 0 { came } else { 0 };
        self.words[place] = (round, came | bit);
        if came & bit == 0 { Reason::Received } else { Reason::Duplicated }
    }
}

/// Number of frames whose numbers are kept for each source; `SINK_WINDOW`.
pub const WINDOW: usize = 1 << 18;

/// The 64-bit number with these low bits that is nearest to `near`, and not negative.
fn number(near: u64, low: u32) -> u64 {
    let ahead = i64::from(low.wrapping_sub(near as u32).cast_signed());
    near.checked_add_signed(ahead).unwrap_or(u64::from(low))
}

/// The stream and source that a damaged stamp names.
fn named(frame: &[u8]) -> Option<(u16, u8)> {
    let stamp: &[u8; Stamp::LEN] = frame.last_chunk()?;
    let stream = u16::from_be_bytes([stamp[Stamp::STREAM], stamp[Stamp::STREAM + 1]]);
    Some((stream, stamp[Stamp::SOURCE]))
}
