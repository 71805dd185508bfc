//! `filter detect`: traffic watched for a time, what is too much, and which rules would stop it.
//!
//! Rule: the rules in force decide as ever while somebody watches, and others may change them: then
//! the watching is over, and what was seen counts. Where no filter runs, the program that shows
//! packets goes with its maker.

use std::time::Instant;

use anyhow::{Context as _, Result};
use control::filter::FilterPlacement;
use control::filter::sampler::{HEADERS, PacketSampler, SampleBatch, SampleFilter, SampleRate};
use control::filter::trial::Ended;
use control::filter::update::Update;
use filter::File;
use filter::runtime::detect::{Packet, Sample, Settings, detect};
use filter::runtime::tap::TappedPacket;
use sys::signal::Stop;

use super::auto;
use crate::args::FilterDetectArgs;
use crate::cmd::{Context, Exit, LOOK_EVERY};
use crate::view::filter::detect::{Detected, Watched};

pub fn run(args: &FilterDetectArgs, context: &Context) -> Result<Exit> {
    let stop = Stop::new()?;
    let (settings, watch) = begin(args, context)?;
    let (sample, watched) = look(watch, args, &stop)?;
    let detection = detect(&sample.finish(), watched.seconds, &settings);
    let mut detected = Detected::new(&args.iface, &detection, &watched);
    let exit = if detection.findings.is_empty() { Exit::No } else { Exit::Done };
    if !args.auto {
        context.show(&detected)?;
        return Ok(exit);
    }
    detected.choose(args.max_rules, args.max_collateral);
    let update = Update::begin(&context.control, &args.iface)?;
    let applied = auto::apply(&update, standing(&update)?, &mut detected, args)?;
    drop(update);
    context.show(&detected)?;
    if let Some(applied) = applied {
        applied.hold(&stop, context)?;
    }
    Ok(exit)
}

/// Nobody changes anything until packets are shown.
fn begin(args: &FilterDetectArgs, context: &Context) -> Result<(Settings, PacketSampler)> {
    let update = Update::begin(&context.control, &args.iface)?;
    let settings = settings(args, &standing(&update)?)?;
    let claim = update.claim(&context.control)?;
    let choice =
        SampleFilter { tests: Vec::new(), rate: SampleRate::About(args.samples), bytes: HEADERS };
    let asked = FilterPlacement { mode: args.mode.map(Into::into), ..FilterPlacement::default() };
    Ok((settings, PacketSampler::begin(&update, &asked, &choice, claim)?))
}

fn standing(update: &Update) -> Result<File> {
    Ok(update.rules()?.unwrap_or_default())
}

fn settings(args: &FilterDetectArgs, standing: &File) -> Result<Settings> {
    let mut settings = Settings {
        threshold: args.above,
        hold: args.hold,
        most: MOST_FINDINGS,
        top: args.top,
        allowed: Vec::new(),
    };
    for what in &args.allow {
        settings.allow(what, &standing.scope).with_context(|| format!("--allow {what}"))?;
    }
    Ok(settings)
}

/// Until the time is over, somebody interrupts, or other rules are in force.
fn look(
    mut watch: PacketSampler,
    args: &FilterDetectArgs,
    stop: &Stop,
) -> Result<(Sample, Watched)> {
    let mut looks = Looks::new();
    let begin = Instant::now();
    let mut ended = None;
    for number in 1.. {
        let left = args.time.saturating_sub(begin.elapsed());
        let interrupted = stop.wait(left.min(LOOK_EVERY))?.is_some();
        let is_asked = number % ASK_EVERY == 0 || left.is_zero() || interrupted;
        ended = match (is_asked && !watch.runs()?, interrupted) {
            (true, _) => Some(Ended::RulesChanged),
            (_, true) => Some(Ended::Interrupted),
            _ => left.is_zero().then_some(Ended::Time),
        };
        let look = watch.read(|seen| looks.see(seen))?;
        looks.end(&look);
        if ended.is_some() {
            break;
        }
    }
    let watched = Watched {
        seconds: begin.elapsed().as_secs_f64(),
        ended: ended.unwrap_or(Ended::Time),
        looked_at: looks.looked_at,
        lost: looks.lost,
        hold_s: args.hold.as_secs_f64(),
    };
    Ok((looks.sample, watched))
}

/// Packets that are read in short looks.
struct Looks {
    seen: Vec<(Packet, f64)>,
    buffer: Vec<u8>,
    sample: Sample,
    looked_at: u64,
    lost: u64,
}

impl Looks {
    fn new() -> Self {
        Self {
            seen: Vec::new(),
            buffer: Vec::new(),
            sample: Sample::new(KEPT, sys::thread::monotonic_ns()),
            looked_at: 0,
            lost: 0,
        }
    }

    fn see(&mut self, seen: &TappedPacket<'_>) {
        self.seen.push((Packet::of(seen, &mut self.buffer), f64::from(seen.one_in)));
    }

    /// Those that were lost meanwhile are stood for by those that were not.
    fn end(&mut self, batch: &SampleBatch) {
        let (read, lost) = (batch.read as f64, batch.lost as f64);
        let factor = if batch.read > 0 { (read + lost) / read } else { 1.0 };
        self.looked_at += batch.read;
        self.lost += batch.lost;
        for (packet, weight) in self.seen.drain(..) {
            self.sample.add(packet, weight * factor);
        }
    }
}

/// At each of so many looks it asks whether its program still runs.
const ASK_EVERY: u32 = 10;
/// Packets that are remembered, of 200 bytes.
const KEPT: usize = 1 << 16;
/// What is told at most.
const MOST_FINDINGS: usize = 8;
