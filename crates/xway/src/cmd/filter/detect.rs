//! `filter detect`: traffic watched for a time, what is too much, and which rules would stop it.
//!
//! Rule: the rules in force decide as ever while somebody watches, with their own maps; the program
//! of before is back when the watching is over. Killed in the middle, the program goes on deciding
//! by the rules in force until the next change; nobody reads what it shows. Where no filter runs,
//! the program that shows packets goes with its maker.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use functions::filter::detect::{
    ONE_IN, Packet, SEEN, Sample, Seen, Settings, detect, next_one_in, open,
};
use functions::filter::{File, PROGRAM, PROGRAM_FRAGS, abi, act};
use kernel::{Map, Object, RingBuffer};
use spec::{Expect, Map as _};
use sys::signal::Stop;

use super::auto;
use super::change::Change;
use super::file;
use super::live::{Live, NAME};
use crate::args::{FilterDetectArgs, FilterPlacement};
use crate::cmd::attach::by_size;
use crate::cmd::{Context, Exit};
use crate::state;
use crate::view::filter::detect::{Detected, Watched};

pub fn run(args: &FilterDetectArgs, context: &Context) -> Result<Exit> {
    let stop = Stop::new()?;
    let change = Change::begin(context, &args.iface)?;
    let standing = change.live.as_ref().map(Live::standing).transpose()?.unwrap_or_default();
    let settings = settings(args, &standing)?;
    let watching = Watching::start(&change, args)?;
    let (sample, watched) = watching.watch(args, &stop)?;
    drop(watching);
    let detection = detect(&sample.finish(), watched.seconds, &settings);
    let mut detected = Detected::new(&args.iface, &detection, &watched);
    let exit = if detection.findings.is_empty() { Exit::No } else { Exit::Done };
    if !args.auto {
        context.show(&detected)?;
        return Ok(exit);
    }
    detected.choose(args.max_rules, args.max_collateral);
    let applied = auto::apply(&change, standing, &mut detected, args)?;
    drop(change);
    context.show(&detected)?;
    if let Some(applied) = applied {
        applied.hold(&stop, context)?;
    }
    Ok(exit)
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

/// While it lives packets are shown.
struct Watching {
    object: Object,
    /// Its guard: dropped, the program of before is back.
    _change: state::Change,
}

impl Watching {
    fn start(change: &Change, args: &FilterDetectArgs) -> Result<Self> {
        let refused = "the traffic was not watched";
        let live = change.live.as_ref();
        let rules = live.map_or(Ok(File::default().ruleset), Live::rules)?;
        let bans = live.map_or(Ok(false), Live::may_ban)?;
        let mut made = file::compiled(&rules, bans, &change.target).context(refused)?;
        open(&mut made.spec)?;
        if let Some(live) = live {
            made.spec.maps.extend(live.keeping()?);
        }
        let asked = FilterPlacement { mode: args.mode, ..FilterPlacement::default() };
        let placement = change.placement(&asked);
        by_size(change.target.has_large_frames(), [PROGRAM, PROGRAM_FRAGS], |program| {
            let kept = live.map_or(Ok(Vec::new()), |live| live.kept(&made.spec))?;
            let programs = vec![program.to_owned()];
            let object = change.target.load_sharing(&made.spec, programs, placement.mode, kept)?;
            if live.is_none() {
                made.acts.fill(|name| object.map(name))?;
            }
            let name = if live.is_some() { NAME } else { WATCHER };
            let change = change.target.install(name, &object, program, &placement)?;
            Ok(Self { object, _change: change })
        })
        .context(refused)
    }

    /// Until the time is over or somebody interrupts.
    fn watch(&self, args: &FilterDetectArgs, stop: &Stop) -> Result<(Sample, Watched)> {
        let mut ring = RingBuffer::new(self.object.map(SEEN)?)?;
        let mut looks = Looks::new(self.object.map(ONE_IN)?, args.samples)?;
        let events = self.object.map(act::EVENTS)?;
        let (begin, lost_before) = (Instant::now(), lost(events)?);
        let mut last = (begin, lost_before);
        let mut over = false;
        while !over {
            let left = args.time.saturating_sub(begin.elapsed());
            over = left.is_zero() || stop.wait(left.min(LOOK_EVERY))?.is_some();
            ring.drain(|record| looks.see(record));
            let now = (Instant::now(), lost(events)?);
            looks.end(now.1.saturating_sub(last.1), now.0 - last.0)?;
            last = now;
        }
        let watched = Watched {
            seconds: begin.elapsed().as_secs_f64(),
            looked_at: looks.looked_at,
            lost: last.1.saturating_sub(lost_before),
            hold_s: args.hold.as_secs_f64(),
        };
        Ok((looks.sample, watched))
    }
}

/// Packets that are read in short looks, each of which says how many the next is to show.
struct Looks<'a> {
    one_in: &'a Map,
    /// Shown since the last look: one in so many.
    now: u32,
    wanted: u32,
    seen: Vec<(Packet, f64)>,
    buffer: Vec<u8>,
    sample: Sample,
    looked_at: u64,
}

impl<'a> Looks<'a> {
    fn new(one_in: &'a Map, wanted: u32) -> Result<Self> {
        let looks = Self {
            one_in,
            now: 1,
            wanted,
            seen: Vec::new(),
            buffer: Vec::new(),
            sample: Sample::new(KEPT, sys::thread::monotonic_ns()),
            looked_at: 0,
        };
        looks.show()?;
        Ok(looks)
    }

    fn see(&mut self, record: &[u8]) {
        if let Some(seen) = Seen::parse(record) {
            let packet = Packet::of(&seen, &mut self.buffer);
            self.seen.push((packet, f64::from(seen.one_in)));
        }
    }

    /// Those that were lost meanwhile are stood for by those that were not.
    fn end(&mut self, lost: u64, elapsed: Duration) -> Result<()> {
        let count = self.seen.len() as u64;
        let factor = if count > 0 { (count + lost) as f64 / count as f64 } else { 1.0 };
        self.looked_at += count;
        for (packet, weight) in self.seen.drain(..) {
            self.sample.add(packet, weight * factor);
        }
        let next = next_one_in(self.now, count + lost, elapsed, self.wanted);
        if next != self.now {
            self.now = next;
            self.show()?;
        }
        Ok(())
    }

    fn show(&self) -> Result<()> {
        Ok(self.one_in.update(&[0; 4], &self.now.to_le_bytes(), Expect::Any)?)
    }
}

/// Packets that were to be shown and had no room.
fn lost(events: &Map) -> Result<u64> {
    let events = act::events(events)?;
    let lost = events.iter().find(|(event, _)| *event == abi::Event::WatchLost);
    Ok(lost.map_or(0, |(_, count)| *count))
}

/// How a program is kept that stands where no filter runs: not as a filter.
const WATCHER: &str = "detect";
/// How often packets are read, and how many are shown is steered.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Packets that are remembered, of 200 bytes.
const KEPT: usize = 1 << 16;
/// What is told at most.
const MOST_FINDINGS: usize = 8;
