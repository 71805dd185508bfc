//! `filter sample`: packets that rules chose, as they arrive.

use std::time::Instant;

use anyhow::Result;
use control::filter::sample_reader::{SampleLimits, SampleReader};
use control::filter::samples::{SampleReport, SampledPacket};
use packet::dissect::dissect;
use sys::signal::Stop;

use super::capture::Capture;
use crate::args::FilterSampleArgs;
use crate::cmd::{Context, Exit};

pub fn run(args: &FilterSampleArgs, context: &Context) -> Result<Exit> {
    let stop = Stop::new()?;
    // Opened before the capture, whose file shows other processes that samples are being taken.
    let mut samples = SampleReader::open(&context.control, &args.iface)?;
    let rules = samples.rules().clone();
    let capture = args.write.as_deref();
    let mut capture = capture.map(|path| Capture::create(path, &args.iface)).transpose()?;
    let mut sampled = SampleReport { interface: args.iface.clone(), ..SampleReport::default() };
    let begin = Instant::now();
    let limits = SampleLimits { count: args.count, time: args.time };
    samples.watch(&limits, &stop, |sample| -> Result<()> {
        let summary = dissect(&sample.bytes).summary;
        let chosen = SampledPacket::new(&sample, &rules, begin.elapsed().as_secs_f64(), summary);
        if let Some(capture) = &mut capture {
            capture.write_sample(&sample, &chosen.comment())?;
        }
        sampled.packets += 1;
        if sampled.samples.len() < args.samples {
            sampled.samples.push(chosen);
        }
        Ok(())
    })?;
    sampled.seconds = begin.elapsed().as_secs_f64();
    sampled.lost = samples.lost()?;
    if let Some(capture) = capture {
        capture.finish()?;
    }
    context.show(&sampled)?;
    Ok(if sampled.packets > 0 { Exit::Done } else { Exit::No })
}
