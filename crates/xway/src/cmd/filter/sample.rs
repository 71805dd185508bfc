//! `filter sample`: packets that rules chose, as they come.
//!
//! Rule: one reader at a time, because a ring buffer gives each packet once; what was lost for want
//! of room is told.

use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use control::filter::active::ActiveFilter;
use control::filter::samples::{SampleReport, SampledPacket};
use filter::maps::{self, SAMPLES};
use filter::runtime::actions;
use filter::runtime::samples::Sample;
use filter::{Action, abi};
use kernel::RingBuffer;
use sys::signal::Stop;
use sys::thread::monotonic_ns;

use super::capture::Capture;
use crate::args::FilterSampleArgs;
use crate::cmd::{Context, Exit, LOOK_EVERY};
use crate::dissect::dissect;

pub fn run(args: &FilterSampleArgs, context: &Context) -> Result<Exit> {
    let live = ActiveFilter::open(&context.control, &args.iface)?;
    let rules = live.rules()?;
    if !rules.rules.iter().any(|rule| matches!(rule.action, Action::Sample { .. })) {
        let iface = &args.iface;
        bail!("no rule on {iface} samples: `xway filter add {iface} 'sample 1/100 udp'` adds one");
    }
    let stop = Stop::new()?;
    // Opened before the capture, whose file tells others that samples are being taken.
    let mut samples = Samples::from_now_on(&live)?;
    let capture = args.write.as_deref();
    let mut capture = capture.map(|path| Capture::create(path, &args.iface)).transpose()?;
    let lost_before = lost(&live)?;
    let mut sampled = SampleReport { interface: args.iface.clone(), ..SampleReport::default() };
    let begin = Instant::now();
    watch(args, &mut samples, &stop, |sample| {
        let summary = dissect(&sample.bytes).summary;
        let chosen = SampledPacket::new(&sample, &rules, begin.elapsed().as_secs_f64(), summary);
        if let Some(capture) = &mut capture {
            capture.write_sample(&sample, chosen.comment())?;
        }
        sampled.packets += 1;
        if sampled.samples.len() < args.samples {
            sampled.samples.push(chosen);
        }
        Ok(sampled.packets)
    })?;
    sampled.seconds = begin.elapsed().as_secs_f64();
    sampled.lost = lost(&live)?.saturating_sub(lost_before);
    if let Some(capture) = capture {
        capture.finish()?;
    }
    context.show(&sampled)?;
    Ok(if sampled.packets > 0 { Exit::Done } else { Exit::No })
}

/// The ring buffer of samples, without those taken before it was opened.
struct Samples {
    ring: RingBuffer,
    /// On the monotonic clock, as the samples' own time.
    begin_ns: u64,
}

impl Samples {
    /// Discards what the ring buffer holds, which may be older than the rules' last reader.
    fn from_now_on(live: &ActiveFilter) -> Result<Self> {
        let map = live.map(SAMPLES).context("the filter's samples cannot be read")?;
        let mut ring = RingBuffer::new(&map)?;
        let begin_ns = monotonic_ns();
        ring.drain(|_older| {});
        Ok(Self { ring, begin_ns })
    }

    /// Samples since the last call.
    fn take(&mut self) -> Vec<Sample> {
        let (mut samples, begin_ns) = (Vec::new(), self.begin_ns);
        self.ring.drain(|record| samples.extend(Sample::parse(record)));
        samples.retain(|sample| sample.time_ns >= begin_ns);
        samples
    }
}

/// Passes each sample to `each`, which returns the number of samples so far, until there are
/// enough, the time is over, or a signal arrives.
fn watch(
    args: &FilterSampleArgs,
    samples: &mut Samples,
    stop: &Stop,
    mut each: impl FnMut(Sample) -> Result<u64>,
) -> Result<()> {
    let begin = Instant::now();
    let most = args.count.unwrap_or(u64::MAX);
    let mut seen = 0;
    loop {
        for sample in samples.take() {
            if seen < most {
                seen = each(sample)?;
            }
        }
        let left = args.time.map_or(LOOK_EVERY, |time| time.saturating_sub(begin.elapsed()));
        if seen >= most || left.is_zero() || stop.wait(left.min(LOOK_EVERY))?.is_some() {
            return Ok(());
        }
    }
}

fn lost(live: &ActiveFilter) -> Result<u64> {
    let events = actions::events(&live.map(maps::EVENTS)?)?;
    let lost = events.iter().find(|(event, _)| *event == abi::Event::SampleLost);
    Ok(lost.map_or(0, |(_, count)| *count))
}
