//! `filter sample`: packets that rules chose, as they come.
//!
//! Rule: one reader at a time, because a ring buffer gives each packet once; what was lost for want
//! of room is told.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use functions::filter::sample::{SAMPLES, Sample};
use functions::filter::{Action, Ruleset, abi, act};
use kernel::RingBuffer;
use sys::signal::Stop;

use super::capture::Capture;
use super::live::Live;
use crate::args::FilterSampleArgs;
use crate::cmd::{Context, Exit, LOOK_EVERY};
use crate::dissect::dissect;
use crate::view::filter::sample::{Chosen, Sampled};

pub fn run(args: &FilterSampleArgs, context: &Context) -> Result<Exit> {
    let live = Live::look(context, &args.iface)?;
    let rules = live.rules()?;
    if !rules.rules.iter().any(|rule| matches!(rule.action, Action::Sample { .. })) {
        let iface = &args.iface;
        bail!("no rule on {iface} samples: `xway filter add {iface} 'sample 1/100 udp'` adds one");
    }
    let stop = Stop::new()?;
    let capture = args.write.as_deref();
    let mut capture = capture.map(|path| Capture::create(path, &args.iface)).transpose()?;
    let lost_before = lost(&live)?;
    let mut sampled = Sampled { interface: args.iface.clone(), ..Sampled::default() };
    let begin = Instant::now();
    watch(args, &live, &stop, |sample| {
        let chosen = chosen(&sample, &rules, begin.elapsed());
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

/// Hands on samples, and is told how many that were, until there are enough, the time is over or
/// somebody interrupts.
fn watch(
    args: &FilterSampleArgs,
    live: &Live,
    stop: &Stop,
    mut each: impl FnMut(Sample) -> Result<u64>,
) -> Result<()> {
    let map = live.map(SAMPLES).context("the filter's samples cannot be read")?;
    let mut ring = RingBuffer::new(&map)?;
    let begin = Instant::now();
    let most = args.count.unwrap_or(u64::MAX);
    let mut seen = 0;
    loop {
        let mut samples = Vec::new();
        ring.drain(|record| samples.extend(Sample::parse(record)));
        for sample in samples {
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

fn lost(live: &Live) -> Result<u64> {
    let events = act::events(&live.map(act::EVENTS)?)?;
    let lost = events.iter().find(|(event, _)| *event == abi::Event::SampleLost);
    Ok(lost.map_or(0, |(_, count)| *count))
}
