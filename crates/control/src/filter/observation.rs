//! `ObservedTraffic`: a weighted sample of an interface's traffic, the input of flood detection.
//!
//! Rule: the active rules decide as before. If another process changes them, the observation ends,
//! and its sample is valid up to that time.

use std::time::{Duration, Instant};

use filter::runtime::detect::{Packet, Sample};
use filter::runtime::tap::TappedPacket;
use sys::signal::Stop;

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

/// Observes traffic until the time is over, a signal arrives, or other rules are loaded. Restores
/// the previous program.
pub fn observe(mut sampler: PacketSampler, time: Duration, stop: &Stop) -> Result<ObservedTraffic> {
    let mut collector = Collector::new();
    let begin = Instant::now();
    for round in 1.. {
        let left = time.saturating_sub(begin.elapsed());
        let interrupted = stop.wait(left.min(POLL_INTERVAL))?.is_some();
        let is_checked = round % CHECK_EVERY == 0 || left.is_zero() || interrupted;
        let ended = match (is_checked && !sampler.runs()?, interrupted) {
            (true, _) => Some(Ended::RulesChanged),
            (_, true) => Some(Ended::Interrupted),
            _ => left.is_zero().then_some(Ended::Time),
        };
        let batch = sampler.read(|packet| collector.add(packet))?;
        collector.finish_batch(&batch);
        if let Some(ended) = ended {
            return Ok(collector.finish(begin.elapsed(), ended));
        }
    }
    Ok(collector.finish(begin.elapsed(), Ended::Time))
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
    fn new() -> Self {
        Self {
            batch: Vec::new(),
            buffer: Vec::new(),
            sample: Sample::new(KEPT, sys::thread::monotonic_ns()),
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
/// Packets in the sample, of 200 bytes each.
const KEPT: usize = 1 << 16;
