//! `filter sample`: packets that rules chose, as they arrive.

use std::time::{Duration, Instant};

use anyhow::Result;
use control::filter::samples::{SampleLimits, SampleReader};
use filter::Ruleset;
use filter::runtime::samples::Sample;
use sys::signal::Stop;

use super::capture::Capture;
use crate::args::FilterSampleArgs;
use crate::cmd::{Context, Exit};
use crate::dissect::dissect;
use crate::view::filter::sample::{Chosen, Sampled};

pub fn run(args: &FilterSampleArgs, context: &Context) -> Result<Exit> {
    let stop = Stop::new()?;
    // Opened before the capture, whose file shows other processes that samples are being taken.
    let mut samples = SampleReader::open(&context.control, &args.iface)?;
    let rules = samples.rules().clone();
    let capture = args.write.as_deref();
    let mut capture = capture.map(|path| Capture::create(path, &args.iface)).transpose()?;
    let mut sampled = Sampled { interface: args.iface.clone(), ..Sampled::default() };
    let begin = Instant::now();
    let limits = SampleLimits { count: args.count, time: args.time };
    samples.watch(&limits, &stop, |sample| -> Result<()> {
        let chosen = chosen(&sample, &rules, begin.elapsed());
        if let Some(capture) = &mut capture {
            capture.write_sample(&sample, chosen.comment())?;
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

fn chosen(sample: &Sample, rules: &Ruleset, at: Duration) -> Chosen {
    let name = |number: u32| rules.rules.get(number as usize).map(|rule| rule.name.clone());
    Chosen {
        t: at.as_secs_f64(),
        packet: dissect(&sample.bytes).summary,
        length: sample.length,
        sampled_by: name(sample.rule),
        verdict: sample.verdict.name(),
        rule: sample.decided_by.and_then(name),
        reason: sample.reason.map(|reason| reason.label()),
        queue: sample.queue,
    }
}
