//! `ObservedTraffic`: a weighted sample of an interface's traffic, the input of flood detection.
//!
//! Rule: the active rules decide as before. If another process changes them, the observation ends,
//! and its sample is valid up to that time.

use std::time::{Duration, Instant};

use filter::runtime::detect::{Packet, Sample};
use filter::runtime::tap::TappedPacket;

use super::sampler::{PacketSampler, SampleBatch};
use super::trial::Ended;
use crate::error::Result;

/// Traffic that was observed for a time.
#[derive(Debug)]
pub struct ObservedTraffic {
    pub sample: Sample,
    pub seconds: f64,
    pub ended: Ended,
    /// Sampled packets that were read.
    pub read: u64,
    /// Sampled packets that were lost, because the ring buffer was full.
    pub lost: u64,
}

/// A running observation. Dropping it restores the previous program.
pub struct Observer {
    sampler: PacketSampler,
    collector: Collector,
    begin: Instant,
    time: Duration,
    /// Number of readings.
    round: u32,
}

impl Observer {
    /// Observes for a time what a sampler reads, and keeps at most this number of packets.
    pub fn new(sampler: PacketSampler, time: Duration, most: usize) -> Self {
        Self { sampler, collector: Collector::new(most), begin: Instant::now(), time, round: 0 }
    }

    /// Time until the next reading.
    pub fn pause(&self) -> Duration {
        self.time.saturating_sub(self.begin.elapsed()).min(POLL_INTERVAL)
    }

    /// Reads what was sampled since the last reading. Returns why the observation ends, if it does.
    pub fn read(&mut self, is_interrupted: bool) -> Result<Option<Ended>> {
        self.round += 1;
        let is_over = self.begin.elapsed() >= self.time;
        let is_checked = is_over || is_interrupted || self.round.is_multiple_of(CHECK_EVERY);
        let ended = match (is_checked && !self.sampler.runs()?, is_interrupted) {
            (true, _) => Some(Ended::RulesChanged),
            (_, true) => Some(Ended::Interrupted),
            _ => is_over.then_some(Ended::Time),
        };
        let batch = self.sampler.read(|packet| self.collector.add(packet))?;
        self.collector.finish_batch(&batch);
        Ok(ended)
    }

    /// The traffic so far. Restores the previous program.
    pub fn finish(self, ended: Ended) -> ObservedTraffic {
        self.collector.finish(self.begin.elapsed(), ended)
    }
}

impl std::fmt::Debug for Observer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Observer").field("round", &self.round).finish_non_exhaustive()
    }
}

/// Packets of the current batch, and the sample of all batches before it.
struct Collector {
    batch: Vec<(Packet, f64)>,
    buffer: Vec<u8>,
    sample: Sample,
    read: u64,
    lost: u64,
}

impl Collector {
    fn new(most: usize) -> Self {
        Self {
            batch: Vec::new(),
            buffer: Vec::new(),
            sample: Sample::new(most, sys::thread::monotonic_ns()),
            read: 0,
            lost: 0,
        }
    }

    fn add(&mut self, packet: &TappedPacket<'_>) {
        self.batch.push((Packet::of(packet, &mut self.buffer), f64::from(packet.one_in)));
    }

    /// Adds the packets of a batch to the sample, with weights that account for lost ones.
    fn finish_batch(&mut self, batch: &SampleBatch) {
        let (read, lost) = (batch.read as f64, batch.lost as f64);
        let factor = if batch.read > 0 { (read + lost) / read } else { 1.0 };
        self.read += batch.read;
        self.lost += batch.lost;
        for (packet, weight) in self.batch.drain(..) {
            self.sample.add(packet, weight * factor);
        }
    }

    fn finish(self, time: Duration, ended: Ended) -> ObservedTraffic {
        let Self { sample, read, lost, .. } = self;
        ObservedTraffic { sample, seconds: time.as_secs_f64(), ended, read, lost }
    }
}

/// Time between two readings of the ring buffer.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Number of readings after which it checks whether the sampler's program still runs.
const CHECK_EVERY: u32 = 10;
